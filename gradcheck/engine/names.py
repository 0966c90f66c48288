"""PyTorch's names of the nodes: `MulBackward0` for `multiply`, and which of several it is."""

from collections.abc import Callable

import numpy as np

from gradcheck.ops.row import Op
from gradcheck.ops.shapes import is_basic
from gradcheck.values import Params, Value

Operands = tuple[Value, ...]
Name = Callable[[Operands, Params], str]

ALIKE = {
    "Lgamma": "loggamma", "Elu": "selu", "LogSigmoid": "logsigmoid",
    "Div": "divide", "Mul": "multiply outer",
    "Neg": "negative", "Pow": "square", "Gather": "take_along_axis", "IndexPut": "scatter",
    "LinalgDet": "det", "LinalgSlogdet": "logabsdet signdet", "LinalgInvEx": "inv",
    "LinalgSolveEx": "solve", "LinalgCholeskyEx": "cholesky", "View": "repeat "
    "einsum reshape ravel atleast_1d", "LinalgCross": "cross", "LinalgEigh": "eigvalsh "
    "eigenvectors", "LinalgSvd": "svdvals left_singular_vectors right_singular_vectors",
    "Abs": "absolute", "LinalgPinv": "pinv", "LinalgVectorNorm": "norm", "Asinh": "arcsinh",
    "Acosh": "arccosh", "Atanh": "arctanh", "Cat": "concatenate", "Repeat": "tile",
    "Round": "rint", "Sub": "diff", "ConstantPadNd": "pad", "IndexSelect": "take",
    "Permute": "transpose moveaxis", "Transpose": "swapaxes matrix_transpose",
    "Unsqueeze": "expand_dims atleast_2d atleast_3d", "Expand": "broadcast_to", "Clone": "copy",
    "Flip": "flipud fliplr", "Asin": "arcsin", "Acos": "arccos", "Atan": "arctan",
    "Atan2": "arctan2", "Deg2Rad": "radians", "Rad2Deg": "degrees",
}  # fmt: skip
"""PyTorch's names that are not ours, and the rows that they stand for."""
KNOWN = {row: f"{name}Backward0" for name, rows in ALIKE.items() for row in rows.split()}
KNOWN |= dict.fromkeys(("floor_divide", "heaviside"), "NotImplemented")


def _is_number(operand: Value) -> bool:
    """Whether an operand is a constant of the program's text, as PyTorch's names tell apart."""
    return operand is None or type(operand) in (int, float)


def _number_by_axis(name: str) -> Name:
    return lambda operands, params: f"{name}Backward{int(params.get('axis') is not None)}"


def _number_by_divisor(name: str) -> Name:
    return lambda operands, params: f"{name}Backward{int(not _is_number(operands[1]))}"


def _extreme(name: str) -> Name:
    return lambda operands, params: (
        f"A{name}Backward0" if "axis" in params else f"{name.title()}Backward1"
    )


def _power(operands: Operands, params: Params) -> str:
    number = 0 if _is_number(operands[1]) else 2 if _is_number(operands[0]) else 1
    return f"PowBackward{number}"


def _name_index(operands: Operands, params: Params) -> str:
    """PyTorch takes an index apart from left to right; arrays and masks come last of all."""
    index = params["index"]
    parts = index if isinstance(index, tuple) else (index,)
    if any(isinstance(part, np.ndarray | list | bool) for part in parts):
        return "IndexBackward0"
    if isinstance(index, slice):
        return "SliceBackward0"
    said = [part for part in parts if part is not Ellipsis and part != slice(None)]
    if not said:
        return "AliasBackward0"
    return {type(None): "Unsqueeze", slice: "Slice"}.get(type(said[-1]), "Select") + "Backward0"


def _product(operands: Operands, params: Params) -> str:
    names: dict[tuple[int, ...], str]
    names = {(1, 2): "Squeeze", (1, 1): "Dot", (2, 1): "Mv", (2, 2): "Mm", (3, 3): "Bmm"}
    ranks = tuple(map(np.ndim, operands))
    return f"{names.get(ranks, 'UnsafeView')}Backward{4 if ranks == (1, 2) else 0}"


def _of_classes(operands: Operands, params: Params) -> str:
    if params["labels"] is None:
        return "DivBackward1" if params["reduction"] == "mean" else "NegBackward0"
    return f"NllLoss{'2D' if params['labels'] > 1 else ''}Backward0"


VARYING: dict[str, Name] = {
    "sum": _number_by_axis("Sum"),
    "mean": _number_by_axis("Mean"),
    "prod": _number_by_axis("Prod"),
    "max": _extreme("max"),
    "min": _extreme("min"),
    "remainder": _number_by_divisor("Remainder"),
    "fmod": _number_by_divisor("Fmod"),
    "subtract": lambda operands, params: (
        "RsubBackward1" if _is_number(operands[0]) else "SubBackward0"
    ),
    "power": _power,
    "float_power": _power,
    "getitem": _name_index,
    "setitem": lambda operands, params: (
        "CopySlices" if is_basic(params["index"]) else "IndexPutBackward0"
    ),
    "diag": lambda operands, params: (
        "DiagonalBackward0_copy" if np.ndim(operands[0]) == 2 else "DiagEmbedBackward0"
    ),
    "matmul": _product,
    "replace": lambda operands, params: params["node"],
    "clip": lambda operands, params: f"ClampBackward{int(not params['sides'])}",
    "nll_loss": _of_classes,
    "squeeze": lambda operands, params: (
        "SqueezeBackward" + {int: "1", tuple: "2"}.get(type(params.get("axis")), "0")
    ),
}
"""The rows that have several nodes in PyTorch, by their operands and parameters."""


def node_name(row: Op, operands: Operands, params: Params) -> str:
    """The name PyTorch gives to the node of a row, `MulBackward0`."""
    if row.grad_fn:
        return row.grad_fn
    if row.name in VARYING:
        return VARYING[row.name](operands, params)
    return KNOWN.get(row.name) or f"{row.name.title().replace('_', '')}Backward0"
