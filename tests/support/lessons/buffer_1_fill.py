"""One backward call fills the buffer of the leaf."""

import torch

v = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
total = (v**2).sum()  # 1 + 4 + 9
print("total:", total.item())
total.backward()
print(v.grad)
# tensor([2., 4., 6.])
