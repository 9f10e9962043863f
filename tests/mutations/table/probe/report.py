"""Changes in probe/report/; tests/mutations/row.py says how a row reads."""
from row import M

ROWS = [
    M("faster-is-slower", "probe/report/compare.c",
      """        c.slower += way > 0;
        c.faster += way < 0;""",
      """        c.slower += way < 0;
        c.faster += way > 0;""",
      "--compare calls what became slower faster",
      "probe.compare"),
    M("noise-differs", "probe/report/compare.c",
      "    if (b->low > a->high * (1 + tolerance))",
      "    if (b->low > a->median * (1 + tolerance))",
      "--compare calls noise a difference",
      "probe.compare"),
    M("compare-skips-last", "probe/report/compare.c",
      "    for (size_t i = 0, j = 0; i < a->count || j < b->count;) {",
      "    for (size_t i = 0, j = 0; i < a->count && j < b->count;) {",
      "--compare does not name benchmarks that one profile lacks",
      "probe.compare"),
    M("csv-bandwidth-one-flow", "probe/report/report_csv.c",
      "            r.moved = c->flow_count * r.bytes;",
      "            r.moved = r.bytes;",
      "concurrent transfers have the bandwidth of one of them",
      "probe.sections"),
    M("probe-any-width", "probe/report/width.c",
      "left_out < count && width_of(text) > width",
      "left_out > count && width_of(text) > width",
      "the probe's table is wider than the terminal",
      "probe.command"),
]
