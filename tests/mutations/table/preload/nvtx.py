"""Changes in preload/nvtx/; tests/mutations/row.py says how a row reads."""
from row import M

ROWS = [
    M("ranges-go-on-when-full", "preload/nvtx/ranges.c",
      "    return xfs_recording() && xfs_periods_keep_ranges();",
      "    return xfs_recording();",
      "ranges are written beyond the size that the files may have",
      "e2e.periods"),
    M("nvtx-early-never-written", "preload/nvtx/early.c",
      """        write_all(&shared);
        shared.count = 0;
""",
      """        shared.count = 0;
""",
      "ranges of the process that began before the first CUDA call are missing",
      "e2e.phases"),
    M("nvtx-early-any-domain", "preload/nvtx/early.c",
      "        if (id ? range->id != id : range->domain != domain)",
      "        if (id && range->id != id)",
      "a range that began before the first CUDA call is ended by another domain's end",
      "e2e.phases"),
    M("nvtx-beyond-ends-others", "preload/nvtx/ranges.c",
      "        if (!some_beyond(id) || !xfs_early_ended(domain))",
      "        if (some_beyond(id) || !xfs_early_ended(domain))",
      "ends of ranges that were too deep to be kept end others",
      "e2e.phases"),
    M("nvtx-beyond-of-any-domain", "preload/nvtx/early.c",
      "        if (open->beyond[i].domain == domain)",
      "        if (domain || open->beyond[i].domain == domain)",
      "the end of a library's range is taken for that of a range too deep to be kept",
      "e2e.phases"),
    M("nvtx-id-of-zero", "preload/nvtx/ranges.c",
      "    uint64_t id = atomic_fetch_add(&last_id, 1) + 1;",
      "    uint64_t id = atomic_fetch_add(&last_id, 1);",
      "the first range of the process never ends",
      "e2e.phases"),
    M("phase-nested-other-domain", "preload/nvtx/phase.c",
      "        own.depth += domain == own.domain;",
      "        own.depth++;",
      "another domain's ranges keep --phase recording",
      "e2e.periods"),
]
