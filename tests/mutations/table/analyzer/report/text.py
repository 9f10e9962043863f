"""Changes in analyzer/report/text/; tests/mutations/row.py says how a row reads."""
from row import M

ROWS = [
    M("words-longer-than-the-line", "analyzer/report/text/text.c",
      "    while (*shown && column + (int)xfa_columns(shown) > width) {",
      "    while (false) {",
      "a long name makes a line of the report wider than the terminal",
      "analyzer-goldens"),
    M("hosts-of-gpus-hidden", "analyzer/report/text/run.c",
      "    bool hosts = named_hosts(run) > 1;",
      "    bool hosts = false;",
      "in a run on several hosts nobody knows which GPU is whose",
      "analyzer-goldens"),
    M("waits-shortest-hidden", "analyzer/report/text/waits.c",
      "    if (view->top && shown > SHOWN_WAITS)",
      "    if (shown > SHOWN_WAITS)",
      "--top 0 does not show all waits",
      "analyzer-goldens"),
    M("at-best-is-noise", "analyzer/report/text/findings.c",
      "at_best = little && most >= 2 * least;",
      "at_best = little && most >= -2 * least;",
      "what would save nothing is named as what may save something",
      "analyzer-whatif_report_test"),
]
