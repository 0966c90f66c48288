import torch
from torch import nn, optim

X = torch.tensor([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
y = torch.tensor([[0.0], [1.0], [1.0], [0.0]])
model = nn.Sequential(nn.Linear(2, 3), nn.Tanh(), nn.Linear(3, 1), nn.Sigmoid())
for i, p in enumerate(model.parameters()):
    nn.init.constant_(p, 0.1 * (i + 1))
opt = optim.Adam(model.parameters(), lr=0.05)
loss_fn = nn.BCELoss()
model.train()
losses = []
for step in range(4):
    pred = model(X)
    loss = loss_fn(pred, y)
    opt.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    opt.step()
    losses.append(loss.item())
print(losses)
print(model[0].weight.grad)
