"""PyTorch: tensors of pageable memory go up."""
import repeated_steps
import torch

host = torch.ones(16 << 20)


def step():
    for _ in range(4):
        total = host.to("cuda").sum()
    total.item()


repeated_steps.rounds(step)
