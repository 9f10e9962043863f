"""Changes in analyzer/report/markdown/; tests/mutations/row.py says how a row reads."""
from row import M

ROWS = [
    M("markdown-means-something", "analyzer/report/markdown/blocks.c",
      "            fprintf(out, \"&#%d;\", *at);",
      "            fputc(*at, out);",
      "a name in a pull request is read as Markdown",
      "analyzer-markdown"),
]
