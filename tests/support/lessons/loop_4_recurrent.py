import torch

torch.manual_seed(1)
T, n = 3, 2
Wx = torch.tensor([[0.1, -0.2], [0.3, 0.4]], requires_grad=True)
Wh = torch.tensor([[0.5, 0.1], [-0.1, 0.2]], requires_grad=True)
xs = [torch.tensor([1.0, -1.0]), torch.tensor([0.5, 0.2]), torch.tensor([-0.3, 0.8])]
h = torch.zeros(n)
for x in xs:
    h = torch.tanh(Wx @ x + Wh @ h)
loss = h.pow(2).sum()
loss.backward()
print(Wx.grad)
print(Wh.grad)
assert Wx.grad.shape == (2, 2)
v = torch.arange(6, dtype=torch.float32).reshape(2, 3).requires_grad_()
s = torch.softmax(v, dim=-1)
s[:, 0].sum().backward()
print(v.grad)
