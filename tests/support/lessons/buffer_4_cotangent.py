import torch

x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
y = x**2
weights = torch.tensor([0.1, 1.0, 0.01])
y.backward(gradient=weights)
print(x.grad)
x.grad.zero_()
y = x**2
y.backward(torch.ones_like(y))
print("-" * 20)
print(x.grad, x.grad.shape)
