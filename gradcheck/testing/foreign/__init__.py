"""Other people's functions, checked: PyTorch's, JAX's, HIPS autograd's."""
