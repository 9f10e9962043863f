"""Changes in preload/format/; tests/mutations/row.py says how a row reads."""
from row import M

ROWS = [
    M("dictionary-of-256", "preload/format/encode.c",
      "    unsigned planes = entries > 256 ? 2 : 1;",
      "    unsigned planes = entries >= 256 ? 2 : 1;",
      "a column with 256 different values makes its segment unreadable",
      "record.encode"),
    M("delta-first-row", "preload/format/encode.c",
      """    if (plan->encoding == XFT_ENC_DELTA_PLANES)
        *(out->at - rows) = 0; /* the first row's difference is 0 */
""",
      "",
      "all times of a segment are shifted",
      "record.encode"),
    M("cost-of-sign", "preload/format/encode.c",
      "    if (diff <= plain && diff <= delta)",
      "    if (diff >= plain && diff >= delta)",
      "traces are larger than they need to be",
      "record.encode"),
    M("list-longer-than-a-segment", "preload/format/rewrite_lists.c",
      "    size_t room = total < MOST_JOINED_BYTES ? (size_t)total : MOST_JOINED_BYTES;",
      "    size_t room = (size_t)total;",
      "a completed file has a list that no reader takes",
      "analyzer-complete_test"),
    M("completion-hides-damage", "preload/format/rewrite.c",
      """    xft_damage_add(damage, walk.damage.places, walk.damage.bytes);
""",
      "",
      "a damaged trace looks whole once it is completed",
      "analyzer-complete_test"),
    M("completion-hides-broken-slab", "preload/format/rewrite_events.c",
      """    if (worth == XFT_SLAB_BROKEN)
        xft_damage_add(damage, 1, bytes);
""",
      "",
      "a slab that makes no sense is dropped in silence",
      "analyzer-complete_test"),
    M("completion-hides-cut-slab", "preload/format/rewrite_events.c",
      """    damage->events += head.committed - rows; /* the file ends before them */
""",
      "",
      "events behind the end of a cut file are dropped in silence",
      "analyzer-complete_test"),
    M("index-last-is-latest", "preload/format/index.c",
      "        entry.last_ns = at > entry.last_ns ? at : entry.last_ns;",
      "        entry.last_ns = at;",
      "the device's events, which come out of order, are said to end too early",
      "analyzer-merge_test"),
    M("index-first-to-zero", "preload/format/index.c",
      "    times->value = first - least; /* the first row differs by nothing */",
      "    times->value = first; /* the first row differs by nothing */",
      "a completed file's entries are later than its events",
      "analyzer-complete_test"),
    M("index-of-the-old-file", "preload/format/rewrite_events.c",
      """    entry.offset = job->at;
    xft_job_copy(job, view);""",
      "    xft_job_copy(job, view);",
      "a completed file's index points at where events lay before",
      "analyzer-complete_test"),
    M("names-not-of-packed-lists", "preload/format/trace_symbols.c",
      "    bool packed = view->head.flags & XFT_SEG_ZSTD;",
      """    if (view->head.flags & XFT_SEG_ZSTD)
        return;
    bool packed = false;""",
      "completion leaves call sites of compressed lists without names",
      "analyzer-names_test"),
]
