"""A small network is trained the way first versions do it: batches come from pageable memory, each
copy blocks, and the loss is read in every step."""
import time

import torch

STEPS, BATCH = 60, 128
images = torch.rand(8, BATCH, 3, 96, 96)
labels = torch.randint(10, (8, BATCH))
device = torch.device("cuda")
model = torch.nn.Sequential(
    torch.nn.Conv2d(3, 32, 5, stride=2), torch.nn.ReLU(),
    torch.nn.Conv2d(32, 64, 3, stride=2), torch.nn.ReLU(),
    torch.nn.AdaptiveAvgPool2d(4), torch.nn.Flatten(), torch.nn.Linear(1024, 10)).to(device)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)


def train_step(step):
    batch = images[step % 8].to(device)
    target = labels[step % 8].to(device)
    optimizer.zero_grad()
    loss = torch.nn.functional.cross_entropy(model(batch), target)
    loss.backward()
    optimizer.step()
    return loss.item()


for step in range(10):  # warm up
    train_step(step)
torch.cuda.synchronize()
began = time.perf_counter()
with torch.cuda.nvtx.range("train"):  # the report tells of phases by their names
    for step in range(STEPS):
        loss = train_step(step)
    torch.cuda.synchronize()
print(f"{STEPS} steps: {time.perf_counter() - began:.4f} s, loss {loss:.4f}")
