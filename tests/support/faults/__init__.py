"""Classic faults of hand-written backward passes, each with the ids that may name it."""

from tests.support.faults.dense import CROSS_ENTROPY, EMBEDDING, MLP, RESIDUAL, SOFTMAX
from tests.support.faults.net import Inputs, Net, Pick
from tests.support.faults.norms import BATCH_NORM, LAYER_NORM
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
}

__all__ = ["NETS", "Inputs", "Net", "Pick"]
