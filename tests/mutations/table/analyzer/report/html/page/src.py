"""Changes in analyzer/report/html/page/src/; tests/mutations/row.py says how a row reads."""
from row import M

ROWS = [
    M("patch-of-a-fetch", "analyzer/report/html/page/src/fix_diff.js",
      " || sites.some(({ direction }) => direction !== 'H2D')) return null;\n  const changed = to_without_blocking",
      ") return null;\n  const changed = to_without_blocking",
      "a patch has the host read a tensor that is still being fetched",
      "page.patches"),
    M("patch-within-a-text", "analyzer/report/html/page/src/fix_diff.js",
      "  if (all.some(({ text }) => text === null)) return null;",
      "",
      "a patch changes a comment or a docstring",
      "page.patches"),
    M("patch-below-an-if", "analyzer/report/html/page/src/code.js",
      "return /;\\s*$/.test(text) && last !== null && /[;{}]$/.test(last);",
      "return /;\\s*$/.test(text);",
      "a patch takes a copy out of the if that it belongs to",
      "page.patches"),
]
