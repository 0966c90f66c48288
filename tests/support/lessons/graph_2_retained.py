import torch

x = torch.tensor(2.0, requires_grad=True)
y = x**3
y.backward(retain_graph=True)
print(x.grad)  # 12
y.backward()
print(x.grad)  # 24
