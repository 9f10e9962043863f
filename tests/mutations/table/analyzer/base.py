"""Changes in analyzer/base/; tests/mutations/row.py says how a row reads."""
from row import M

ROWS = [
    M("finding-order", "analyzer/base/compare.h",
      "    return (a < b) - (a > b);",
      "    return (a > b) - (a < b);",
      "the finding that matters most comes last",
      "analyzer-commands"),
    M("colours-everywhere", "analyzer/base/output.c",
      "    return isatty(fileno(stream)) && !(no && *no)",
      "    return !(no && *no)",
      "a report in a file is full of colour codes",
      "analyzer-view"),
    M("const-is-written", "analyzer/base/signature.c",
      "(uint64_t)!reads <<",
      "(uint64_t)reads <<",
      "kernels are said to write what they only read, and to read what they write",
      "analyzer-signature_test"),
    M("units-of-thousand", "analyzer/base/units.c",
      "    while (value >= 1024 && unit < 6) {",
      "    while (value > 1024 && unit < 6) {",
      "1 MiB is shown as 1024 KiB",
      "analyzer-model_test"),
]
