import torch
import torch.nn as nn
import torch.nn.functional as F

words = torch.tensor([0, 2])
labels = torch.tensor([0, 1])
emb = nn.Embedding(3, 3)
cell = nn.GRUCell(3, 2)
lstm = nn.LSTMCell(3, 2)
norm = nn.LayerNorm(2)
conv = nn.Conv1d(1, 2, 2)
bn = nn.BatchNorm1d(2)
with torch.no_grad():
    emb.weight.copy_(torch.tensor([[0.1, 0.2, 0.3], [0.4, -0.5, 0.6], [0.7, 0.8, -0.9]]))
    for layer in [cell, lstm, conv]:
        for i, p in enumerate(layer.parameters()):
            p.copy_(torch.linspace(-0.4, 0.5 + 0.1 * i, p.numel()).reshape(p.shape))

h = torch.zeros(2, 2)
for step in range(2):
    h = cell(emb(words), h)
h2, c2 = lstm(emb(words))
y = norm(h * 20 + h2) + c2
z = conv(y.unsqueeze(1)).sum(dim=2) + bn(y)
best = torch.max(z, dim=1)
loss = F.cross_entropy(z, labels) + best.values.sum()
loss = loss + (F.one_hot(words, 3) * emb(words)).sum()
loss.backward()
print(loss.item())
print(emb.weight.grad)
print(cell.weight_hh.grad)
print(conv.weight.grad)
