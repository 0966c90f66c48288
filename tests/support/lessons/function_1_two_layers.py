from torch import tensor

x = tensor([1.0, 2.0])
W1 = tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
W2 = tensor([[2.0, 3.0], [4.0, 2.0]], requires_grad=True)

hidden = W1 @ x
out = W2 @ hidden
out.sum().backward()
print(hidden, out, out.sum().item())
print(W1.grad)
print(W2.grad)
