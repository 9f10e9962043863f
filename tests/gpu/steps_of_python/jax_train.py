"""JAX: steps with batches of the host's memory, and a loss that is read."""
import os

os.environ["XLA_PYTHON_CLIENT_PREALLOCATE"] = "false"
import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy  # noqa: E402
import repeated_steps  # noqa: E402

batches = [numpy.ones((2048, 4096), dtype=numpy.float32) for _ in range(3)]
weights = [jnp.full((4096, 256), 0.01, dtype=jnp.float32)]
gradient = jax.jit(jax.value_and_grad(lambda w, x: jnp.mean((x @ w) ** 2)))


def step():
    for batch in batches:
        loss, slope = gradient(weights[0], batch)
        weights[0] = weights[0] - 1e-6 * slope
        float(loss)


repeated_steps.rounds(step)
