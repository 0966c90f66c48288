# A vector has no gradient until somebody says which combination of its entries is meant.
import torch

x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
y = x * 2
y.backward()
print("never reached")
