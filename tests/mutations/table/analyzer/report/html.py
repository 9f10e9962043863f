"""Changes in analyzer/report/html/; tests/mutations/row.py says how a row reads."""
from row import M

ROWS = [
    M("page-name-ends-script", "analyzer/report/html/html.c",
      "byte == '<' || ",
      "",
      "a name in a trace ends the block of data that it is in",
      "analyzer-timeline_test"),
]
