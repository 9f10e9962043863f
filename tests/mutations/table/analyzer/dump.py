"""Changes in analyzer/dump/; tests/mutations/row.py says how a row reads."""
from row import M

ROWS = [
    M("dump-limit-off-by-one", "analyzer/dump/dump_command.c",
      "        if (options->limit && printing->printed >= options->limit)",
      "        if (options->limit && printing->printed > options->limit)",
      "dump --limit N prints one more",
      "analyzer-commands"),
    M("dump-loss-is-fine", "analyzer/dump/dump_command.c",
      "            lossy = dump_file(options, trace, output.stream) || lossy;",
      "            lossy = dump_file(options, trace, output.stream) && lossy;",
      "a dump of a damaged trace ends with status 0",
      "analyzer-commands"),
    M("dump-first-kind-only", "analyzer/dump/dump_command.c",
      "        options->kinds |= 1u << kind;",
      "        options->kinds = 1u << kind;",
      "dump --kind a,b prints the events of one kind",
      "analyzer-commands"),
]
