"""Functions said in terms of rows: they give several numbers, or are formulas of other ops."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from gradcheck.ops.row import BY_SPELLING, TABLE, Op, handler_of, join, respell
from gradcheck.values import Numbers, Routine


@dataclass(frozen=True, eq=False)
class Compound:
    """A function said in terms of rows: it gives several numbers, or is a formula of other ops.

    What `meaning` computes with rows has every kind of number, and its derivative, from them.
    `function` is NumPy's own where it has one: what plain numbers get. `words` are further names
    of its own arguments.
    """

    name: str
    function: Routine | None
    meaning: Routine
    school: tuple[str, ...] = ()
    words: Mapping[str, str] = field(default_factory=dict)

    def __call__(self, *args: Numbers, **kwargs: Numbers) -> Numbers:
        """NumPy's function on plain numbers, its meaning on every other kind."""
        kwargs = respell(kwargs, self.words)
        if self.function is None or handler_of((*args, *kwargs.values())):
            return self.meaning(*map(join, args), **{k: join(v) for k, v in kwargs.items()})
        return self.function(*args, **kwargs)


ANSWERED = frozenset(
    {"average", "cross_entropy", "dot", "inner", "median", "nansum", "ptp", "tensordot", "vdot"}
)
"""The formulas that typed answers call too."""
COMPOUNDS: dict[str, Compound] = {}
FORMULA_SPELLINGS: dict[str, str] = {}
"""Further spellings of the formulas, and the names that they stand for."""
BY_COMPOUND: dict[Routine, Compound] = {}


def everything() -> dict[str, Op | Compound]:
    """All rows and formulas, under each of their names."""
    table: dict[str, Op | Compound] = {**COMPOUNDS, **TABLE}
    spelled = BY_SPELLING | FORMULA_SPELLINGS
    return {name: table[known] for name, known in spelled.items() if known in table} | table


def formula(
    function: Routine | None = None, name: str = "", also: Iterable[Routine] = (), **more: Numbers
) -> Callable[[Routine], Compound]:
    """Enter a formula of other ops, under a name, NumPy's, or the formula's own.

    Raises ValueError where there is a row or an entry of that name already.
    """

    def enter(meaning: Routine) -> Compound:
        entry = Compound(name or (function or meaning).__name__, function, meaning, **more)
        if entry.name in COMPOUNDS or entry.name in TABLE:
            raise ValueError(f"the op {entry.name} is there already")
        COMPOUNDS[entry.name] = entry
        FORMULA_SPELLINGS.update(dict.fromkeys(entry.school, entry.name))
        BY_COMPOUND.update(dict.fromkeys((*also, *([function] if function else [])), entry))
        return entry

    return enter
