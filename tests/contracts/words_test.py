"""The words of the trace are in one list each: the keys of META (meta.h) and the kinds of events
(trace.h) against the pages, and against what the rooms write and read."""
import re
import sys
import unittest
from pathlib import Path

ROOT = Path(sys.argv.pop(1)) if len(sys.argv) > 1 else Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "trace-format.md").read_text()
CALL = re.compile(r'\b(?:xfs_meta_set|write_meta|xfs_write_meta|xfa_trace_meta)\((?:[\w>.-]+, )?"([^"]+)"')
FORMAT = re.compile(r'snprintf\(key, sizeof key, "([a-z_.%]+)"')


def listed():
    text = (ROOT / "include" / "xferscope" / "meta.h").read_text()
    return re.findall(r'^    X\("([^"]+)",', text, re.M)


def documented():
    keys = []
    table = PAGE[PAGE.index("| `xferscope.version` |"):]
    for line in table.partition("\n\n")[0].splitlines():
        cell, meaning = line.strip("|\n").split("|", 1)
        keys += re.findall(r"`([^`]+)`", cell)
        keys += re.findall(r"`([a-z.]+\.why)`:", meaning)
    return keys


class Words(unittest.TestCase):
    def test_the_page_has_the_list(self):
        self.assertGreater(len(listed()), 30)
        self.assertEqual(sorted(documented()), sorted(listed()))

    def test_keys_in_the_sources(self):
        known = {re.sub(r"\b(N|KIND|WHY)\b", "%", key) for key in listed()}
        met = set()
        for room in ("preload", "analyzer", "tools/xferscope"):
            for path in (ROOT / room).rglob("*.c"):
                text = path.read_text()
                met |= {(key, path.name) for key in CALL.findall(text)}
                met |= {(re.sub(r"%\w", "%", key), path.name) for key in FORMAT.findall(text)}
        self.assertGreater(len(met), 25)
        self.assertEqual({(key, file) for key, file in met if key not in known}, {("gpu.%.%", "yardstick.c")})  # any of a GPU's


if __name__ == "__main__":
    unittest.main()
