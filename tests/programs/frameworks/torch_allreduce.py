"""PyTorch: one process whose gradients NCCL reduces, alone: batches up, a loss back in each step."""
import os

import torch
import torch.distributed as dist

os.environ.setdefault("MASTER_ADDR", "127.0.0.1")
os.environ.setdefault("MASTER_PORT", "29514")
dist.init_process_group("nccl", rank=0, world_size=1, device_id=torch.device("cuda", 0))
torch.manual_seed(0)
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(1024, 1024).cuda(), device_ids=[0])
optimiser = torch.optim.SGD(model.parameters(), lr=0.01)
total = 0.0
for _ in range(60):
    loss = model(torch.rand(256, 1024).cuda()).square().mean()
    optimiser.zero_grad()
    loss.backward()
    optimiser.step()
    dist.all_reduce(loss.detach())
    total += loss.item()
print(f"total {total:.4f}")
dist.destroy_process_group()
