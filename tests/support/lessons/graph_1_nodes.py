import torch

w = torch.tensor(3.0, requires_grad=True)
x = torch.tensor(2.0, requires_grad=True)
b = torch.tensor(1.0, requires_grad=True)

z = w * x
y = z + b
loss = y**2
print(w.is_leaf, w.grad_fn)
print(z.is_leaf, z.grad_fn.name(), y.grad_fn.name(), loss.grad_fn.name())

z.retain_grad()
y.retain_grad()
loss.backward()
print("dw, dx, db:", w.grad, x.grad, b.grad)
print("dz, dy:", z.grad, y.grad)
