import torch

X = torch.tensor([[1.0, 0.5, -1.0], [0.0, 2.0, 1.0], [1.5, -0.5, 0.0], [-1.0, 1.0, 2.0]])
target = torch.zeros(4, 2)
W = torch.tensor([[0.1, -0.2], [0.3, 0.4], [-0.5, 0.2]], requires_grad=True)
b = torch.zeros(2, requires_grad=True)

prediction = X @ W + b
loss = ((prediction - target) ** 2).mean()
loss.backward()
print(loss)
print(W.grad)
print(W.grad.shape, b.grad.shape)
# torch.Size([3, 2]) torch.Size([2])
