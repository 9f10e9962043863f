"""Changes in the files of analyzer/ itself; tests/mutations/row.py says how a row reads."""
from row import M

ROWS = [
    M("team-that-differs-has-parts", "analyzer/analyze_command.c",
      "    reading->options->team = NULL;\n    walk_again(reading, findings);",
      "    reading->options->team = NULL;",
      "where ranks see other profiles rank 0 reports of findings in its own processes alone",
      "net.team"),
    M("gate-all-phases", "analyzer/gate_command.c",
      "    reading->figures = reading->filter.figures;",
      "    reading->figures = reading->analysis->rows;",
      "a gate of one phase judges the whole run",
      "analyzer-gate"),
    M("gate-passes-all", "analyzer/gate_command.c",
      "    return broken ? XFA_GATED : reading->analysis->lossy ? XFA_LOSSES : XFA_OK;",
      "    return reading->analysis->lossy ? XFA_LOSSES : XFA_OK;",
      "the exit status says that what is not allowed is",
      "analyzer-gate"),
    M("together-any-profile", "analyzer/together.c",
      "    xfa_parcel_number(parcel, text ? hash_of(text, bytes) : 0);",
      "    xfa_parcel_number(parcel, text ? 1 : 0);",
      "ranks with different machine profiles add up what they have played",
      "net.team"),
]
