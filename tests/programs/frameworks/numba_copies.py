"""Numba: arrays to the GPU and back."""
import numpy
from numba import cuda

for _ in range(10):
    back = cuda.to_device(numpy.arange(1 << 18)).copy_to_host()
print(back.sum())
