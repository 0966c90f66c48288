"""Classic faults of hand-written backward passes, each with the ids that may name it."""

from tests.support.faults.dense import CROSS_ENTROPY, EMBEDDING, MLP, RESIDUAL, SOFTMAX
from tests.support.faults.fourth import (
    DENSE,
    LEAKY,
    LINEAR_NORM,
    MEMORY,
    PLANE,
    ROOT_MEAN,
    SMOOTHED,
    TAGGED,
    WARM,
)
from tests.support.faults.net import Inputs, Net, Pick
from tests.support.faults.norms import BATCH_NORM, LAYER_NORM
from tests.support.faults.third import (
    BAG,
    CAUSAL,
    CHANNELS,
    DECAYED,
    GATED,
    LABELLED,
    OVERLAPPING,
    RECIPROCAL,
    STRIDED,
)
from tests.support.faults.windows import ATTENTION, CONVOLUTION, MAX_POOL, MEAN_POOL

NETS = {
    "perceptron": MLP,
    "softmax cross-entropy": CROSS_ENTROPY,
    "softmax, then log": SOFTMAX,
    "layer norm": LAYER_NORM,
    "batch norm": BATCH_NORM,
    "attention": ATTENTION,
    "convolution": CONVOLUTION,
    "max pooling": MAX_POOL,
    "mean pooling": MEAN_POOL,
    "embedding": EMBEDDING,
    "residual net": RESIDUAL,
    "perceptron with decay": DECAYED,
    "cross-entropy of labels": LABELLED,
    "layer norm by reciprocals": RECIPROCAL,
    "batch norm of signals": CHANNELS,
    "causal attention": CAUSAL,
    "strided convolution": STRIDED,
    "overlapping max pooling": OVERLAPPING,
    "bags of words": BAG,
    "gated net": GATED,
    "leaky classifier": LEAKY,
    "softmax with a temperature": WARM,
    "root mean square norm": ROOT_MEAN,
    "batch norm behind a layer": LINEAR_NORM,
    "attention to a memory": MEMORY,
    "convolution of an image": PLANE,
    "smoothed maximum": SMOOTHED,
    "words with positions": TAGGED,
    "dense block": DENSE,
}

__all__ = ["NETS", "Inputs", "Net", "Pick"]
