"""Changes in preload/lookup/; tests/mutations/row.py says how a row reads."""
from row import M

ROWS = [
    M("runtime-gone-is-called", "preload/lookup/resolve.c",
      """    if (gone)
        forget_callers();""",
      """    if (gone && result)
        forget_callers();""",
      "a program jumps into a CUDA runtime that it has unloaded",
      "e2e.programs"),
    M("runtime-by-name-alone", "preload/lookup/runtime.c",
      "    return found ? found : find_in_any(wanted, false);",
      "    return found;",
      "a library's calls of a CUDA runtime that only it has fail when it jumps there",
      "e2e.programs"),
    M("arguments-unaligned", "preload/lookup/layout.c",
      "    if (offset % sizeof(uint64_t) != 0 || words == 0)",
      "    if (words == 0)",
      "numbers that lie across words are taken for pointers",
      "preload.arguments"),
    M("driver-code-by-symbols", "preload/lookup/driver.c",
      "    if (file)\n        return file;\n",
      "    (void)file;\n",
      "each look-up of the runtime goes through all symbols of its caller's module",
      "apply.start"),
]
