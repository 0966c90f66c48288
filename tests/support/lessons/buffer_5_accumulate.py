"""Eight small batches, a step after every fourth: the same as two large ones."""

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(10, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
criterion = nn.MSELoss()
accumulation_steps = 4

optimizer.zero_grad()
for i in range(8):
    inputs = torch.randn(16, 10)
    targets = torch.randn(16, 2)
    loss = criterion(model(inputs), targets) / accumulation_steps
    loss.backward()
    if (i + 1) % accumulation_steps == 0:
        optimizer.step()
        optimizer.zero_grad()
        print(f"step after batch {i + 1}")
