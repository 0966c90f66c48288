import torch

x = torch.tensor(3.0, requires_grad=True)
f = x**2 + 2 * x + 1
f.backward()
print("f(3) =", f.item())
print("f'(3) =", x.grad.item())
