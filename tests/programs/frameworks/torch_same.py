"""Copies that need not be: the same batch sent every step, a result fetched twice, a tensor that
goes to the host and back. usage: torch_same.py [STEPS]"""
import sys
import time

import torch

steps = int(sys.argv[1]) if len(sys.argv) > 1 else 20
device = torch.device("cuda")
torch.manual_seed(0)
batch = torch.randn(1024, 1024)  # pageable, 4 MiB
mask = torch.randn(512, 1024).pin_memory()
fresh = torch.randn(256, 1024).pin_memory()
weights = torch.randn(1024, 1024, device=device)
results = torch.empty(1024, 1024).pin_memory()
torch.cuda.synchronize()


def send_the_same():
    return batch.to(device), mask.to(device, non_blocking=True)


def send_fresh(step):
    fresh.add_(step + 1)
    return fresh.to(device, non_blocking=True)


def there_and_back(tensor):
    results.copy_(tensor, non_blocking=True)
    torch.cuda.current_stream().synchronize()
    return results.to(device, non_blocking=True)


started = time.perf_counter()
total = 0.0
for step in range(steps):
    x, m = send_the_same()
    f = send_fresh(step)
    y = x @ weights + step
    z = there_and_back(y)
    total += float((z.sum() + m.sum() + f.sum()).item())
    torch.cuda.synchronize()
print(f"total {total:.6e}", file=sys.stdout)
print(f"steps {1e6 * (time.perf_counter() - started) / steps:.0f} us each", file=sys.stderr)
