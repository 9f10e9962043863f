"""PyTorch, two ranks on two GPUs: rank 1 is late by a known time before each call, or nobody is. Each phase has a
line of its own, so that the report has a row for it.

usage: late_ranks.py OUT [none]       RANK, MASTER_ADDR and MASTER_PORT as torchrun sets them; none: nobody is late

Writes OUT.RANK: for each phase its line, operation, bytes, who is late by how much, and when (CLOCK_MONOTONIC, ns)
this rank called, each time."""
import json
import os
import sys
import time

import torch
import torch.distributed as dist

ROUNDS, WARM = 50, 5
RANK = int(os.environ["RANK"])
torch.cuda.set_device(RANK)
dist.init_process_group("nccl", rank=RANK, world_size=2, device_id=torch.device("cuda", RANK))
small = torch.zeros(1 << 20, device="cuda")  # 4 MiB
large = torch.zeros(1 << 24, device="cuda")  # 64 MiB
both = torch.zeros(2 << 24, device="cuda")


PHASES = [
    (None, 0, "all-reduce", small, lambda: dist.all_reduce(small)),
    (1, 0.2, "all-reduce", small, lambda: dist.all_reduce(small)),
    (1, 2, "all-reduce", small, lambda: dist.all_reduce(small)),
    (None, 0, "all-reduce", large, lambda: dist.all_reduce(large)),
    (1, 0.2, "all-reduce", large, lambda: dist.all_reduce(large)),
    (1, 2, "all-reduce", large, lambda: dist.all_reduce(large)),
    (None, 0, "all-gather", both, lambda: dist.all_gather_into_tensor(both, large)),
    (0, 2, "all-gather", both, lambda: dist.all_gather_into_tensor(both, large)),
    (None, 0, "send", large, lambda: dist.send(large, 1) if RANK == 0 else dist.recv(large, 0)),
    (1, 2, "send", large, lambda: dist.send(large, 1) if RANK == 0 else dist.recv(large, 0)),
    (0, 2, "send", large, lambda: dist.send(large, 1) if RANK == 0 else dist.recv(large, 0)),
]


def warm():
    for _ in range(WARM):
        dist.all_reduce(large)
        dist.all_gather_into_tensor(both, large)
        _ = dist.send(large, 1) if RANK == 0 else dist.recv(large, 0)
    torch.cuda.synchronize()


def run(late, ms, call):
    """When this rank called, each time."""
    began = []
    for _ in range(ROUNDS):
        until = time.monotonic_ns() + int(ms * 1e6)
        while late == RANK and time.monotonic_ns() < until:
            pass
        began.append(time.monotonic_ns())
        call()
        torch.cuda.synchronize()
    return began


warm()
said = []
for late, ms, operation, moved, call in PHASES:
    late = None if sys.argv[2:] == ["none"] else late
    began = run(late, ms, call)
    said.append({"line": call.__code__.co_firstlineno, "operation": operation, "bytes": moved.nbytes, "late": late,
                 "ms": ms if late is not None else 0, "began_ns": began})
with open(f"{sys.argv[1]}.{RANK}", "w", encoding="utf-8") as out:
    json.dump(said, out)
dist.barrier()
dist.destroy_process_group()
