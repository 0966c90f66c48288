# Five steps without and with clearing: the norms part after the first one.
import torch


def train(clear, steps=5, lr=0.1):
    w = torch.tensor([1.0, -2.0], requires_grad=True)
    norms = []
    for step in range(steps):
        loss = (w**2).sum()
        loss.backward()
        with torch.no_grad():
            w -= lr * w.grad
        if clear:
            w.grad = None
        norms.append(w.norm().item())
    return norms


kept = train(clear=False)
cleared = train(clear=True)
for k, (a, b) in enumerate(zip(kept, cleared)):
    print(k, f"{a:.4f}", f"{b:.4f}")
assert kept[0] == cleared[0], "the first step is the same"
