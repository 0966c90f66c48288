"""A Function of one's own: what forward keeps, and what backward makes of the incoming gradient."""

import torch


class Square(torch.autograd.Function):
    """y = x**2."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**2

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return 2 * x * grad_output


square = Square.apply
x = torch.tensor([1.0, -2.0, 3.0], requires_grad=True)
y = square(x)
print(y.requires_grad, y.grad_fn is not None)
(3 * y).sum().backward()
print(x.grad)
