"""What the pairs in Python share: pair.h's options and measured region, for PyTorch.

    p = pair.options(steps=60, quick_steps=10)
    ... set up, warm up ...
    pair.begin()
    ... p.steps steps ...
    pair.end(sum of the results, transfers made since pair.begin)
"""
import argparse
import sys
import time

try:
    import torch
except ImportError:
    print("needs PyTorch", file=sys.stderr)
    sys.exit(77)

_began_ns = 0


def options(steps, quick_steps):
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true", help="tiny, for tests")
    parser.add_argument("--steps", type=int, help="steps that are measured")
    p = parser.parse_args()
    p.steps = p.steps or (quick_steps if p.quick else steps)
    if not torch.cuda.is_available():
        print("needs a GPU that PyTorch can use", file=sys.stderr)
        sys.exit(77)
    return p


def begin():
    global _began_ns
    torch.cuda.synchronize()
    torch.cuda.nvtx.range_push("work")
    _began_ns = time.monotonic_ns()


def end(total, transfers):
    torch.cuda.synchronize()
    ended_ns = time.monotonic_ns()
    torch.cuda.nvtx.range_pop()
    print(f"work_ns {ended_ns - _began_ns} sum {total} transfers {transfers}", flush=True)
