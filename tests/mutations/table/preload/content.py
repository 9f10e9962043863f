"""Changes in preload/content/; tests/mutations/row.py says how a row reads."""
from row import M

ROWS = [
    M("content-share-twice", "preload/content/budget.c",
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
]
