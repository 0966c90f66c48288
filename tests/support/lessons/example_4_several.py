import torch

x = torch.tensor(1.0, requires_grad=True)
w = torch.tensor(2.0, requires_grad=True)
b = torch.tensor(3.0, requires_grad=True)
y = w * x + b
y.backward()
grads = {"x": x.grad, "w": w.grad, "b": b.grad}
for name, g in grads.items():
    print(name, g.item())

t = torch.Tensor([1, 2])
t.requires_grad = True
s = t**2
s.backward(torch.ones_like(s))
print(t.grad)
