"""PyTorch: copies once in a stream, then in a CUDA graph that is captured once and replayed 10 times."""
import torch

pinned_in = torch.randn(1 << 20).pin_memory()
pinned_out = torch.empty(1 << 20).pin_memory()
x = torch.empty(1 << 20, device="cuda")
y = torch.empty_like(x)
stream = torch.cuda.Stream()
with torch.cuda.stream(stream):
    x.copy_(pinned_in, non_blocking=True)
    y.copy_(x)
    pinned_out.copy_(y, non_blocking=True)
stream.synchronize()
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    x.copy_(pinned_in, non_blocking=True)
    y.copy_(x * 2)
    pinned_out.copy_(y, non_blocking=True)
for _ in range(10):
    graph.replay()
torch.cuda.synchronize()
print(float(pinned_out[5] - 2 * pinned_in[5]))
