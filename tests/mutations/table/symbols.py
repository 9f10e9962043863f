"""Changes in symbols/; tests/mutations/row.py says how a row reads."""
from row import M

ROWS = [
    M("names-of-any-build", "symbols/known_modules.c",
      "    return is_same_file(&at->file, file) && at->as.build_id_bytes == module->build_id_bytes &&\n"
      "           (module->build_id_bytes == 0 ||\n"
      "            memcmp(at->as.build_id, module->build_id, module->build_id_bytes) == 0) &&\n",
      "    return is_same_file(&at->file, file) &&\n",
      "what a module of another build called has names of the one that lies there now",
      "analyzer-names_test"),
]
