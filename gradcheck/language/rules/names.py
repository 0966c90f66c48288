"""The rules of names: variables first, then the vocabulary; anything else gets advice."""

import ast

from gradcheck.language.rules.refusals import NAMES
from gradcheck.language.rules.vocabulary import PREFIXES, ROOTS, listing, nearest
from gradcheck.language.rules.walk import LONGEST_NAME, Check, Meaning

INPUTS = "give random numbers as inputs: `{shape: [...]}`"
INSTEAD = {
    **{kind: f"write the loop over time with `nn.{kind}Cell`" for kind in ("RNN", "LSTM", "GRU")},
    **dict.fromkeys(["DataLoader", "TensorDataset"], "take slices: `X[k:k + 5]` in a loop over k"),
    **dict.fromkeys(["plt", "pyplot"], "leave pictures out: `solve --plot DIR` draws some"),
}
"""What to write for what lessons use and nothing here is like."""


def name(check: Check, node: ast.Name) -> None:
    """A variable, or a constant of the vocabulary."""
    if not good_name(check, node, node.id):
        return
    if check.is_variable(node.id):
        check.meanings[node] = Meaning("variable")
    elif node.id in check.vocabulary.constants:
        check.meanings[node] = Meaning("constant", node.id)
    else:
        unknown(check, node, node.id)


def good_name(check: Check, node: ast.AST, identifier: str) -> bool:
    """Refuse what begins with `_` (but for `_` itself) or is too long."""
    if identifier.startswith("_") and identifier != "_":
        what = f"`{identifier[:LONGEST_NAME]}` begins with `_`"
        check.say(node, what, "names with `_` in front belong to Python: choose another")
        return False
    if len(identifier) > LONGEST_NAME:
        what = f"a name of {len(identifier)} letters"
        check.say(node, what, f"use at most {LONGEST_NAME} letters")
        return False
    return True


def unknown(check: Check, node: ast.AST, identifier: str) -> None:
    """Refuse a name that is neither variable nor constant, with the best advice there is."""
    vocabulary = check.vocabulary
    callables = vocabulary.callables() | check.helpers
    if identifier in NAMES and identifier not in callables:
        check.refuse(node, NAMES[identifier])
    elif identifier in callables:
        check.say(node, f"`{identifier}` is a function", f"call it: `{identifier}(...)`")
    elif identifier in vocabulary.contexts:
        check.say(node, f"`{identifier}` is no value", f"write `with {identifier}():`")
    elif identifier in ROOTS:
        check.say(node, f"`{identifier}` is no value", f"write `{identifier}.sin(x)`, `sin(x)`")
    else:
        known = check.variables() | vocabulary.constants | callables
        cure = INSTEAD.get(identifier) or nearest(identifier, known) or _variables(check)
        check.say(node, f"`{identifier}` is not known here", cure)


def _variables(check: Check) -> str:
    """The variables that there are."""
    variables = check.variables()
    return f"known here: {listing(variables)}" if variables else "declare it among the inputs"


def attribute(check: Check, node: ast.Attribute) -> None:
    """What may be read of a value: `x.grad`, `x.shape`; or a constant: `np.pi`."""
    prefix = check.prefix(node.value)
    if prefix:
        _constant(check, node, prefix)
        return
    check.visit(node.value)
    if not good_name(check, node, node.attr):
        return
    vocabulary = check.vocabulary
    if node.attr in vocabulary.attributes:
        check.meanings[node] = Meaning("variable")
    elif node.attr in vocabulary.methods or vocabulary.function(node.attr):
        check.say(node, f"`.{node.attr}` without parentheses", f"call it: `.{node.attr}(...)`")
    else:
        unknown_attribute(check, node)


def unknown_attribute(check: Check, node: ast.Attribute) -> None:
    """Refuse an attribute or a method that is not offered."""
    vocabulary = check.vocabulary
    offered = vocabulary.attributes | vocabulary.methods | vocabulary.functions
    cure = nearest(node.attr, offered | vocabulary.aliases.keys())
    what = f"`.{node.attr}` is not offered"
    check.say(node, what, cure or f"what may be read: {listing(vocabulary.attributes)}")


def _constant(check: Check, node: ast.Attribute, prefix: str) -> None:
    """`np.pi`, `np.newaxis`, or a refusal."""
    if not is_prefix(check, node, prefix) or not good_name(check, node, node.attr):
        return
    if node.attr == "newaxis":
        check.meanings[node] = Meaning("newaxis")
    elif node.attr in check.vocabulary.constants:
        check.meanings[node] = Meaning("constant", node.attr)
    elif check.vocabulary.function(node.attr):
        path = f"{prefix}.{node.attr}"
        check.say(node, f"`{path}` is a function", f"call it: `{path}(...)`")
    else:
        unknown_member(check, node, prefix)


def is_prefix(check: Check, node: ast.Attribute, prefix: str) -> bool:
    """Refuse `np.random`, `np.os` and their like before a dot."""
    if prefix in PREFIXES:
        return True
    cure = INPUTS if "random" in prefix else ""
    check.say(node, f"`{prefix}` is not offered", cure or "call functions by their bare names")
    return False


def unknown_member(check: Check, node: ast.Attribute, prefix: str) -> None:
    """Refuse a function or constant of NumPy or PyTorch that is not offered."""
    vocabulary = check.vocabulary
    if node.attr in vocabulary.contexts:
        check.say(node, f"`{node.attr}` is no value", f"write `with {node.attr}():`")
        return
    offered = vocabulary.functions | vocabulary.constants | vocabulary.aliases.keys()
    cure = INSTEAD.get(node.attr) or nearest(node.attr, offered) or "`gradcheck ops` lists what is"
    check.say(node, f"`{prefix}.{node.attr}` is not offered", cure)
