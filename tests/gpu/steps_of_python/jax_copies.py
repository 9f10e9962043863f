"""JAX: arrays to the GPU and back."""
import os

os.environ["XLA_PYTHON_CLIENT_PREALLOCATE"] = "false"
import jax  # noqa: E402
import numpy  # noqa: E402
import repeated_steps  # noqa: E402

host = numpy.ones(16 << 20, dtype=numpy.float32)
doubled = jax.jit(lambda array: array * 2)


def step():
    for _ in range(2):
        numpy.asarray(doubled(jax.device_put(host)))


repeated_steps.rounds(step)
