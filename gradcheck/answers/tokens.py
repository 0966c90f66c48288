"""From typed text to tokens, each with its place; LaTeX commands are `latex`'s, signs are `signs`'.

Limit: numbers of 30 significant digits.
"""

import re

from gradcheck.answers import latex
from gradcheck.answers.complaint import refused
from gradcheck.answers.scanner import GROUP, NAME, TOKENS, Scanner, Token
from gradcheck.answers.signs import (
    FRACTIONS,
    GREEK,
    SPACES,
    SPELLED,
    SUBSCRIPTS,
    SUPERSCRIPTS,
    foreign,
)
from gradcheck.numbers.exponents import DECIMAL

DIGITS = 30
TRANSPOSED = "ᵀ⊤"
ENTRYWISE = {".*": "⊙", "./": "/", ".^": "^"}  # MATLAB's: entry by entry

PLAIN = re.compile(
    rf"(?P<space>[ \t\r\n{SPACES}]+)"
    r"|(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)"
    r"|(?P<string>(?:(?<=einsum\()|(?<=einsum\( ))(?P<quote>['\"])"
    r"[A-Za-z, ]{1,60}(?:->[A-Za-z ]{0,12})?(?P=quote))"
    r"|(?P<name>[A-Za-z_][A-Za-z0-9_]*(?:(?<=_)\{\w+\})?)"
    r"|(?P<op>\.[*/^]|\*\*|<=|>=|==|!=|[-+*/@^()\[\]{},:.=<>|'!%;&?])",
    re.ASCII,
)
SIMPLE = re.compile(
    rf"(?P<space> +)|(?P<number>\d{{1,{DIGITS}}}(?![\d.eE]))"
    rf"|(?P<name>[A-Za-z]{{1,{NAME}}}(?![A-Za-z0-9_{''.join(SUBSCRIPTS)}]))"
    r"|(?P<power>\*\*|\^)|(?P<op>[-+*/()](?![*]))|(?P<other>.)",
    re.ASCII | re.DOTALL,
)
"""What most texts are made of: these need no reader of their own."""
SINGLE = re.compile(r"(?P<number>\d)|(?P<name>[A-Za-z])", re.ASCII)
LETTERS = "".join(char for char, plain in SUPERSCRIPTS.items() if plain.isalpha())
RAISED = re.compile(f"[⁰¹²³⁴⁵⁶⁷⁸⁹]+|[{LETTERS}]+|[⁺⁻⁽⁾ᐟ]")
SUBSCRIPTED = re.compile(r"_(?:(\w+)|\{(\w+)\})", re.ASCII)


def tokenize(text: str) -> list[Token]:
    """The tokens of a text; what cannot be one is refused where it stands."""
    scanner = Scanner(text, 0, len(text))
    while scanner.at < scanner.stop:
        if scanner.waiting and scanner.argument():
            _argument(scanner)
        elif not _simple(scanner):
            _step(scanner)
    return scanner.tokens


def _simple(scanner: Scanner) -> bool:
    """Read the simple tokens that start here, one after the other; whether there are any."""
    start, tokens, spaced = scanner.at, scanner.tokens, scanner.spaced
    for match in SIMPLE.finditer(scanner.text, start):
        kind = match.lastgroup or ""
        if kind == "space":
            spaced = True
            continue
        scanner.at = match.start()
        if kind == "other" or len(tokens) >= TOKENS:
            break
        kind, text = ("op", "^") if kind == "power" else (kind, match[0])
        tokens.append(Token(kind, text, scanner.at, match.end(), spaced))
        spaced = False
    else:
        scanner.at = scanner.stop
    scanner.spaced = spaced
    return scanner.at > start


def _step(scanner: Scanner) -> None:
    """Read whatever starts here."""
    match = PLAIN.match(scanner.text, scanner.at, scanner.stop)
    if match:
        PLAIN_READERS[match.lastgroup or ""](scanner, match[0])
        return
    char = scanner.text[scanner.at]
    if char == "\\":
        latex.command(scanner)
    elif char in SPELLED:
        scanner.put("op", SPELLED[char], 1)
    elif char in SUPERSCRIPTS:
        _superscript(scanner)
    elif char in FRACTIONS:
        scanner.put("fraction", char, 1)
    elif char in TRANSPOSED:
        scanner.put("transpose", "T", 1)
    elif char in GREEK:
        _greek(scanner, char)
    elif char == "$":
        raise refused(scanner.text, scanner.at, "a dollar sign without its partner", "leave it out")
    else:
        raise foreign(scanner.text, scanner.at)


def _argument(scanner: Scanner) -> None:
    """One argument of a LaTeX command: a group in braces, or a single digit, letter or sign."""
    if scanner.text[scanner.at].isspace():
        scanner.at += 1
        return
    scanner.waiting[-1] -= 1
    if scanner.text[scanner.at] == "{":
        _operator(scanner, "{")
        return
    scanner.put("op", "{", 0)
    match = SINGLE.match(scanner.text, scanner.at, scanner.stop)
    if match:
        scanner.put(match.lastgroup or "", match[0], 1)
    else:
        _step(scanner)
    scanner.put("op", "}", 0)
    scanner.served()


def _space(scanner: Scanner, blanks: str) -> None:
    """A blank is remembered: it tells `x (y)` from `x(y)`."""
    scanner.at += len(blanks)
    scanner.spaced = True


def _number(scanner: Scanner, digits: str) -> None:
    """A number within the limits on digits and exponent."""
    _within_limits(scanner, digits)
    scanner.put("number", digits, len(digits))


def _within_limits(scanner: Scanner, digits: str) -> None:
    """Refuse a number with too many digits or too large an exponent."""
    if len(digits) <= DIGITS and digits.isdigit():
        return
    mantissa, _, exponent = digits.lower().partition("e")
    significant = len(mantissa.replace(".", "").lstrip("0"))
    width = len(digits)
    if significant > DIGITS:
        message = f"a number of {significant} digits: at most {DIGITS} are read"
        raise refused(scanner.text, scanner.at, message, "round it", width)
    if len(exponent) > 5 or abs(int(exponent or 0)) > DECIMAL:
        message = f"the exponent of {digits[:20]} is beyond {DECIMAL}"
        raise refused(scanner.text, scanner.at, message, "write it as a formula", width)


def _name(scanner: Scanner, word: str) -> None:
    """A word with its subscript: `x_1`, `x_{1}` and `x₁` are all x_1."""
    width = len(word)
    below = ""
    while scanner.at + width < scanner.stop and scanner.text[scanner.at + width] in SUBSCRIPTS:
        below += SUBSCRIPTS[scanner.text[scanner.at + width]]
        width += 1
    name = word.replace("{", "").replace("}", "") + (f"_{below}" if below else "")
    scanner.name(name, width, "write * between factors")


def _greek(scanner: Scanner, char: str) -> None:
    """A Greek letter is a name by itself, unless a subscript follows."""
    below = SUBSCRIPTED.match(scanner.text, scanner.at + 1, scanner.stop)
    _name(scanner, char + (below[0] if below else ""))


def _operator(scanner: Scanner, sign: str) -> None:
    """A sign; braces open and close arguments."""
    if len(sign) > 1:
        scanner.put("op", "^" if sign == "**" else ENTRYWISE.get(sign, sign), len(sign))
        return
    scanner.put("op", sign, 1)
    if sign == "{":
        scanner.waiting.append(GROUP)
    if sign == "}" and scanner.waiting and scanner.waiting[-1] == GROUP:
        scanner.waiting.pop()
        scanner.served()


def _superscript(scanner: Scanner) -> None:
    """A run of raised signs is an exponent: x⁻¹ is x^{-1}; A⁻ᵀ is A^{-T}."""
    scanner.put("op", "^", 0)
    scanner.put("op", "{", 0)
    raised = (*SUPERSCRIPTS, *TRANSPOSED)
    while scanner.at < scanner.stop and scanner.text[scanner.at] in raised:
        if scanner.text[scanner.at] in TRANSPOSED:
            if scanner.tokens[-1].text != "-":
                break
            scanner.put("transpose", "T", 1)
            break
        match = RAISED.match(scanner.text, scanner.at, scanner.stop)
        plain = "".join(SUPERSCRIPTS[char] for char in match[0]) if match else ""
        if plain.isdigit():
            _within_limits(scanner, plain)
            scanner.put("number", plain, len(plain))
        elif plain.isalpha():
            scanner.name(plain, len(plain), "write * between factors")
        else:
            scanner.put("op", plain, 1)
    scanner.put("op", "}", 0)


def _string(scanner: Scanner, quoted: str) -> None:
    """The indices of einsum."""
    scanner.put("string", quoted[1:-1].replace(" ", ""), len(quoted))


PLAIN_READERS = {
    "space": _space,
    "number": _number,
    "string": _string,
    "name": _name,
    "op": _operator,
}
