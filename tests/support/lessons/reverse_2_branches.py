"""The graph is made anew at each call: an ordinary `if` is enough."""

import torch


def f(x, branch):
    """One of two functions."""
    if branch == "polynomial":
        return x**3 - x
    return x * torch.sin(x)


x = torch.tensor(2.0, requires_grad=True)
f(x, branch="polynomial").backward()
print("polynomial:", x.grad)  # 11

x.grad = None
f(x, "sine").backward()
print("sine:", x.grad)
