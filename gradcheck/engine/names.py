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


def _power(operands: Operands, params: Params) -> str:
    number = 0 if _is_number(operands[1]) else 2 if _is_number(operands[0]) else 1
    return f"PowBackward{number}"


def _index(operands: Operands, params: Params) -> str:
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
    names = {"12": "Squeeze", "11": "Dot", "21": "Mv", "22": "Mm", "33": "Bmm"}
    ranks = "".join(str(np.ndim(each)) for each in operands)
    return f"{names.get(ranks, 'UnsafeView')}Backward{4 if ranks == '12' else 0}"


def _classes(operands: Operands, params: Params) -> str:
    if params["labels"] is None:
        return "DivBackward1" if params["reduction"] == "mean" else "NegBackward0"
    return f"NllLoss{'2D' if params['labels'] > 1 else ''}Backward0"


VARYING: dict[str, Name] = {
    "sum": lambda _, p: f"SumBackward{int(p.get('axis') is not None)}",
    "mean": lambda _, p: f"MeanBackward{int(p.get('axis') is not None)}",
    "prod": lambda _, p: f"ProdBackward{int(p.get('axis') is not None)}",
    "max": lambda _, p: "AmaxBackward0" if "axis" in p else "MaxBackward1",
    "min": lambda _, p: "AminBackward0" if "axis" in p else "MinBackward1",
    "remainder": lambda ab, _: f"RemainderBackward{int(not _is_number(ab[1]))}",
    "fmod": lambda ab, _: f"FmodBackward{int(not _is_number(ab[1]))}",
    "subtract": lambda ab, _: "RsubBackward1" if _is_number(ab[0]) else "SubBackward0",
    "power": _power,
    "float_power": _power,
    "getitem": _index,
    "setitem": lambda _, p: "CopySlices" if is_basic(p["index"]) else "IndexPutBackward0",
    "diag": lambda x, _: "DiagonalBackward0_copy" if np.ndim(x[0]) == 2 else "DiagEmbedBackward0",
    "matmul": _product,
    "replace": lambda _, p: p["node"],
    "clip": lambda _, p: f"ClampBackward{int(not p['sides'])}",
    "nll_loss": _classes,
    "squeeze": lambda _, p: (
        "SqueezeBackward" + {int: "1", tuple: "2"}.get(type(p.get("axis")), "0")
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
