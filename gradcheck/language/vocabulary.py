"""The names of the checked language: what a number kind offers, and how each may be spelled."""

import difflib
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field


def words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Spelled before a function or constant, these say nothing: `np.sin`, `torch.sin`, `F.relu`.
PREFIXES = words(
    "np numpy np.linalg numpy.linalg np.special torch torch.linalg torch.special torch.nn "
    "torch.nn.functional torch.nn.init torch.nn.utils torch.autograd torch.optim nn nn.functional "
    "nn.init nn.utils F init utils optim autograd math "
    "linalg special scipy.special"
)
ROOTS = frozenset(prefix.split(".")[0] for prefix in PREFIXES)

# Python's own functions that a program may call, in guarded form.
BUILTINS = words(
    "range len enumerate zip abs min max sum int float bool list tuple sorted reversed"
)
# Names of types, where a function of the vocabulary takes one: `zeros(3, dtype=float)`.
TYPES = frozenset({"float", "int", "bool"})

# A word in quotes may say only how: these keywords, or this position of these functions.
WORD_KEYWORDS = words(
    "reduction mode indexing ord p norm order dtype padding approximate side method nonlinearity"
)
WORD_POSITIONS = {"einsum": 0, "norm": 1, "pad": 2, "qr": 1}
WORDS = words(
    "sum mean none batchmean ij xy fro nuc reduced complete r raw constant edge reflect wrap "
    "symmetric circular replicate tanh same valid full left right linear lower higher nearest "
    "midpoint float64 float32 int64 int32 bool float int C F A K fan_in fan_out relu leaky_relu "
    "sigmoid"
)


@dataclass(frozen=True)
class Vocabulary:
    """What a program may name beside its own variables; a number kind supplies the meanings."""

    functions: frozenset[str] = frozenset()
    constants: frozenset[str] = frozenset()
    attributes: frozenset[str] = frozenset()
    assignable: frozenset[str] = frozenset()
    methods: frozenset[str] = frozenset()
    contexts: frozenset[str] = frozenset()
    layers: frozenset[str] = frozenset()  # functions whose values may be called
    dtypes: frozenset[str] = frozenset()
    aliases: Mapping[str, str] = field(default_factory=dict)
    keyword_aliases: Mapping[str, str] = field(default_factory=dict)

    def function(self, name: str) -> str | None:
        """The name that the number kind knows a function by, None where there is none."""
        for known in (self.aliases.get(name, name), name):
            if known in self.functions:
                return known
        return None

    def callables(self) -> frozenset[str]:
        return self.functions | self.aliases.keys() | BUILTINS


def nearest(name: str, known: Collection[str], alike: float = 0.66) -> str:
    """`did you mean ...?` for the known name closest to an unknown one, else nothing."""
    folded = {each.lower(): each for each in sorted(known, reverse=True)}
    close = difflib.get_close_matches(name.lower(), folded, n=1, cutoff=alike)
    return f"did you mean `{folded[close[0]]}`?" if close else ""


def listing(names: Iterable[str], most: int = 8) -> str:
    ordered = sorted(names)
    shown = ", ".join(f"`{name}`" for name in ordered[:most])
    return shown + (", ..." if len(ordered) > most else "")
