"""What floats do to a claim: how far rounding moves it, how uneven it is, what balls make of it."""

from collections.abc import Callable, Mapping
from itertools import islice, pairwise
from typing import Any

import numpy as np

from gradcheck.numbers.ball import arbs, balls
from gradcheck.numbers.run import precision
from gradcheck.opinions.limits import SAMPLES
from gradcheck.opinions.opinion import Array
from gradcheck.opinions.rounding import noise, spread
from gradcheck.testing.buffers import with_buffers
from gradcheck.testing.call import Call, signed
from gradcheck.testing.claims import EPSILON

Again = Callable[[list[Any]], Any]  # a claim made anew, at other arguments
Way = Callable[[Array], Array]  # how much there is to be said of each of some moves
LINES = 3
POINTS = 13  # of a line, at random places: equal steps and a grid of few values fall into step
REACHES = (3e-8, 3e-6, 3e-4)  # of every entry: the widest shows the steps of 1 - y where y is 1
CUBIC, QUINTIC = 3, 5
UNEVEN = 0.2  # of a quintic's residuals to a cubic's: 1 for noise, the reach squared if smooth
ROUGH = 16.0
"""Times the rms that was heard: four of a normal distribution are nearly all of it, and a median of
three, of seven degrees of freedom each, is less than a quarter of the truth four times in 10^7."""
PARTS = 6  # of a line, in each of which a jump is looked for
TEARS = 3  # parts that jump: where a formula branches one does
TEARING = (1e-2, 1e-3, 3e-4, 3e-5, 3e-6, 3e-8)
"""Reaches: within the widest the few steps of a 1 - y where y is 1 are several; in the narrow ones
no bend hides them."""
SMALLEST = (
    16  # parts of the rms that a jump is at least: of n sources one jumps at a time, 1/sqrt(n)
)


def shaken(gradients: Again, call: Call, unit: float = 0.0) -> dict[str, Array]:
    """How far a claim moves when its arguments move by a few units of rounding.

    The unit is that of the arguments' own floats, unless a coarser one is given.

    What a formula loses by cancellation, and what no formula could know of the argument, shows
    here; a wrong formula that is stable does not move.
    """
    still = {n: g for n, g in call.by_name(gradients(call.fresh())).items() if g is not None}
    rng = np.random.default_rng(0)
    runs = [call.by_name(gradients(_disturbed(call, rng, unit))) for _ in range(SAMPLES)]
    return {
        name: np.nan_to_num(spread(np.asarray(g), [run[name] for run in runs]))
        for name, g in still.items()
        if all(np.shape(run[name]) == np.shape(g) and run[name] is not None for run in runs)
    }


def _disturbed(call: Call, rng: np.random.Generator, unit: float) -> list[Any]:
    """The arguments with rounding noise on those that are differentiated."""
    unit = unit or call.grain()
    return call.moved({i: noise(rng, np.shape(call.args[i]), unit) for i in call.wrt})


def rough(gradients: Again, call: Call) -> dict[str, Array]:
    """How uneven a claim is along short lines through its arguments: what it may round inside.

    In `y * (1 - y)` no rounding of x moves the digits of a y near 1, which have gone all the same.
    A polynomial of degree 5 follows what is smooth (see Moré & Wild, Estimating computational
    noise, 2011, for differences instead); what it leaves counts where one of degree 3 leaves no
    more, for only noise is so, or a wave (see `torn`).
    """
    rng = np.random.default_rng(1)
    heard = [_heard(gradients, call, rng, reach) for reach in REACHES]
    return {
        name: ROUGH * np.max([of_reach[name] for of_reach in heard], axis=0)
        for name in heard[0]
        if all(name in of_reach for of_reach in heard)
    }


def torn(gradients: Again, call: Call, name: str, index: tuple[int, ...], rms: float) -> bool:
    """Whether an entry that is uneven jumps from one float to the next, as only rounding makes it.

    What waves moves as little from one float to the next as these differ; a branch of the formula's
    own jumps at one place.
    """
    return any(_torn(gradients, call, (name, index), rms, reach) for reach in TEARING)


def _torn(
    gradients: Again, call: Call, entry: tuple[str, tuple[int, ...]], rms: float, reach: float
) -> bool:
    """Whether it jumps so in several parts of a line of one reach."""
    rng, (name, index) = np.random.default_rng(2), entry
    along = {i: signed(rng, np.shape(call.args[i])) for i in call.wrt}

    def at(place: float) -> float:
        moved = call.moved({i: 1 + reach * place * u for i, u in along.items()})
        return float(np.asarray(call.by_name(gradients(moved))[name])[index])

    def jumps(a: float, b: float) -> bool:
        finest = EPSILON / reach / 4  # its ends are neighbouring floats, or the same
        return any(_jump(at, a, b, finest, by) * SMALLEST >= rms for by in WAYS)

    found = (part for part in pairwise(np.linspace(-1, 1, PARTS + 1)) if jumps(*part))
    return len(list(islice(found, TEARS))) == TEARS


def _jump(at: Callable[[float], float], a: float, b: float, finest: float, by: Way) -> float:
    """How far a function moves within a unit of rounding where it seems to jump.

    Of eight parts the one is taken of which most is to be said, again and again.
    """
    while b - a > finest:
        places = np.linspace(a, b, 9)
        moves = np.diff([at(place) for place in places])
        if not np.all(np.isfinite(moves)):
            return 0.0
        k = int(np.argmax(by(moves)))
        a, b = float(places[k]), float(places[k + 1])
    return abs(at(b) - at(a))


def _unlike(moves: Array) -> Array:
    """How far each move is off the others' line: a tread is bent, and the next begins lower."""
    moves = moves - np.median(np.diff(moves)) * np.arange(len(moves))
    return np.asarray(np.abs(moves - np.median(moves)))


WAYS: tuple[Way, ...] = (np.abs, _unlike)


def _heard(gradients: Again, call: Call, rng: np.random.Generator, reach: float) -> dict[str, Any]:
    """The median over some lines of the noise within one reach."""
    lines = [_line(gradients, call, rng, reach) for _ in range(LINES)]
    return {
        name: np.median([line[name] for line in lines], axis=0)
        for name in lines[0]
        if all(name in line for line in lines)
    }


def _line(gradients: Again, call: Call, rng: np.random.Generator, reach: float) -> dict[str, Array]:
    """The noise of the claim along one line."""
    along = {i: signed(rng, np.shape(call.args[i])) for i in call.wrt}
    places = rng.uniform(-1, 1, POINTS)
    found = [
        call.by_name(gradients(call.moved({i: 1 + reach * at * u for i, u in along.items()})))
        for at in places
    ]
    return {
        name: _noise(places, np.array([g[name] for g in found], float))
        for name, first in found[0].items()
        if first is not None and all(np.shape(g[name]) == np.shape(first) for g in found)
    }


def _noise(places: Array, values: Array) -> Array:
    """The rms of the noise of some values, along the first axis; 0 where it is none."""
    with np.errstate(all="ignore"):
        cubic, quintic = (_left(places, values, degree) for degree in (CUBIC, QUINTIC))
        heard = quintic >= UNEVEN * cubic
    return np.where(heard & np.isfinite(quintic), quintic, 0.0)


def _left(places: Array, values: Array, degree: int) -> Array:
    """The rms of what a polynomial leaves of some values."""
    basis = np.linalg.qr(np.vander(places, degree + 1))[0]
    rest = values - np.tensordot(basis, np.tensordot(basis.T, values, 1), 1)
    return np.asarray(np.sqrt(np.sum(rest**2, axis=0) / (len(places) - degree - 1)))


def in_balls(gradients: Again, call: Call, bits: int) -> dict[str, Array] | None:
    """The claimed gradients as a program of balls: what the formula says without rounding.

    None where it cannot be run on exact numbers.
    """
    with precision(bits):
        args = call.fresh()
        for i in call.wrt:
            args[i] = balls(np.asarray(args[i], dtype=np.float64))
        try:
            return _as_balls(_followed(gradients, args), call)
        except Exception:  # noqa: BLE001 - a second chance only: a user's code may raise anything
            return None


def _followed(gradients: Again, args: list[Any]) -> Any:
    """The claim on balls; where it cannot write them into what `np.zeros` gives, once more."""
    try:
        return gradients(args)
    except (TypeError, ValueError):
        return with_buffers(gradients, "ball")(args)


def _as_balls(came: Any, call: Call) -> dict[str, Array]:
    """What came, by the names of the differentiated arguments."""
    if isinstance(came, Mapping):
        return {n: arbs(came[n]) for n in call.labels}
    several = list(came) if isinstance(came, tuple | list) else [came]
    if len(several) == len(call.args) != len(call.wrt):
        several = [several[i] for i in call.wrt]
    return {n: arbs(g) for n, g in zip(call.labels, several, strict=True)}
