"""PyTorch: page-locked batches by Async, as a loader with pin_memory makes them: nothing to gain."""
import repeated_steps
import torch

batches = [torch.rand(8 << 20).pin_memory() for _ in range(2)]
weights = torch.rand(8 << 20, device="cuda")


def step():
    total = torch.zeros((), device="cuda")
    for turn in range(12):
        total += (batches[turn % 2].to("cuda", non_blocking=True) * weights).sum()
    total.item()


repeated_steps.rounds(step)
