"""A kernel is given NumPy arrays: Numba copies them to the GPU before each launch and back after it."""
import time

import numpy as np
from numba import cuda

STEPS, N = 60, 1 << 22


@cuda.jit
def diffuse(before, after):
    i = cuda.grid(1)
    if 0 < i < before.size - 1:
        after[i] = 0.25 * before[i - 1] + 0.5 * before[i] + 0.25 * before[i + 1]


heat = np.random.default_rng(0).random(N, dtype=np.float32)
other = np.zeros_like(heat)
blocks = (N + 255) // 256


def step():
    diffuse[blocks, 256](heat, other)
    diffuse[blocks, 256](other, heat)


step()  # warm up
began = time.perf_counter()
for _ in range(STEPS):
    step()
print(f"{STEPS} steps: {time.perf_counter() - began:.4f} s, sum {heat.sum():.0f}")
