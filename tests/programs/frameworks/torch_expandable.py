"""PyTorch: an allocator that maps memory into growing segments (cuMemMap) instead of cudaMalloc."""
import os

os.environ["PYTORCH_ALLOC_CONF"] = os.environ["PYTORCH_CUDA_ALLOC_CONF"] = "expandable_segments:True"
import torch  # noqa: E402

kept = []
for megabytes in (1, 8, 30, 3, 64):
    numbers = torch.arange(megabytes << 18, dtype=torch.float32)
    kept.append(numbers.cuda())
    kept.append(kept[-1].clone())
    print(kept[-1][-1].item(), bool((kept[-1].cpu() == numbers).all()))
assert torch.cuda.memory_stats()["num_alloc_retries"] == 0
print(any(segment.get("is_expandable") for segment in torch.cuda.memory_snapshot()))
