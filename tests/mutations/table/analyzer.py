"""Changes in the files of analyzer/ itself; tests/mutations/row.py says how a row reads."""
from row import M

ROWS = [
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
]
