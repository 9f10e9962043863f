"""Changes in preload/nvtx/; tests/mutations/row.py says how a row reads."""
from row import M

ROWS = [
    M("nvtx-early-never-settled", "preload/nvtx/early.c",
      """        write_all(&shared);
        shared.count = shared.beyond = 0;
""",
      """        shared.count = shared.beyond = 0;
""",
      "ranges of the process that began before the first CUDA call are missing",
      "e2e.phases"),
    M("nvtx-early-any-domain", "preload/nvtx/early.c",
      "        if (id ? range->id != id : range->domain != domain)",
      "        if (id && range->id != id)",
      "a range that began before the first CUDA call is ended by another domain's end",
      "e2e.phases"),
    M("nvtx-id-of-zero", "preload/nvtx/ranges.c",
      "    uint64_t id = atomic_fetch_add(&last_id, 1) + 1;",
      "    uint64_t id = atomic_fetch_add(&last_id, 1);",
      "the first range of the process never ends",
      "e2e.phases"),
]
