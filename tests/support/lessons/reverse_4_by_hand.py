import torch


def by_hand(x):
    return 3 * x**2 + 2 * torch.cos(x)


for value in [-1.0, 0.5, 2.0]:
    x = torch.tensor(value, requires_grad=True)
    y = x**3 + 2 * torch.sin(x)
    y.backward()
    difference = (x.grad - by_hand(x)).abs().item()
    print(f"x = {value:5.2f}   autograd {x.grad.item():8.4f}   apart {difference:.1e}")
    assert difference < 1e-5
