"""Training steps under torch.cuda.nvtx: what a phase is for the report. usage: torch_nvtx.py [STEPS]"""
import sys

import torch

steps = int(sys.argv[1]) if len(sys.argv) > 1 else 5
nvtx = torch.cuda.nvtx

with nvtx.range("train"):  # open before the first CUDA call
    device = torch.device("cuda")
    torch.manual_seed(0)
    model = torch.nn.Sequential(
        torch.nn.Linear(1024, 1024), torch.nn.ReLU(), torch.nn.Linear(1024, 10)
    ).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    data = torch.randn(256, 1024).pin_memory()
    target = torch.randint(0, 10, (256,))
    whole = nvtx.range_start("steps together")
    for step in range(steps):
        with nvtx.range(f"step {step % 2}"):
            nvtx.range_push("load")
            x = data.to(device, non_blocking=True)
            y = target.to(device)
            nvtx.range_pop()
            nvtx.range_push("compute")
            optimizer.zero_grad()
            loss = torch.nn.functional.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()
            nvtx.range_pop()
            with nvtx.range("loss"):
                value = loss.item()
    nvtx.range_end(whole)
print(f"loss {value:.4f}")
