"""What is said where the engine refuses: PyTorch's words, and ours."""

import re

import numpy as np

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
FROZEN_VIEW = (
    "this view was made in no_grad mode, or is one of several outputs of a function, and is being "
    "modified inplace: replace the inplace operation by an out-of-place one"
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


def explain_change(value: Value, origin: str, now: int, version: int) -> str:
    """PyTorch's words for a saved tensor that was overwritten, made by the node named `origin`."""
    bare_name = re.sub(r"Backward\d*$", "", origin)
    maker = "torch::autograd::CopySlices" if origin == "CopySlices" else bare_name
    made = f", which is output 0 of {maker}," if maker else ""
    return (
        "one of the variables needed for gradient computation has been modified by an inplace "
        f"operation: [torch.{kind(value)} {list(value.shape)}]{made} is at version {now}; expected "
        f"version {version} instead. Hint: enable anomaly detection to find the operation that "
        "failed to compute its gradient, with torch.autograd.set_detect_anomaly(True, "
        "check_nan=False)."
    )


def kind(value: Value) -> str:
    """`DoubleTensor`: what PyTorch calls an array of a dtype."""
    return f"{scalar_type(value)}Tensor"


def scalar_type(value: Value) -> str:
    """`Double`: what PyTorch calls the dtype of an array."""
    return SCALAR_TYPES.get(str(value.dtype), str(value.dtype))


def drop_defaults(kwargs: Params) -> dict[str, Value]:
    """Keywords that say more than NumPy's defaults."""
    said = {k: v for k, v in kwargs.items() if not (v is None or v is np._NoValue)}
    return {k: v for k, v in said.items() if not (k == "where" and v is True)}


def explain_refusal(ufunc: np.ufunc, method: str, kwargs: Params, no_row: bool) -> str:
    """Why a ufunc call cannot be followed, and what to write instead."""
    if no_row:
        return explain_unknown(ufunc)
    form = f"np.{ufunc.__name__}" + (f".{method}" if method != "__call__" else "")
    words = ", ".join(f"{key}=" for key in drop_defaults(kwargs))
    return (
        f"{form}{' with ' + words if words else ''} cannot be followed by the tape; "
        f"give the result of np.{ufunc.__name__}(...) a name instead, and choose with np.where"
    )


def explain_unknown(function: Routine) -> str:
    """No row for this function; where to see those that there are."""
    name = getattr(function, "__name__", str(function))
    theirs = "np." if hasattr(np, name) else ""
    return (
        f"gradcheck has no derivative for {theirs}{name}; `gradcheck ops` lists the functions it "
        "has, and t.detach() leaves the tape where no gradient is wanted"
    )


def explain_index(error: IndexError, ndim: int) -> str:
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


def explain_data(data: Value, value: Value) -> Exception:
    """The complaint about data that is no array of real numbers."""
    if value.dtype.kind == "c":
        return TypeError(f"a tensor holds real numbers; numpy dtype {value.dtype} came")
    odd = data
    while isinstance(odd, list | tuple) and odd:
        odd = odd[0]
    return RuntimeError(f"Could not infer dtype of {type(odd).__name__}")


def refuse_as_grad(tensor: Value, value: Value, is_tensor: bool) -> None:
    """PyTorch's checks on `t.grad = value`; raises TypeError or RuntimeError."""
    if not is_tensor:
        came = type(value).__name__
        raise TypeError(
            f"assigned grad expected to be a Tensor or None but got grad of type {came}"
        )
    if value is tensor:
        raise RuntimeError("can't assign Variable as its own grad")
    if value.shape != tensor.shape:
        raise RuntimeError(
            f"attempting to assign a gradient of size '{list(value.shape)}' to a tensor of size "
            f"'{list(tensor.shape)}'. Please ensure that the gradient and the tensor are the same "
            "size"
        )
    if value.dtype != tensor.dtype:
        raise RuntimeError(f"a {kind(tensor)} has no gradient of {value.dtype}")
