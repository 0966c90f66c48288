import torch
import math


x = torch.linspace(-1, 1, 20)
y = torch.sin(x)
a = torch.full((), 0.1, requires_grad=True)
b = torch.full((), 0.2, requires_grad=True)
c = torch.full((), -0.1, requires_grad=True)
d = torch.full((), 0.3, requires_grad=True)
learning_rate = 1e-3
for t in range(5):
    y_pred = a + b * x + c * x**2 + d * x**3
    loss = (y_pred - y).pow(2).sum()
    if t % 2 == 1:
        print(t, loss.item())
    loss.backward()
    with torch.no_grad():
        a -= learning_rate * a.grad
        b -= learning_rate * b.grad
        c -= learning_rate * c.grad
        d -= learning_rate * d.grad
        a.grad = None
        b.grad = None
        c.grad = None
        d.grad = None
print(f"Result: y = {a.item()} + {b.item()} x + {c.item()} x^2 + {d.item()} x^3")
