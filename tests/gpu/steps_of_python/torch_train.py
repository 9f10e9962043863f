"""PyTorch: training with batches of pageable memory, and a loss that is read."""
import repeated_steps
import torch

batches = [torch.rand(2048, 4096) for _ in range(3)]
model = torch.nn.Sequential(torch.nn.Linear(4096, 1024), torch.nn.ReLU(), torch.nn.Linear(1024, 10)).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)


def step():
    for batch in batches:
        loss = model(batch.to("cuda")).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        loss.item()


repeated_steps.rounds(step)
