"""What a problem asks for: gradients by which names, second derivatives, what a program leaves."""

import ast
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from gradcheck.errors import TextError
from gradcheck.language import Program, Vocabulary
from gradcheck.language.kinds import VOCABULARY
from gradcheck.opinions.opinion import pair
from gradcheck.problem.made import assigned, shapes, with_made
from gradcheck.problem.record import Input, Part, Problem
from gradcheck.problem.section import Section

if TYPE_CHECKING:  # a question without a file needs no pydantic
    from gradcheck.problem.model import ProblemModel

ERROR = "error"
READABLE = ("recorded", ERROR)
"""What `ask` can read besides the variables."""


@dataclass
class Asked:
    """Reads from a section what is asked; `model` is the problem in its form."""

    section: Section
    model: "ProblemModel"

    def wrt(
        self, inputs: Mapping[str, Input], made: Collection[str], has_own: bool
    ) -> tuple[str, ...]:
        """The names to differentiate by: those of `wrt`, or all inputs that require grad."""
        tracked = tuple(name for name, i in inputs.items() if i.requires_grad)
        if self.model.wrt is None:
            if not tracked and self.model.ask is None and not has_own:
                self.section.complain(
                    ("inputs",), "no input requires grad", "let one do so", key=True
                )
            return tracked
        if not self.model.wrt and self.model.ask is None:
            self.section.complain(
                ("wrt",), "no input is differentiated", "name one, or leave `wrt:` out"
            )
        for k, name in enumerate(self.model.wrt):
            if name in self.model.wrt[:k]:
                self.section.complain(("wrt", k), f"`{name}` stands here twice", "keep one")
            elif name in made:
                if self.model.ask is not None:
                    words = f"`{name}` is no input, and `ask:` says what is asked"
                    self.section.complain(
                        ("wrt", k), words, f"ask for `{name}.grad`, after retain_grad"
                    )
            elif name not in inputs:
                cure = f"one of {', '.join(inputs)}, or of the names that the program assigns"
                self.section.complain(("wrt", k), f"`{name}` is not an input", cure)
            elif not inputs[name].requires_grad:
                self.section.complain(("wrt", k), f"`{name}` does not require grad", "drop it here")
        return tuple(self.model.wrt)

    def made(self, inputs: Mapping[str, Input], program: Program | None) -> frozenset[str]:
        """The names of `wrt` that the program assigns; complained of, if more than once."""
        stored = assigned(program) if program else {}
        made = frozenset(self.model.wrt or ()) - inputs.keys() & stored.keys()
        for k, name in enumerate(self.model.wrt or ()):
            if name in made and not stored[name]:
                words = f"`{name}` is not assigned just once, on the program's own level"
                self.section.complain(
                    ("wrt", k), words, "give the value that is meant its own name"
                )
        return made

    def with_made(self, problem: Problem, made: Collection[str]) -> Problem:
        """A problem that is differentiated by values of its program too."""
        known = shapes(problem) if made else {}
        for k, name in enumerate(problem.wrt):
            if name in made and name not in known:
                words = f"`{name}` is no number and no array of numbers"
                self.section.complain(("wrt", k), words, "drop it here")
        if self.section.complaints:
            raise TextError(self.section.complaints)
        return with_made(problem, {name: known[name] for name in made}) if made else problem

    def parts(
        self,
        wrt: tuple[str, ...],
        program: Program | None,
        inputs: Mapping[str, Input],
        own: Sequence[str],
    ) -> tuple[Part, ...]:
        """What is to be answered, each with its share of the points; `own` are leaves."""
        asks = self.model.ask or {f"{leaf}.grad": f"{leaf}.grad" for leaf in own}
        names = list(asks or self._asked(wrt))
        for name in self.model.weights:
            if name not in names:
                cure = f"one of {', '.join(names)}"
                self.section.complain(("weights", name), f"`{name}` is not a part", cure, key=True)
        total = sum(self.model.weights.get(name, 1.0) for name in names) or 1.0
        share = {name: self.model.weights.get(name, 1.0) / total for name in names}
        self._check_rows(bool(asks), bool(set(wrt) - inputs.keys()))
        if not asks:
            return tuple(Part(name, share[name]) for name in names)
        known = (*inputs, *(_assigned(program) if program else ()), *READABLE)
        asking = _asking(program)
        parts = []
        for name, asked in asks.items():
            if isinstance(asked, str):
                read = self.section.program(("ask", name), asked, known, asking)
                parts.append(Part(name, share[name], read))
            else:
                read = self.section.program(("ask", name, "read"), asked.read, known, asking)
                parts.append(Part(name, share[name], read, asked.form))
        return tuple(parts)

    def _asked(self, wrt: tuple[str, ...]) -> Sequence[str]:
        """What is asked by default: the gradients by inputs, or the blocks of a Hessian."""
        if self.model.order == 1:
            return wrt
        return [pair(a, b) for k, a in enumerate(wrt) for b in wrt[k:]]

    def _check_rows(self, has_own: bool, has_made: bool) -> None:
        """Complain of derivatives of derivatives where they are not followed."""
        for key, given in (("order", self.model.order == 2), ("jacobian", self.model.jacobian)):
            if given and has_own:
                words = "a program that goes back by itself is asked for what it leaves"
                self.section.complain((key,), words, "drop it here", key=True)
            elif given and self.model.cotangent is not None:
                words = f"`{key}` asks for every entry, and `cotangent` for one sum of them"
                self.section.complain((key,), words, "keep one of them", key=True)
            elif given and has_made:
                words = f"`{key}` is asked by inputs, not by values that the program assigns"
                self.section.complain((key,), words, "name inputs in `wrt:`", key=True)
        if self.model.order == 2 and self.model.jacobian:
            words = "a Jacobian of second derivatives is not followed"
            self.section.complain(
                ("order",), words, "keep `order: 2` or `jacobian: true`", key=True
            )


def _assigned(program: Program) -> set[str]:
    names = (n for n in ast.walk(program.tree) if isinstance(n, ast.Name))
    return {n.id for n in names if isinstance(n.ctx, ast.Store)}


def _asking(program: Program | None) -> Vocabulary:
    """The vocabulary of `ask:`: what the program recorded may be read of `recorded`."""
    calls = [n for n in ast.walk(program.tree) if isinstance(n, ast.Call)] if program else []
    recorded = {
        keyword.arg
        for call in calls
        if isinstance(call.func, ast.Name) and call.func.id == "record"
        for keyword in call.keywords
        if keyword.arg
    }
    return replace(VOCABULARY, attributes=VOCABULARY.attributes | recorded)
