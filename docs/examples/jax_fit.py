"""Parameters are fitted step by step, and in each step they travel: the host holds them, and the jitted
function is given NumPy arrays."""
import time

import jax
import jax.numpy as jnp
import numpy as np

STEPS, ROWS, COLUMNS = 60, 4096, 1024
rng = np.random.default_rng(0)
x = rng.standard_normal((ROWS, COLUMNS), dtype=np.float32)
y = rng.standard_normal(ROWS, dtype=np.float32)


@jax.jit
def step(weights, x, y):
    def loss(w):
        return jnp.mean((jnp.tanh(x @ w) - y) ** 2)

    value, gradient = jax.value_and_grad(loss)(weights)
    return weights - 0.1 * gradient, value


weights = np.zeros(COLUMNS, dtype=np.float32)
for _ in range(5):  # warm up
    weights, value = (np.asarray(a) for a in step(weights, x, y))
began = time.perf_counter()
for _ in range(STEPS):
    weights, value = (np.asarray(a) for a in step(weights, x, y))
print(f"{STEPS} steps: {time.perf_counter() - began:.4f} s, loss {float(value):.5f}")
