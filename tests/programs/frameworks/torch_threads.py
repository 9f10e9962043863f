"""PyTorch: threads that begin at once on every GPU, tensors there and back; with "profile", while
torch.profiler comes and goes. usage: torch_threads.py [THREADS [profile]]"""
import sys
import threading

import torch

THREADS = int(sys.argv[1]) if len(sys.argv) > 1 else 8
wrong = []


def work(number, start):
    place = f"cuda:{number % torch.cuda.device_count()}"
    tensor = torch.arange(number, number + 4096, dtype=torch.float32)
    start.wait()
    for _ in range(20):
        if not torch.equal((tensor.to(place) + 1).cpu(), tensor + 1):
            wrong.append(number)


start = threading.Barrier(THREADS)
threads = [threading.Thread(target=work, args=(i, start)) for i in range(THREADS)]
for thread in threads:
    thread.start()
for _ in range(3 if "profile" in sys.argv else 0):
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]):
        torch.ones(8).cuda().cpu()
for thread in threads:
    thread.join()
print(f"{THREADS} threads, {len(wrong)} wrong")
sys.exit(len(wrong) > 0)
