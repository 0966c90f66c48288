import torch

x = torch.tensor(2.0, requires_grad=True)

(x**2).backward()
print(f"after the first call: {x.grad.item()}")

(x**3).backward()
print(f"after the second call: {x.grad.item():.1f}")  # 4 + 12, nobody cleared

x.grad = None
(x**3).backward()
print("cleared in between:", x.grad)
"""
after the first call: 4.0
after the second call: 16.0
"""
