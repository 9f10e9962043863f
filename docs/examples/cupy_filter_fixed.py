"""cupy_filter.py with what the report advises: results come back into pinned memory that is used again."""
import time

import cupy
import cupyx
import numpy

FRAMES, SIDE = 60, 1024
frames = [numpy.random.rand(SIDE, SIDE).astype(numpy.float32) for _ in range(8)]
mask = cupy.asarray((numpy.hypot(*numpy.indices((SIDE, SIDE))) < 300).astype(numpy.float32))
result = cupyx.empty_pinned((SIDE, SIDE), numpy.float32)


def smooth(frame):
    on_gpu = cupy.asarray(frame)
    spectrum = cupy.fft.fft2(on_gpu) * mask
    return cupy.fft.ifft2(spectrum).real.astype(cupy.float32).get(out=result)


for frame in frames:  # warm up
    smooth(frame)
began = time.perf_counter()
total = 0.0
for i in range(FRAMES):
    total += float(smooth(frames[i % 8])[0, 0])
print(f"{FRAMES} frames: {time.perf_counter() - began:.4f} s, sum {total:.4f}")
