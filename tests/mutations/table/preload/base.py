"""Changes in preload/base/; tests/mutations/row.py says how a row reads."""
from row import M

ROWS = [
    M("size-suffix", "preload/base/settings.c",
      "    unsigned shift = 10 * (unsigned)(suffix - suffixes + 1);",
      "    unsigned shift = 10 * (unsigned)(suffix - suffixes);",
      "XFERSCOPE_BUFFER=64M means 64 KiB",
      "record.settings"),
    M("choice-by-prefix", "preload/base/settings.c",
      "        if (n == bytes && strncmp(word, text, n) == 0)",
      "        if (n >= bytes && strncmp(word, text, bytes) == 0)",
      "XFERSCOPE_TIMING=c is taken for cupti instead of being refused",
      "record.settings"),
]
