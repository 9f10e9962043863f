"""Triton: a kernel on PyTorch's memory, and the result back."""
import torch
import triton
import triton.language as tl


@triton.jit
def double(x, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x + at, tl.load(x + at, mask=at < n) * 2, mask=at < n)


numbers = torch.arange(1000.0, device="cuda")
double[(4,)](numbers, 1000, BLOCK=256)
print(numbers.cpu().sum().item())
