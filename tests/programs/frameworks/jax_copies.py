"""JAX: arrays to the GPU and back."""
import os

os.environ["XLA_PYTHON_CLIENT_PREALLOCATE"] = "false"
import jax  # noqa: E402
import numpy  # noqa: E402

for _ in range(5):
    back = numpy.asarray(jax.device_put(numpy.arange(1 << 18, dtype=numpy.float32)) + 1)
print(back.sum())
