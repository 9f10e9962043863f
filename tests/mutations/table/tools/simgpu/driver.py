"""Changes in tools/simgpu/driver/; tests/mutations/row.py says how a row reads."""
from row import M

ROWS = [
    M("simgpu-locks-at-one-speed", "tools/simgpu/driver/memory.c",
      "    if (ns)\n        sim_advance(ns > sim_settings.call_ns",
      "    if (!ns)\n        sim_advance(ns > sim_settings.call_ns",
      "page-locking takes as long on each simulated machine, whatever its profile says",
      "pairs.drawn"),
]
