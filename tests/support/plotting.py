"""Pictures of a problem: its recorded series, the errors of its differences, its tape."""

import xml.etree.ElementTree as ET

from gradcheck.opinions.opinion import Case
from gradcheck.plots.curves import (
    Differences,
    Series,
    collect_differences,
    collect_series,
    trace_svg,
)
from gradcheck.plots.graph import Graph, make_graph
from gradcheck.problem.draw import draw_given_point
from gradcheck.problem.load import load_text
from gradcheck.problem.record import Problem
from gradcheck.training import run_and_judge
from gradcheck.verdict.consult import Verdict, consult
from tests.support.sets import set_of

SVG = "{http://www.w3.org/2000/svg}"
FIVE_STEPS = set_of("five-steps")


def problem(text: str) -> Problem:
    return load_text(text).problems[0]


def recorded(text: str) -> dict[str, Series]:
    return {each.name: each for each in collect_series(run_and_judge(problem(text)))}


def traced(text: str, name: str) -> tuple[str, ...]:
    svg = ET.fromstring(trace_svg("p", recorded(text)[name]))
    return tuple(t.text or "" for t in svg.iter(f"{SVG}text"))


def solved(program: str, inputs: str) -> tuple[Case, Verdict]:
    found = problem(f"id: p\ninputs: {inputs}\nprogram: {program}")
    case = found.case(draw_given_point(found))
    return case, consult(case)


def differences(program: str, inputs: str, part: str = "x") -> Differences:
    return collect_differences(*solved(program, inputs), part)


def graph(text: str) -> Graph:
    found = problem(text)
    return make_graph(found.id, found.case(draw_given_point(found)), found.program)
