import torch
from torch import nn, optim
from torch.nn import functional as F


class Net(nn.Module):
    def __init__(self):
        super(Net, self).__init__()
        self.fc1 = nn.Linear(4, 5)
        self.fc2 = nn.Linear(5, 3)

    def forward(self, x):
        x = F.relu(self.fc1(x))
        x = self.fc2(x)
        return x


torch.manual_seed(0)
net = Net()
with torch.no_grad():
    for p in net.parameters():
        nn.init.constant_(p, 0.1 * p.dim())
criterion = nn.CrossEntropyLoss()
optimizer = optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
x = torch.tensor([[1.0, 2.0, -1.0, 0.5], [0.1, -0.2, 0.3, 0.4]])
target = torch.tensor([0, 2])
for epoch in range(3):
    optimizer.zero_grad()
    output = net(x)
    loss = criterion(output, target)
    loss.backward()
    optimizer.step()
    print(epoch, f"{loss.item():.4f}")
for name, p in net.named_parameters():
    print(name, p.grad.norm().item())
