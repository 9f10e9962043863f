"""Changes in common/; tests/mutations/row.py says how a row reads."""
from row import M

ROWS = [
    M("csv-formula", "common/text.c",
      """    if (*shown && strchr("=+-@\\t", *shown))
        putc_unlocked('\\'', out);
""",
      "",
      "a spreadsheet that opens the CSV of a stranger's run carries out what that run's host is called",
      "export.lines"),
    M("csv-quote", "common/text.c",
      """        if (*at == '"')
            putc_unlocked('"', out);
        putc_unlocked(*at, out);""",
      """        putc_unlocked(*at, out);""",
      "a quote in a function's name ends the field, and the columns behind it are others",
      "export.lines"),
    M("nearest-too-far", "common/nearest.c",
      "distance < search->distance && distance < strlen(known)",
      "distance < search->distance",
      "a word of which nothing is right is taken for a short command",
      "common.nearest"),
    M("nearest-value-counts", "common/nearest.c",
      'strcspn(word, "=")',
      "strlen(word)",
      "--ouptut=FILE is not near to --output",
      "common.nearest"),
]
