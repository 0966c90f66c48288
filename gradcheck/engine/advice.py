"""What the engine says: PyTorch's words and ours where it refuses, how it prints, names of nodes.

PyTorch's texts are those of its default dtype set to float64.
"""

import math
import re
import sys
import warnings
from collections.abc import Callable, Sequence
from itertools import combinations
from typing import Self

import numpy as np

from gradcheck.ops.row import Op
from gradcheck.ops.shapes import is_basic
from gradcheck.values import Params, Routine, Value

PLAIN_PARAMETER = "{name} takes plain numbers there, not a tensor: write .item() or .tolist()"
COMPLEX = "complex numbers are not followed here; give the real and the imaginary part apart"
NOT_A_LEAF = (
    "you can only change requires_grad flags of leaf variables. If you want to use a computed "
    "variable in a subgraph that doesn't require differentiation use var_no_grad = var.detach()."
)
NO_DETACHING = "Can't detach views in-place. Use detach() instead."
NO_RETAINING = "can't retain_grad on Tensor that has requires_grad=False"
NON_LEAF_GRAD = (
    "The .grad attribute of a Tensor that is not a leaf Tensor is being accessed. Its .grad "
    "attribute won't be populated during autograd.backward(). If you indeed want the .grad field "
    "to be populated for a non-leaf Tensor, use .retain_grad() on the non-leaf Tensor. If you "
    "access the non-leaf Tensor by mistake, make sure you access the leaf Tensor instead. "
    "See github.com/pytorch/pytorch/pull/30531 for more information."
)
FREED = (
    "Trying to backward through the graph a second time (or directly access saved tensors after "
    "they have already been freed). Saved intermediate values of the graph are freed when you call "
    ".backward() or autograd.grad(). Specify retain_graph=True if you need to backward through the "
    "graph a second time or if you need to access saved tensors after calling backward."
)
NO_TRUTH = "Boolean value of Tensor with no values is ambiguous"
AMBIGUOUS = "Boolean value of Tensor with more than one value is ambiguous"
LEAF_WRITTEN = "a leaf Variable that requires grad is being used in an in-place operation."
OVERLAP = (
    "unsupported operation: some elements that are read or written share their memory. "
    "Please clone() the tensor before performing the operation."
)
NO_NUMPY = "Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead."
NO_ARRAY = (
    f"{NO_NUMPY} A plain array would forget how the tensor was made: write np.stack([a, b]) for "
    "np.array([a, b]); a buffer that may hold tensors is gradcheck.zeros(3)."
)
NO_BACKWARD = (
    "You must implement either the backward or vjp method for your custom autograd.Function to use "
    "it with backward mode AD."
)
NO_FORWARD = "You must implement the forward function for custom autograd.Function."
NO_COPY = (
    "a copy of a tensor that requires grad would forget how it was made (PyTorch only warns); "
    "write t.clone() to stay on the tape, or t.detach().clone() to leave it"
)
CYCLE = (
    "Using backward() with create_graph=True will create a reference cycle between the parameter "
    "and its gradient which can cause a memory leak. We recommend using autograd.grad when "
    "creating the graph to avoid this. If you have to use this function, make sure to reset the "
    ".grad fields of your parameters to None after use to break the cycle and avoid the leak."
)
NO_FLOAT = (
    "A tensor that requires grad would become a plain number here and its gradient be lost "
    "(PyTorch only warns). Write np.sin(t) for math.sin(t), np.stack([a, b]) for a list of "
    "tensors, or t.item() where the number alone is meant."
)
NO_DEEPCOPY = "only leaves can be copied or pickled: write t.clone(), or t.detach().clone()"

SCALAR_TYPES = {
    "float64": "Double", "float32": "Float", "float16": "Half", "int64": "Long", "int32": "Int",
    "int16": "Short", "int8": "Char", "uint8": "Byte", "bool": "Bool",
}  # fmt: skip


def warn(said: str) -> None:
    """Warn where the program is: what is compiled has no frame of its own."""
    level, frame = 2, sys._getframe(1)
    while frame.f_back and str(frame.f_globals.get("__name__")).startswith("gradcheck."):
        level, frame = level + 1, frame.f_back
    warnings.warn(said, UserWarning, stacklevel=level)


def explain_change(value: Value, origin: str, now: int, version: int) -> str:
    """PyTorch's words for a saved tensor that was overwritten, made by the node named `origin`."""
    bare_name = re.sub(r"Backward\d*$", "", origin)
    maker = "torch::autograd::CopySlices" if origin == "CopySlices" else bare_name
    made = f", which is output 0 of {maker}," if maker else ""
    return (
        "one of the variables needed for gradient computation has been modified by an inplace "
        f"operation: [torch.{name_kind(value)} {list(value.shape)}]{made} is at version {now}; "
        f"expected version {version} instead. Hint: enable anomaly detection to find the operation "
        "that failed to compute its gradient, with torch.autograd.set_detect_anomaly(True, "
        "check_nan=False)."
    )


def name_kind(value: Value) -> str:
    """`DoubleTensor`: what PyTorch calls an array of a dtype."""
    return f"{name_scalar_type(value)}Tensor"


def name_scalar_type(value: Value) -> str:
    return SCALAR_TYPES.get(str(value.dtype), str(value.dtype))


def drop_defaults(kwargs: Params) -> dict[str, Value]:
    said = {k: v for k, v in kwargs.items() if not (v is None or v is np._NoValue)}
    return {k: v for k, v in said.items() if not (k == "where" and v is True)}


def explain_refusal(ufunc: np.ufunc, method: str, said: Params) -> str:
    form = f"np.{ufunc.__name__}" + (f".{method}" if method != "__call__" else "")
    words = ", ".join(f"{key}=" for key in said)
    return (
        f"{form}{' with ' + words if words else ''} cannot be followed by the tape; "
        f"give the result of np.{ufunc.__name__}(...) a name instead, and choose with np.where"
    )


def explain_unknown(function: Routine) -> str:
    name = getattr(function, "__name__", str(function))
    theirs = "np." if hasattr(np, name) else ""
    return (
        f"gradcheck has no derivative for {theirs}{name}; `gradcheck ops` lists the functions it "
        "has, and t.detach() leaves the tape where no gradient is wanted"
    )


def explain_index(error: IndexError, ndim: int) -> str:
    text = str(error)
    if ndim == 0:
        return (
            "invalid index of a 0-dim tensor. Use `tensor.item()` in Python or `tensor.item<T>()` "
            "in C++ to convert a 0-dim tensor to a number"
        )
    if text.startswith("too many indices"):
        return f"too many indices for tensor of dimension {ndim}"
    return text.replace("for axis", "for dimension")


def _double(kind: type[Exception]) -> type[Exception]:
    """An error of PyTorch's kind that is NumPy's ValueError too, and is told as the former."""
    plain = lambda error: (kind, error.args)  # as what is sent to another process
    return type(kind.__name__, (kind, ValueError), {"__module__": "builtins", "__reduce__": plain})


ShapeError, AxisError = map(_double, (RuntimeError, IndexError))


def explain_shapes(op: str, values: Sequence[Value], params: Params, error: Exception) -> Exception:
    """PyTorch's words where NumPy refuses shapes or an axis; any other error as it is."""
    if isinstance(error, np.exceptions.AxisError) and (end := error.ndim):
        bounds = f"expected to be in range of [{-end}, {end - 1}], but got {error.axis}"
        return AxisError(f"Dimension out of range ({bounds})")
    if type(error) is not ValueError:
        return error
    said, (first, *others) = str(error), [np.shape(v) for v in values]
    if op == "matmul" and "broadcast" not in said:
        first = first if len(others[0]) != 2 else (math.prod(first[:-1]), *first[-1:])
        sizes = " and ".join("x".join(map(str, shape)) for shape in (first, *others))
        said = f"mat1 and mat2 shapes cannot be multiplied ({sizes})"
    elif op == "reshape":
        asked = np.ravel(params["shape"]).tolist()
        said = f"shape '{asked}' is invalid for input of size {math.prod(first)}"
    elif op == "stack" and (odd := [k for k, s in enumerate(others) if s != first]):
        said = f"stack expects each tensor to be equal size, but got {list(first)} at entry 0 "
        said += f"and {list(others[odd[0]])} at entry {odd[0] + 1}"
    elif op == "concatenate" and first and {*map(len, others)} == {len(first)}:
        along = params.get("axis", 0) % len(first)
        rest = [axis for axis in range(len(first)) if axis != along]
        off = ((k, first[a], s[a]) for k, s in enumerate(others, 1) for a in rest)
        k, due, came = next((each for each in off if each[1] != each[2]), (0, 0, 0))
        said = f"Sizes of tensors must match except in dimension {along}. Expected size {due} "
        said += f"but got size {came} for tensor number {k} in the list."
    elif "broadcast together with shapes" in said:
        for a, b in combinations([first, *others], 2):
            for k in range(1, min(len(a), len(b)) + 1):
                if a[-k] != b[-k] and 1 not in (a[-k], b[-k]):
                    said = f"The size of tensor a ({a[-k]}) must match the size of tensor b "
                    said += f"({b[-k]}) at non-singleton dimension {max(len(a), len(b)) - k}"
                    return ShapeError(said)
    return ShapeError(said)


def explain_data(data: Value, value: Value) -> Exception:
    if value.dtype.kind == "c":
        return TypeError(f"a tensor holds real numbers; numpy dtype {value.dtype} came")
    odd = data
    while isinstance(odd, list | tuple) and odd:
        odd = odd[0]
    return RuntimeError(f"Could not infer dtype of {type(odd).__name__}")


def expect_grad(kind: type[Value], like: Value, g: Value) -> None:
    """Raises RuntimeError for what is no gradient of such numbers: a hook's, or `t.grad = g`."""
    if type(g) is kind and g.shape != like.shape:
        raise RuntimeError(
            f"attempting to assign a gradient of size '{list(g.shape)}' to a tensor of size "
            f"'{list(like.shape)}'. Please ensure that the gradient and the tensor are the same "
            "size"
        )
    if type(g) is not kind or g.dtype != like.dtype:
        due = f"a tensor of {like.dtype} and size {list(like.shape)}"
        raise RuntimeError(f"a gradient here is None or {due}; this came: {g!r}")


# -- a tensor as it is printed ---------------------------------------------------------------------

PRECISION = 4
THRESHOLD = 1000
EDGE = 3
WIDTH = 80
INDENT = len("tensor(")


class TorchSize(tuple[int, ...]):
    __slots__ = ()

    def __repr__(self) -> str:
        return f"torch.Size({list(self)})"


class EntryCount(int):
    """How many entries a tensor has (NumPy's `x.size`); called, PyTorch's `x.size()`: its shape."""

    def __new__(cls, count: int, shape: tuple[int, ...]) -> Self:
        made = super().__new__(cls, count)
        made.shape = TorchSize(shape)
        return made

    shape: TorchSize

    def __call__(self, dim: int | None = None) -> Value:
        return self.shape if dim is None else self.shape[dim]


def show(value: Value, grad_fn: str, requires_grad: bool) -> str:
    """`tensor([1., 2.], requires_grad=True)`, `tensor(2., grad_fn=<MulBackward0>)`."""
    array = np.asarray(value)
    suffixes = []
    if array.size == 0 and array.ndim != 1:
        suffixes.append(f"size=({', '.join(map(str, array.shape))})")
    usual = (np.float64, np.int64, np.bool_) if array.size else (np.float64,)
    if array.dtype not in usual:
        suffixes.append(f"dtype=torch.{array.dtype}")
    if grad_fn:
        suffixes.append(f"grad_fn=<{grad_fn}>")
    elif requires_grad:
        suffixes.append("requires_grad=True")
    text = f"tensor({_print_entries(array)}"
    for suffix in suffixes:  # on a new line where the old one is full
        column = len(text) - (text.rfind("\n") + 1)
        full = column + len(suffix) + 3 > WIDTH
        text += (",\n" + " " * INDENT if full else ", ") + suffix
    return f"{text})"


def _print_entries(array: Value) -> str:
    if array.size == 0:
        return "[]"
    short = array.size > THRESHOLD
    shown = array[np.ix_(*map(_pick_corners, array.shape))] if short else array
    form: Callable[[Value], str] = str
    deciding = shown  # zeros, nan and inf have no say in the width
    if array.dtype.kind == "f":
        form, deciding = _choose_form(shown), shown[np.isfinite(shown) & (shown != 0)]
    width = max((len(form(v)) for v in deciding.ravel()), default=1) if array.ndim else 0
    return _print_rows(array, lambda entry: form(entry).rjust(width), width, INDENT, short)


def _pick_corners(length: int) -> list[int]:
    if length <= 2 * EDGE:
        return list(range(length))
    return [*range(EDGE), *range(length - EDGE, length)]


def _print_rows(
    array: Value, write: Callable[[Value], str], width: int, indent: int, short: bool
) -> str:
    """Nested rows; long axes of a large tensor abbreviated to three entries on each side."""
    if array.ndim == 0:
        return write(array[()])
    positions = _pick_corners(len(array)) if short else range(len(array))
    texts = [_print_rows(array[i], write, width, indent + 1, short) for i in positions]
    if len(positions) < len(array):
        texts.insert(EDGE, " ..." if array.ndim == 1 else "...")
    margin = " " * (indent + 1)
    if array.ndim > 1:
        between = "," + "\n" * (array.ndim - 1) + margin
        return f"[{between.join(texts)}]"
    count = max(1, (WIDTH - indent) // (width + 2))  # as many a line as fit
    lines = [", ".join(texts[i : i + count]) for i in range(0, len(texts), count)]
    return f"[{(',' + chr(10) + margin).join(lines)}]"


def _choose_form(array: Value) -> Callable[[Value], str]:
    """The choice between `1.`, `1.5000` and `1.0000e+10`."""
    finite = np.abs(array[np.isfinite(array) & (array != 0)].astype(np.float64))
    form = "{:.0f}."
    if finite.size:
        low, high = float(finite.min()), float(finite.max())
        whole = bool(np.all(finite == np.ceil(finite)))
        if high / low > 1000.0 or high > 1.0e8 or (not whole and low < 1.0e-4):
            form = f"{{:.{PRECISION}e}}"
        elif not whole:
            form = f"{{:.{PRECISION}f}}"
    return lambda v: form.format(v) if math.isfinite(v) else str(float(v))


# -- nodes: `MulBackward0` for `multiply`, and which of several it is ------------------------------

Operands = tuple[Value, ...]

ALIKE = {
    "Lgamma": "loggamma", "Elu": "selu", "LogSigmoid": "logsigmoid",
    "Div": "divide", "Mul": "multiply outer", "Sub": "subtract", "Clamp": "clip",
    "Neg": "negative", "Pow": "power float_power square", "Gather": "take_along_axis",
    "IndexPut": "scatter", "LinalgDet": "det", "LinalgSlogdet": "logabsdet signdet",
    "LinalgInvEx": "inv", "LinalgSolveEx": "solve", "LinalgCholeskyEx": "cholesky",
    "LinalgCross": "cross", "LinalgEigh": "eigvalsh eigenvectors", "LinalgPinv": "pinv",
    "LinalgSvd": "svdvals left_singular_vectors right_singular_vectors", "Abs": "absolute",
    "LinalgVectorNorm": "norm", "View": "repeat einsum reshape ravel atleast_1d",
    "Asinh": "arcsinh", "Acosh": "arccosh", "Atanh": "arctanh", "Cat": "concatenate",
    "Repeat": "tile", "Round": "rint", "ConstantPadNd": "pad", "IndexSelect": "take",
    "Permute": "transpose moveaxis", "Transpose": "swapaxes matrix_transpose",
    "Unsqueeze": "expand_dims atleast_2d atleast_3d", "Expand": "broadcast_to", "Clone": "copy",
    "Flip": "flipud fliplr", "Asin": "arcsin", "Acos": "arccos", "Atan": "arctan",
    "Atan2": "arctan2", "Deg2Rad": "radians", "Rad2Deg": "degrees",
}  # fmt: skip
"""PyTorch's names that are not ours, and the rows that they stand for."""
KNOWN = {row: name for name, rows in ALIKE.items() for row in rows.split()}


def _is_number(operand: Value) -> bool:
    """Whether an operand is a constant of the program's text, as PyTorch's names tell apart."""
    return operand is None or type(operand) in (int, float)


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


def _name_product(operands: Operands, params: Params) -> str:
    names = {"12": "Squeeze", "11": "Dot", "21": "Mv", "22": "Mm", "33": "Bmm"}
    ranks = "".join(str(np.ndim(each)) for each in operands)
    return f"{names.get(ranks, 'UnsafeView')}Backward{4 if ranks == '12' else 0}"


def _name_classes(operands: Operands, params: Params) -> str:
    if params["labels"] is None:
        return "DivBackward1" if params["reduction"] == "mean" else "NegBackward0"
    return f"NllLoss{'2D' if params['labels'] > 1 else ''}Backward0"


VARYING: dict[str, Callable[[Operands, Params], str | int]] = {
    **dict.fromkeys(("sum", "mean", "prod"), lambda _, p: int(p.get("axis") is not None)),
    **dict.fromkeys(("remainder", "fmod"), lambda ab, _: int(not _is_number(ab[1]))),
    **dict.fromkeys(
        ("power", "float_power"),
        lambda ab, _: 0 if _is_number(ab[1]) else 2 if _is_number(ab[0]) else 1,
    ),
    **dict.fromkeys(("floor_divide", "heaviside"), lambda ab, _: "NotImplemented"),
    "max": lambda _, p: "AmaxBackward0" if "axis" in p else 1,
    "min": lambda _, p: "AminBackward0" if "axis" in p else 1,
    "subtract": lambda ab, _: "RsubBackward1" if _is_number(ab[0]) else 0,
    "getitem": _name_index,
    "setitem": lambda _, p: "CopySlices" if is_basic(p["index"]) else "IndexPutBackward0",
    "diag": lambda x, _: "DiagonalBackward0_copy" if np.ndim(x[0]) == 2 else "DiagEmbedBackward0",
    "matmul": _name_product,
    "replace": lambda _, p: p["node"],
    "clip": lambda xs, _: int(all(map(_is_number, xs[1:]))),
    "nll_loss": _name_classes,
    "squeeze": lambda _, p: {int: 1, tuple: 2}.get(type(p.get("axis")), 0),
}
"""Rows with several nodes in PyTorch, by operands and parameters: which one, or another name."""


def name_node(row: Op, operands: Operands, params: Params) -> str:
    if row.grad_fn:
        return row.grad_fn
    number = VARYING[row.name](operands, params) if row.name in VARYING else 0
    name = KNOWN.get(row.name) or row.name.title().replace("_", "")
    return number if isinstance(number, str) else f"{name}Backward{number}"
