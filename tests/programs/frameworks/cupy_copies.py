"""CuPy: arrays to the GPU and back."""
import cupy
import numpy

for _ in range(20):
    back = cupy.asnumpy(cupy.asarray(numpy.arange(1 << 18)) * 2)
print(back.sum())
