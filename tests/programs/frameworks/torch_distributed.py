"""PyTorch: one process a GPU, gradients reduced by NCCL; then objects and tensors sent about."""
import os
import sys

import torch
import torch.distributed as dist
import torch.multiprocessing as mp


def train(rank, world):
    os.environ.setdefault("MASTER_ADDR", "127.0.0.1")
    os.environ.setdefault("MASTER_PORT", "29513")
    torch.cuda.set_device(rank)
    dist.init_process_group("nccl", rank=rank, world_size=world, device_id=torch.device("cuda", rank))
    torch.manual_seed(rank)
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(512, 512).cuda(), device_ids=[rank])
    optimiser = torch.optim.SGD(model.parameters(), lr=0.01)
    for _ in range(10):
        loss = model(torch.rand(64, 512).cuda()).square().mean()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    whole = torch.full((1 << 20,), float(rank), device="cuda")
    dist.all_reduce(whole)
    if world > 1 and rank < 2:
        if rank == 0:
            dist.send(whole, 1)
        else:
            dist.recv(whole, 0)
    gathered = [None] * world
    dist.all_gather_object(gathered, f"rank {rank}")
    if rank == 0:
        print(gathered, whole[0].item(), flush=True)
    dist.destroy_process_group()


def main():
    world = torch.cuda.device_count()
    if world < 2:
        sys.exit("torch_distributed: needs two GPUs")
    mp.spawn(train, args=(world,), nprocs=world)


if __name__ == "__main__":
    main()
