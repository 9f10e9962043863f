"""Changes in tools/simgpu/driver/; tests/mutations/row.py says how a row reads."""
from row import M

ROWS = [
    M("simgpu-wait-goes-back", "tools/simgpu/driver/clock.c",
      "        atomic_fetch_add(&offset_ns, (int64_t)(ns - now));",
      "        atomic_fetch_add(&offset_ns, (int64_t)(now - ns));",
      "on the simulated GPU waiting for a copy takes no time",
      "simgpu.clock"),
    M("simgpu-engines-shared", "tools/simgpu/driver/queue.c",
      "copy_engines == 1 ? SIM_H2D : SIM_D2H",
      "copy_engines != 1 ? SIM_H2D : SIM_D2H",
      "the simulated GPU copies one way at a time",
      "simgpu.time"),
    M("simgpu-legacy-stream", "tools/simgpu/driver/queue.c",
      "    return is_legacy(s) ? s->context->blocking_tail : s->context->legacy->tail;",
      "    return is_legacy(s) ? s->context->legacy->tail : s->context->blocking_tail;",
      "the simulated GPU's default stream does not wait for others",
      "simgpu.time"),
    M("simgpu-range-end", "tools/simgpu/driver/range.c",
      "    return r && (const uint8_t *)address < r->start + r->bytes ? r : NULL;",
      "    return r && (const uint8_t *)address <= r->start + r->bytes ? r : NULL;",
      "the simulated GPU takes an address behind an allocation for part of it",
      "simgpu.api"),
]
