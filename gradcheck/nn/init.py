"""PyTorch's `torch.nn.init`: parameters filled with a number, or from the seeded generator."""

from gradcheck.engine.factories import GENERATOR, make_fillers

globals().update(make_fillers(GENERATOR))
