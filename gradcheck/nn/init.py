"""PyTorch's `torch.nn.init`: parameters filled with a number, or from the seeded generator."""

from gradcheck.engine.factories import GENERATOR
from gradcheck.engine.initial import filling

_FUNCTIONS = filling(GENERATOR)
constant_ = _FUNCTIONS["constant_"]
zeros_ = _FUNCTIONS["zeros_"]
ones_ = _FUNCTIONS["ones_"]
eye_ = _FUNCTIONS["eye_"]
uniform_ = _FUNCTIONS["uniform_"]
normal_ = _FUNCTIONS["normal_"]
xavier_uniform_ = _FUNCTIONS["xavier_uniform_"]
xavier_normal_ = _FUNCTIONS["xavier_normal_"]
kaiming_uniform_ = _FUNCTIONS["kaiming_uniform_"]
kaiming_normal_ = _FUNCTIONS["kaiming_normal_"]
