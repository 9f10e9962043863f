"""Changes in probe/bench/; tests/mutations/row.py says how a row reads."""
from row import M

ROWS = [
    M("records-never-off", "probe/bench/records_child.c",
      "        if (half && xfp_cupti_switch(&c->s.sys, on))",
      "        if (half && xfp_cupti_switch(&c->s.sys, true))",
      "what records add is said to be nothing, since both sides of the comparison have them",
      "probe.records"),
    M("no-cupti-is-a-failure", "probe/bench/bench.c",
      "    if (bad || xfp_interrupted() || *s->absent || s->results > before)",
      "    if (bad || xfp_interrupted() || s->results > before)",
      "on a machine without CUPTI the probe says that its profile is doubtful",
      "probe.records"),
]
