"""The words of the trace are in one list each: the keys of META (meta.h), the kinds of events and the
causes of migrations (trace_events.h), against the pages, and against what the components write and read. And
_GNU_SOURCE and the keyword of thread-local memory: once, in one place."""
import re
import sys
import unittest
from pathlib import Path

ROOT = Path(sys.argv.pop(1)) if len(sys.argv) > 1 else Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "trace-format.md").read_text()
CALL = re.compile(r'\b(?:xfs_meta_set|write_meta|xfs_write_meta|write_count|write_text|xfa_trace_meta|xfa_meta_kept|meta_number)\((?:[\w>.-]+, )?"([a-z][\w.%]*)"')
FORMAT = re.compile(r'snprintf\(key, sizeof key, "([a-z_.%]+)"')


# Instead: reported, recorded, known; the same; decide, finish; in addition; evidence; passed, given.
DIALECT = re.compile(r"(?<![A-Za-z])(?:un)?(told|likewise|settled?|settles|settling|besides|surely|handed|held against)(?![A-Za-z])", re.I)
# What the formats of traces and reports have from their first versions; an environment variable; and plain uses.
FORMATS = ('"told"', '"not_told"', "`told`", "`not_told`", "not_told", "host_access.told", '"unsettled"', "`unsettled`", "skipped.unsettled",
           "UNSETTLED", '"settled"', "*settled*", "gone or settled", "| settled |", "gone or settled |", "| settle |", "is told to (TF_")
ENDINGS = {".c", ".h", ".cu", ".cpp", ".def", ".py", ".js", ".mjs", ".css", ".sh", ".cmake", ".md", ".txt", ""}


def sources():
    for component in ("include", "common", "symbols", "preload", "probe", "analyzer", "tools", "cmake", "tests", "docs"):
        for path in sorted((ROOT / component).rglob("*")):
            within = path.relative_to(ROOT).parts
            if path.is_file() and path.suffix in ENDINGS and not {"results", "golden", "__pycache__", "node_modules", "corpus"} & set(within):
                yield path


HEADER = "".join((ROOT / "include" / "xferscope" / name).read_text() for name in ("trace.h", "trace_events.h"))


def rows_of(name, pattern):
    """What an X-macro of the trace's headers lists."""
    text = HEADER[HEADER.index(f"#define {name}(X"):]
    return re.findall(pattern, re.match(r"(?:.*\\\n)*.*\n", text)[0])


def events():
    """By number, as the enum has them: name and word."""
    words = dict(rows_of("XFT_EVENT_LIST", r'X\(XFT_EVENT_(\w+), "([^"]+)", XFT_OF_\w+, with\)'))
    numbers = re.search(r"enum xft_event_kind \{(.*?)\n\};", HEADER, re.S)[1]
    found = [(int(number), name) for name, number in re.findall(r"XFT_EVENT_(\w+) = (\d+)", numbers)]
    return [(number, name, words[name]) for number, name in sorted(found) if number]


def causes():
    return [(int(number), word) for number, word in
            rows_of("XFT_CAUSE_LIST", r'X\(XFT_CAUSE_\w+, (\d+), "([^"]+)",')]


def cells(page, first):
    """The row of a page's tables that begins with this."""
    rows = [line for line in (ROOT / "docs" / page).read_text().splitlines()
            if line.startswith(f"| {first} |")]
    assert len(rows) == 1, (page, first, len(rows))
    return rows[0]


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
        for component in ("preload", "analyzer", "tools/xferscope"):
            for path in (ROOT / component).rglob("*.c"):
                text = path.read_text()
                met |= {(key, path.name) for key in CALL.findall(text)}
                met |= {(re.sub(r"%\w", "%", key), path.name) for key in FORMAT.findall(text)}
        self.assertGreater(len(met), 25)
        self.assertEqual({(key, file) for key, file in met if key not in known}, set())

    def test_the_pages_have_the_events(self):
        self.assertGreater(len(events()), 25)
        kinds = PAGE[PAGE.index("\n| kind | name |"):].lstrip("\n").partition("\n\n")[0]
        documented_kinds = re.findall(r"^\| (\d+) \| (\w+) \|", kinds, re.M)
        self.assertEqual(documented_kinds, [(str(number), name) for number, name, _ in events()])
        options = re.findall(r"`([a-z-]+)`", cells("dump.md", "`-k`, `--kind KIND,...`").split("|")[2])
        self.assertEqual(options, [word for _, _, word in events()])

    def test_all_that_is_counted_is_listed(self):
        """The header's counters of losses: in losses.def, and so wherever they are carried and shown."""
        listing = (ROOT / "include" / "xferscope" / "losses.def").read_text()
        rows = re.findall(r'^XFT_LOSS\((\w+), (\w+), "(\w+)", "([a-z-]+)",', listing, re.M)
        fields = re.findall(r"^    uint64_t (\w+_lost);", HEADER, re.M)
        self.assertGreater(len(fields), 3)
        self.assertEqual(sorted(field for _, field, _, _ in rows), sorted(fields))
        page = (ROOT / "docs" / "report-format.md").read_text()
        self.assertEqual([key for _, _, key, _ in rows if f"`{key}`" not in page], [])
        self.assertEqual([field for field in fields if f"| `{field}` |" not in PAGE], [])

    def test_the_pages_have_the_causes(self):
        self.assertEqual(len(causes()), 6)
        why = re.search(r"`aux` why: ([^.]+)\.", PAGE)[1]
        self.assertEqual([int(n) for n in re.findall(r"(?:^|, )(\d+) ", why)],
                         [number for number, _ in causes()])
        meaning = cells("report-format.md", "`moved_why_bytes`").split("|")[2]
        self.assertEqual(sorted(re.findall(r"`([a-z-]+)`", meaning)),
                         sorted(word for _, word in causes()))

    def test_the_page_has_the_launchers(self):
        table = (ROOT / "preload" / "record" / "ranks.def").read_text()
        variables = set(re.findall(r"^V\((\w+), \w+\)", table, re.M))
        launchers = re.findall(r'^L\("(\w+)", ', table, re.M)
        self.assertGreater(len(variables), 30)
        ranks = PAGE[PAGE.index("**Ranks**"):]
        self.assertEqual(variables - set(re.findall(r"`([A-Z0-9_]+)`", PAGE)), set())
        self.assertEqual(re.findall(r"^\| `(\w+)`[^|]*\| `", ranks, re.M), launchers)
        self.assertEqual(re.findall(r"`(\w+)`", cells("trace-format.md", "`rank.launcher`").split("|")[2]), launchers)

    def test_the_page_has_the_findings(self):
        findings = ROOT / "analyzer" / "findings"
        kinds = re.findall(r'^XFA_FINDING\(\w+, \w+,\s+"([^"]+)",', (findings / "kinds.def").read_text(), re.M)
        remedies = re.findall(r'^XFA_REMEDY\(\w+,\s+"([^"]+)",', (findings / "remedies.def").read_text(), re.M)
        page = (ROOT / "docs" / "analyze.md").read_text()
        rows = page[page.index("\n| kind | which transfers |"):].lstrip("\n").partition("\n\n")[0].splitlines()[2:]
        self.assertGreater(len(kinds), 5)
        self.assertEqual([re.match(r"\| `([a-z-]+)` \|", row)[1] for row in rows], kinds)
        self.assertEqual({word for row in rows for word in re.findall(r"`([a-z-]+)`", row.split("|")[4])},
                         set(remedies))
        for kind in kinds:
            named = re.compile(rf"^(/\*| \*)( -)? {kind}:", re.M)  # in the head of one file
            self.assertEqual(sum(bool(named.search(file.read_text())) for file in findings.glob("*.c")), 1, kind)

    def met(self, pattern, *components):
        return [str(path.relative_to(ROOT)) for component in components for path in sorted((ROOT / component).rglob("*.[ch]"))
                if re.search(pattern, path.read_text())]

    def test_one_dialect(self):
        components = ("include", "common", "symbols", "preload", "probe", "analyzer", "tools", "tests")
        self.assertEqual(self.met(r"#\s*define _GNU_SOURCE", *components), [])  # CMakeLists.txt does
        self.assertEqual(self.met(r"\b(__thread|_Thread_local|thread_local)\b", "preload"),
                         ["preload/base/attributes.h"])

    maxDiff = None

    def test_plain_words(self):
        """Words of a dialect that comments, messages and names had; NEW words of ours go into docs/glossary.md."""
        met = set()
        for path in sources():
            name = str(path.relative_to(ROOT))
            if path.resolve() == Path(__file__).resolve():
                continue
            text = path.read_text(errors="replace")
            for allowed in FORMATS:
                text = text.replace(allowed, "")
            met |= {(name, word.lower()) for word in DIALECT.findall(text + " " + path.name)}
        self.assertEqual("\n".join(f"{name}: {word}" for name, word in sorted(met)), "")


if __name__ == "__main__":
    unittest.main()
