"""What NumPy's doors let through, and what is said where they do not: PyTorch's words, and ours."""

import re
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

NOT_A_LEAF = (
    "you can only change requires_grad flags of leaf variables. If you want to use a computed "
    "variable in a subgraph that doesn't require differentiation use var_no_grad = var.detach()."
)
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
NO_NUMPY = "Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead."
NO_ARRAY = (
    f"{NO_NUMPY} A plain array would forget how the tensor was made: write np.stack([a, b]) for "
    "np.array([a, b]), and build results instead of filling a buffer."
)
NO_FLOAT = (
    "A tensor that requires grad would become a plain number here and its gradient be lost "
    "(PyTorch only warns). Write np.sin(t) for math.sin(t), np.stack([a, b]) for a list of "
    "tensors, or t.item() where the number alone is meant."
)
NO_DEEPCOPY = (
    "Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol at "
    "the moment.  If you were attempting to deepcopy a module, this may be because of a "
    "torch.nn.utils.weight_norm usage, see https://github.com/pytorch/pytorch/pull/103001"
)

SCALAR_TYPES = {
    "float64": "Double", "float32": "Float", "float16": "Half", "int64": "Long", "int32": "Int",
    "int16": "Short", "int8": "Char", "uint8": "Byte", "bool": "Bool",
}  # fmt: skip

OPERATORS = {
    "add": "add",
    "sub": "subtract",
    "mul": "multiply",
    "truediv": "divide",
    "pow": "power",
    "matmul": "matmul",
}
UNARY = {"neg": "negative", "abs": "absolute"}
REDUCTIONS: dict[Any, str] = {
    np.add: "sum",
    np.multiply: "prod",
    np.maximum: "max",
    np.minimum: "min",
}

# Functions whose answer has no derivative: they see the bare values and give plain arrays.
PLAIN: set[Callable[..., Any]] = {
    np.shape, np.ndim, np.size, np.argmax, np.argmin, np.argsort, np.zeros_like, np.ones_like,
    np.empty_like, np.full_like, np.allclose, np.isclose, np.array_equal, np.any, np.all,
    np.count_nonzero, np.nonzero, np.searchsorted, np.result_type, np.iscomplexobj, np.isrealobj,
    np.isfinite, np.isnan, np.isinf, np.greater, np.greater_equal, np.less, np.less_equal,
    np.equal, np.not_equal, np.logical_and, np.logical_or, np.logical_not, np.signbit,
    np.broadcast_shapes, np.array_repr, np.array_str, np.argwhere, np.flatnonzero, np.floor_divide,
}  # fmt: skip


def changed(value: Any, origin: str, now: int, version: int) -> str:
    """PyTorch's words for a saved tensor that was overwritten, made by the node named `origin`."""
    maker = "torch::autograd::CopySlices" if origin == "CopySlices" else bare_name(origin)
    made = f", which is output 0 of {maker}," if maker else ""
    return (
        "one of the variables needed for gradient computation has been modified by an inplace "
        f"operation: [torch.{kind(value)} {list(value.shape)}]{made} is at version {now}; expected "
        f"version {version} instead. Hint: enable anomaly detection to find the operation that "
        "failed to compute its gradient, with torch.autograd.set_detect_anomaly(True, "
        "check_nan=False)."
    )


def bare_name(node: str) -> str:
    """`Mul` for `MulBackward0`."""
    return re.sub(r"Backward\d*$", "", node)


def kind(value: Any) -> str:
    """`DoubleTensor`: what PyTorch calls an array of a dtype."""
    return f"{SCALAR_TYPES.get(str(value.dtype), '').replace(' ', '')}Tensor"


def without_defaults(kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """Keywords that say more than NumPy's defaults."""
    return {
        key: value
        for key, value in kwargs.items()
        if not (value is None or value is np._NoValue or (key == "where" and value is True))
    }


def refused(ufunc: np.ufunc, method: str, kwargs: Mapping[str, Any], no_row: bool) -> str:
    """Why a ufunc call cannot be followed, and what to write instead."""
    if no_row:
        return unknown(ufunc)
    form = f"np.{ufunc.__name__}" + (f".{method}" if method != "__call__" else "")
    words = ", ".join(f"{key}=" for key in without_defaults(kwargs))
    return (
        f"{form}{' with ' + words if words else ''} cannot be followed by the tape; "
        f"give the result of np.{ufunc.__name__}(...) a name instead, and choose with np.where"
    )


def unknown(function: Callable[..., Any]) -> str:
    """No row for this function; where to see those that there are."""
    name = getattr(function, "__name__", str(function))
    return (
        f"gradcheck has no derivative for np.{name}; `gradcheck ops` lists the functions it has, "
        "and t.detach() leaves the tape where no gradient is wanted"
    )


def refuse_as_grad(tensor: Any, value: Any, is_tensor: bool) -> None:
    """PyTorch's checks on `t.grad = value`; raises TypeError or RuntimeError."""
    if not is_tensor:
        raise TypeError(
            "assigned grad expected to be a Tensor or None but got grad of type "
            f"{type(value).__name__}"
        )
    if value.shape != tensor.shape:
        raise RuntimeError(
            f"attempting to assign a gradient of size '{list(value.shape)}' to a tensor of size "
            f"'{list(tensor.shape)}'. Please ensure that the gradient and the tensor are the same "
            "size"
        )


def index_error(error: IndexError, ndim: int) -> str:
    """PyTorch's words for NumPy's complaint about an index."""
    text = str(error)
    if ndim == 0:
        return (
            "invalid index of a 0-dim tensor. Use `tensor.item()` in Python or `tensor.item<T>()` "
            "in C++ to convert a 0-dim tensor to a number"
        )
    if text.startswith("too many indices"):
        return f"too many indices for tensor of dimension {ndim}"
    return text.replace("for axis", "for dimension")
