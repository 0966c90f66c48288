import torch

x = torch.tensor(1.0, requires_grad=True)
y = 2 * x
z = y + 3
loss = z**2
loss.backward()

assert x.grad.item() == 20, "predict it first"
assert y.grad is None and z.grad is None
print("x.grad =", x.grad.item())
