"""Changes in preload/apply/calls/: the program's calls as it made them; tests/mutations/row.py says how a row reads."""
from row import M

ROWS = [
    M("writes-unknown-harmless", "preload/apply/calls/writes.c",
      "    if (is_harmless(symbol))",
      "    if (is_harmless(symbol) || !begins_with(symbol, \"cuM\"))",
      "what a function writes that nobody thought of is not noticed",
      "preload.uploads"),
]
