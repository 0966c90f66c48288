import torch

x = torch.tensor(2.0, requires_grad=True)
y = x**3 + 2 * x**2
print(y.item())
print(torch.autograd.grad(y, x))  # (tensor(20.),)
print(x.grad)

z = torch.tensor(2.0, requires_grad=True)
q = z**2 + 3 * z + 5
q.backward()
print(q.item(), z.grad.item())
