"""Changes in preload/content/; tests/mutations/row.py says how a row reads."""
from row import M

ROWS = [
    M("content-share-twice", "preload/content/hash.c",
      "    if (whole && spent->whole + cost->whole <= allowed - samples)",
      "    if (whole && spent->whole + cost->whole <= allowed)",
      "--content=whole takes more of the run than its share",
      "preload.content"),
    M("content-sample-misses-end", "preload/content/hash.c",
      "        uint64_t step = (bytes - XFS_SAMPLE_BLOCK) / (XFS_SAMPLE_BLOCKS - 1);",
      "        uint64_t step = (bytes - XFS_SAMPLE_BLOCK) / XFS_SAMPLE_BLOCKS;",
      "buffers that differ at their end count as the same",
      "preload.content"),
    M("content-rows-without-slices", "preload/content/hash.c",
      "row / rows->height * rows->slice + row % rows->height * rows->pitch;",
      "row * rows->pitch;",
      "3D copies with padded slices are compared by the wrong bytes",
      "preload.content"),
    M("content-async-at-once", "preload/content/content.c",
      "    bool done = !(event->flags & XFT_ASYNC) || event->dst_mem == XFT_MEM_PAGEABLE;",
      "    bool done = true;",
      "downloads are hashed before they have arrived",
      "preload.copied"),
    M("content-sent-unsettled", "preload/content/content.c",
      """    if (xfs_waiting_drop(src->address, xfs_rows_end(src)))
        xfs_content_skip(XFS_SKIP_UNSETTLED, 1);
    else
""",
      "",
      "what is sent on while it is still on its way is hashed as it happens to be",
      "preload.copied"),
    M("content-elapsed-is-the-clock", "preload/content/budget.c",
      "reserve(rows, slow_memory, before - started_ns, &reserved)",
      "reserve(rows, slow_memory, before, &reserved)",
      "hashing takes its share of the time since the machine was started",
      "preload.copied"),
    M("content-reserved-twice", "preload/content/budget.c",
      "    atomic_fetch_add_explicit(purse(mode), took - reserved, memory_order_relaxed);",
      "    atomic_fetch_add_explicit(purse(mode), took, memory_order_relaxed);",
      "hashing is said to have cost twice what it did, and stops too early",
      "preload.copied"),
]
