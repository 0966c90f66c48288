"""Problems drawn by rule and level; and the one in which a given mistake shows alone."""

from collections.abc import Iterator, Sequence
from itertools import cycle, product
from random import Random

from gradcheck.errors import GradcheckError
from gradcheck.practice.drawing import draw_candidate
from gradcheck.practice.exercise import Exercise, make_exercise
from gradcheck.practice.rules import BY_NAME, LEVELS, RULES, Kind, Rule
from gradcheck.problem import ProblemSet

ROUNDS = 2  # in which no rule gives a new problem, after which there are none
TRIES = 60  # candidates for one problem
LOOKED = 20  # candidates of one kind and level, where a certain mistake has to show


def generate_exercises(
    rules: Sequence[str] = (), level: int | None = None, seed: int = 0, reveals: str = ""
) -> Iterator[Exercise]:
    """Exercises until no more is found, the rules in turn; no function comes twice.

    `level` None goes up from 1 to 3 and starts again. `reveals` is a mistake that each must name.
    Raises GradcheckError where a rule is unknown.
    """
    chosen = [_find_rule(name) for name in rules] or _find_revealing(reveals) or list(RULES)
    levels = LEVELS if level is None else (level,)
    seen: set[str] = set()
    vain = 0
    turns = ((rule, each) for each in cycle(levels) for rule in chosen)
    for number, (rule, each) in enumerate(turns):
        made = _generate_one(rule, each, f"{seed}/{number}", reveals, seen)
        if made is not None:
            seen.add(made.candidate.program)
            yield made
        vain = 0 if made is not None else vain + 1
        if vain > ROUNDS * len(chosen) * len(levels):
            return


def next_problem(mistake: str, seed: int = 0) -> ProblemSet | None:
    """A set of one problem in which this mistake shows, and no other gives the same answer.

    Parameters
    ----------
    mistake
        The id of a mistake.
    seed
        The same seed gives the same problem.

    Returns
    -------
    ProblemSet or None
        None for a mistake that no rule's problems show alone (those of training loops, and most of
        backprop).

    Examples
    --------
    >>> practice = next_problem("missing-inner-derivative")
    >>> [problem.program.source for problem in practice.problems]
    ['log(4*x + 7)']
    """
    random = Random(f"gradcheck-next/{mistake}/{seed}")
    for rule, kind, level in _list_places(mistake, random):
        for _ in range(LOOKED):
            drawn = draw_candidate(rule, kind, level, random)
            made = make_exercise(drawn, f"{rule.name}-{random.getrandbits(32):08x}")
            if made is not None and made.names_alone(mistake):
                return made.set
    return None


def _find_rule(name: str) -> Rule:
    if name not in BY_NAME:
        raise GradcheckError(f"no rule is called {name} - one of {', '.join(BY_NAME)}")
    return BY_NAME[name]


def _find_revealing(mistake: str) -> list[Rule]:
    return [rule for rule in RULES if any(_knows(kind, mistake) for kind in rule.kinds)]


def _knows(kind: Kind, mistake: str) -> bool:
    return mistake in kind.mistakes or mistake in kind.also


def _generate_one(
    rule: Rule, level: int, name: str, reveals: str, seen: set[str]
) -> Exercise | None:
    random = Random(f"gradcheck-practice/{rule.name}/{level}/{name}")
    kinds = [kind for kind in rule.kinds if _knows(kind, reveals)] or list(rule.kinds)
    for _ in range(TRIES):
        drawn = draw_candidate(rule, random.choice(kinds), level, random)
        if drawn.program in seen:
            continue
        made = make_exercise(drawn, f"{rule.name}-{level}-{random.getrandbits(24):06x}")
        if made is not None and (not reveals or made.names(reveals)):
            return made
    return None


def _list_places(mistake: str, random: Random) -> Iterator[tuple[Rule, Kind, int]]:
    """Kinds and levels to be searched: where it belongs first, the easier before the harder."""
    kinds = [(rule, kind) for rule in RULES for kind in rule.kinds if _knows(kind, mistake)]
    random.shuffle(kinds)
    for level, (rule, kind) in product(LEVELS, kinds):
        yield rule, kind, level
