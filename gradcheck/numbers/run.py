"""What a run on exact numbers needs to know, one record a thread; and its precision.

flint has one precision for the whole process, so whoever sets it keeps other threads out until he
puts it back. Settings that are not of flint's own are each thread's.
"""

import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TypeVar

from flint import ctx

from gradcheck.errors import GradcheckError
from gradcheck.values import Value

PATIENCE = 4096  # bits, after which a question that is still open stays open
T = TypeVar("T")


class Undecided(GradcheckError, ArithmeticError):
    """Two balls overlap that are to be compared: only more precision can tell, if anything."""


class TooWide(ArithmeticError):
    """The balls came out too wide; more bits may help."""


class Run(threading.local):
    """The settings and the counts of the run that a thread is in."""

    keyed: bool = True  # every number carries what makes it certain that two are equal
    as_floats: bool = False  # a comparison counts as open where float64 has no such numbers
    folded: bool = False  # symbolic numbers that hang on no leaf forget how they were made
    numbers: bool = False  # an array without axes is one: `s += 1` makes another, as in NumPy
    open: bool = False  # SymPy leaves hard questions open (see `closed`)
    path: list[tuple[Value, int]] | None = None  # takes the comparisons of symbolic numbers
    observer: Callable[[Value], None] | None = None  # sees each of them made
    floors: list[Value] | None = None  # takes what floors and ceilings come to
    ties: int = 0  # numbers compared with their equals
    made: int = 0  # balls: the measure of work that does not depend on a clock
    silenced: tuple[type[Warning], ...] = ()  # kinds of warnings that do not leave the thread
    refused: str = ""  # words of what was raised at a program, which may have caught it


RUN = Run()
_FLINT = threading.RLock()


@contextmanager
def precision(bits: int) -> Iterator[None]:
    """Work with so many bits inside the block, alone in the process; then as before.

    A generator, though a class takes a quarter of its time: what ends a thread at any moment would
    leave a class between its two methods, with the lock and the bits.
    """
    with _FLINT:
        before, ctx.prec = ctx.prec, bits
        try:
            yield
        finally:
            ctx.prec = before


@contextmanager
def change_settings(**values: Value) -> Iterator[None]:
    before = {name: getattr(RUN, name) for name in values}
    vars(RUN).update(values)
    try:
        yield
    finally:
        vars(RUN).update(before)


class _OfThread(type):
    def __subclasscheck__(cls, category: type) -> bool:
        return issubclass(category, RUN.silenced)


class SilencedWarning(Warning, metaclass=_OfThread):
    """Any warning counts as one of this class, where the thread that asks has silenced it."""


SILENCED = ("ignore", None, SilencedWarning, None, 0)


@contextmanager
def silence_warnings(*kinds: type[Warning]) -> Iterator[None]:
    """No warning of some kinds, or of any, leaves what this thread does.

    `warnings.catch_warnings` is everybody's: two threads would put back each other's filters.
    """
    filters: Value = warnings.filters
    filters.insert(0, SILENCED)
    try:
        with change_settings(silenced=(*RUN.silenced, *(kinds or (Warning,)))):
            yield
    finally:
        with suppress(ValueError):  # somebody has put back others meanwhile
            filters.remove(SILENCED)


@contextmanager
def heed_refusals() -> Iterator[None]:
    """TypeError where a program inside the block caught what it was refused.

    `try: math.exp(x)` with something else in its `except` is another function on other numbers.
    """
    with change_settings(refused=""):
        yield
        if RUN.refused:
            raise TypeError(RUN.refused)


def refine(ask: Callable[[int], T], start: int) -> T:
    """The answer at the first precision at which everything can be decided, doubling the bits.

    Keys cost time and are seldom needed: the first try does without. Raises Undecided where
    PATIENCE bits do not decide.
    """
    bits = start
    while True:
        try:
            with precision(bits), change_settings(keyed=bits > start, ties=0):
                return ask(bits)
        except (Undecided, TooWide):
            if bits >= PATIENCE:
                raise
            bits *= 2
