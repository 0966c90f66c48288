import torch
from torch import nn, optim


class Net(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.first = nn.Linear(2, width)
        self.act = nn.Tanh()
        self.scale = nn.Parameter(torch.ones(1))

    def forward(self, x):
        h = self.act(self.first(x))
        return self.scale * h.sum(dim=1)


net = Net(width=3)
with torch.no_grad():
    net.first.weight.copy_(torch.tensor([[0.1, -0.2], [0.3, 0.4], [-0.5, 0.2]]))
    net.first.bias.zero_()
optimizer = optim.SGD(net.parameters(), lr=0.05)
X = torch.tensor([[1.0, 2.0], [-1.0, 0.5], [0.3, -0.7]])
target = torch.tensor([0.5, -0.5, 0.1])
history = []
for epoch in range(3):
    optimizer.zero_grad()
    loss = ((net(X) - target) ** 2).mean()
    loss.backward()
    optimizer.step()
    history.append(loss.detach())
print(torch.stack(history))
print(len(list(net.parameters())), net.scale.grad)
