"""How a notebook shows our objects: HTML with everything escaped, formulas as MathML."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from markupsafe import Markup

from gradcheck.report.figures import as_mathml, format_bar, nest_text

FORM = 300  # characters of a closed form
TABLE = Markup('<table class="gradcheck" style="text-align: left">{}</table>')
ROW = Markup('<tr><th style="text-align: left">{}</th><td style="text-align: left">{}</td></tr>')
CODE = Markup("<code style='white-space: pre-wrap'>{}</code>")


def render_tensor(tensor: Any) -> str:
    """A tensor's value, its gradient, and where it comes from."""
    rows = [("tensor", CODE.format(repr(tensor)))]
    if tensor.requires_grad and tensor.is_leaf:
        rows.append(("grad", CODE.format(repr(tensor.grad))))
    if tensor.grad_fn is not None:
        rows.append(("grad_fn", CODE.format(tensor.grad_fn.name())))
    return _render_table(rows)


def render_verdict(verdict: Any) -> str:
    """The verdict, and each gradient with its error bar and closed form."""
    rows = [("verdict", Markup("<b>{}</b>").format(verdict.verdict))]
    for name, part in verdict.parts.items():
        if part.gradient is not None:
            error = float(np.max(part.gradient.error, initial=0.0))
            shown = np.array2string(np.asarray(part.gradient.value), precision=6, threshold=20)
            rows.append((f"d/d{name}", CODE.format(f"{shown}  {format_bar(error)}")))
        form = nest_text(verdict.opinions["symbolic"].closed.get(name))
        rows += _render_forms(f"d/d{name}", form)
    rows += [("note", CODE.format(note)) for note in verdict.notes]
    return _render_table(rows)


def render_result(result: Any) -> str:
    """What a check found at the first point, its closed forms, and what is wrong."""
    rows = [("check", Markup("<b>{}</b>").format("passed" if result.ok else "failed"))]
    shown = Markup(render_verdict(result.verdicts[0]))
    forms = result.closed_form if len(result.case.wrt) > 1 else (result.closed_form,)
    rows += _render_forms("closed form", *forms)
    said = Markup("") if result.ok else CODE.format(result.message)
    return Markup("{}{}{}").format(Markup(_render_table(rows)), shown, said)


def render_diagnosis(diagnosis: Any) -> str:
    """Each mistake that fits, in words."""
    from gradcheck.diagnosis import write_words  # noqa: PLC0415

    rows = [("diagnosis", Markup("<b>{}</b>").format(diagnosis.certainty))]
    rows += [(h.mistake.id, Markup("{}").format(write_words(h))) for h in diagnosis.hypotheses]
    rows += [("note", Markup("{}").format(remark)) for remark in diagnosis.remarks]
    return _render_table(rows)


def _render_forms(name: str, *forms: Any) -> list[tuple[str, Markup]]:
    """The closed forms of numbers as MathML, or as text; without those that are not written out."""
    written = [form for form in forms if isinstance(form, str) and 0 < len(form) <= FORM]
    shown = [(as_mathml(form), CODE.format(form)) for form in written]
    return [(name, Markup(formula) if formula else code) for formula, code in shown]


def _render_table(rows: list[tuple[str, Markup]]) -> str:
    return str(TABLE.format(Markup("").join(ROW.format(*row) for row in rows)))


HTML: Mapping[tuple[str, str], Callable[[Any], str]] = {
    ("gradcheck.engine.tensor", "Tensor"): render_tensor,
    ("gradcheck.verdict.consult", "Verdict"): render_verdict,
    ("gradcheck.testing.result", "Result"): render_result,
    ("gradcheck.diagnosis.explain", "Diagnosis"): render_diagnosis,
}
