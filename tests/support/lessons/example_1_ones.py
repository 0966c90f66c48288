import torch

x = torch.ones(3, 3, requires_grad=True)
y = (x + 5) ** 2
out = y.mean()
print("out:", out)  # 36
out.backward()
print(x.grad)  # 4/3 everywhere

a = torch.ones(2, 2)
a.requires_grad_(True)
b = a + 2
c = (b * b).sum()
c.backward()
print(c.item(), a.grad, a.size())
