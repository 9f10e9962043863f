"""The tables of components in docs/architecture.md against the includes of the sources.

Each part of the product ("### Recorder") has a line "All of it may use: ..." and a table of
components (directories), each on a floor. A component may include its own headers, what all of its
part may use, the components on lower floors of its part, and what its last column adds: components
and single headers in backquotes, libraries by name. "contracts" is include/xferscope/, "everything"
is everything. Each directory with sources is a component of its own; only one that may use
everything stands for the directories in it, too.
"""
import re
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(sys.argv.pop(1)) if len(sys.argv) > 1 else Path(__file__).resolve().parents[2]
CONTRACTS = "include/xferscope/"
SOURCES = {".c", ".h", ".S", ".def", ".cu"}
LIBRARIES = {  # by how their headers begin
    "zstd.h": "zstd", "jansson.h": "jansson", "libsmartcols": "libsmartcols", "hwloc": "hwloc",
    "numa": "libnuma", "xxhash.h": "xxHash", "elfutils/": "elfutils", "dwarf.h": "elfutils",
    "libelf.h": "elfutils", "libunwind.h": "libunwind", "cuda": "CUDA toolkit",
    "cupti": "CUDA toolkit", "mpi.h": "MPI", "nvml.h": "CUDA toolkit", "nvtx3/": "CUDA toolkit",
}


class Row:
    """What a component may use: of its part's line, of its own last column, and of lower floors."""

    def __init__(self, floor, common, others):
        names = re.findall(r"`([^`]+)`", common + others)
        self.floor = int(floor)
        self.words = re.sub(r"`[^`]*`", "", common + ", " + others)
        self.everything = "everything" in self.words
        self.components = {name for name in names if name.endswith("/")}
        self.headers = {name for name in names if name.endswith((".h", ".def"))}
        if "contracts" in self.words:
            self.components.add(CONTRACTS)


def rows_of(page):
    rows = {}
    for part in page.split("## Components", 1)[1].split("\n## ", 1)[0].split("\n### ")[1:]:
        common = re.search(r"^All of it may use: ([^.]+(?:\.[a-z][^.]*)*)\.", part, re.M)[1]
        here = {}
        for line in part.splitlines():
            cells = [cell.strip() for cell in line.strip("|").split("|")]
            if re.match(r"\| \d+ \| `", line) and len(cells) == 4:
                for component in re.findall(r"`([^`]+/)`", cells[1]):
                    here[component] = Row(cells[0], common, cells[3])
        for row in here.values():
            row.components |= {component for component, other in here.items() if other.floor < row.floor}
        rows |= here
    return rows


def sources_of(root):
    tops = ("include", "common", "symbols", "preload", "probe", "analyzer", "tools", "tests")
    known = set(tops)
    found = [path for top in tops for path in sorted((root / top).rglob("*")) if path.suffix in SOURCES]
    others = [path for path in sorted(root.glob("*/*")) if path.suffix in SOURCES
              and path.parts[len(root.parts)] not in known and not path.parts[len(root.parts)].startswith(".")
              and not (path.parent / "CMakeCache.txt").exists()]
    return found + others


def component_of(path, rows):
    """The row that a file belongs to; its own folder when there is none."""
    folder = path.rpartition("/")[0] + "/"
    for component, row in rows.items():
        if row.everything and folder.startswith(component):
            return component
    return folder


def includes_of(text):
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
    return re.findall(r'^\s*#\s*include\s+([<"])([^>"]+)[>"]', text, re.M)


def stands_alone(path):
    """Built by other compilers, without our include folders."""
    return path.endswith(".cu") or path.startswith(("tests/programs/", "tests/pairs/"))


def place_of(root, name):
    for folder in ("", "include/"):
        if ".." not in name and (root / folder / name).is_file():
            return folder + name
    return None


def library_complaint(row, path, name):
    for start, library in LIBRARIES.items():
        if name.startswith(start) and library not in row.words:
            return [f"{path}: {library} (<{name}>) is not in its component's column"]
    return []


def circle_in(edges):
    """One circle among the components, from the first of their names on, or None."""
    state = {}

    def visit(at, way):
        if state.get(at) == "done":
            return None
        if at in way:
            circle = way[way.index(at):]
            first = circle.index(min(circle))
            return circle[first:] + circle[:first + 1]
        for to in sorted(edges.get(at, ())):
            circle = visit(to, way + [at])
            if circle:
                return circle
        state[at] = "done"
        return None

    for component in sorted(edges):
        circle = visit(component, [])
        if circle:
            return circle
    return None


def complaints(root, page):
    rows = rows_of(page)
    wrong, edges, seen = [], {}, set()
    # A header that is named by itself counts as a component of its own in circles: others may stand on
    # it while the rest of its component stands on them.
    apart = {header for row in rows.values() for header in row.headers}
    for file in sources_of(root):
        path = file.relative_to(root).as_posix()
        component = component_of(path, rows)
        seen.add(component)
        row = rows.get(component)
        if row is None:
            wrong.append(f"{path}: no table has {component}")
            continue
        for kind, name in includes_of(file.read_text(errors="replace")):
            if kind == "<":
                wrong += [] if row.everything else library_complaint(row, path, name)
                continue
            place = place_of(root, name)
            if place is None:
                if not stands_alone(path):
                    wrong.append(f'{path}: "{name}" is no path from the root')
                continue
            other = component_of(place, rows)
            node = path if path in apart else component
            if not row.everything and (place if place in apart else other) != node:
                edges.setdefault(node, set()).add(place if place in apart else other)
            if not (row.everything or other == component or other in row.components or place in row.headers):
                wrong.append(f"{path}: {component} may not include {place}")
    wrong += [f"{component}: in the table, but without sources" for component in rows if component not in seen]
    for header in sorted(apart):
        if not (root / header).is_file():
            wrong.append(f"{header}: in the table, but not there")
    circle = circle_in(edges)
    if circle:
        wrong.append("a circle: " + " -> ".join(circle))
    return wrong


class Components(unittest.TestCase):
    def test_this_repository(self):
        page = (ROOT / "docs" / "architecture.md").read_text()
        self.assertGreater(len(rows_of(page)), 20)
        self.assertEqual(complaints(ROOT, page), [])


PAGE = """
## Components

Words.

### Shared

All of it may use: libc.

| floor | component | what lives there | others |
|---|---|---|---|
| 1 | `include/xferscope/` | contracts | |
| 1 | `common/` | ground | |

### Product

All of it may use: contracts, `common/text.h`. It links something.

| floor | component | what lives there | others |
|---|---|---|---|
| 1 | `probe/` | above | zstd |
| 2 | `probe/top/` | above it | |
| 2 | `analyzer/` | above it | `other/one.h` |
| 2 | `other/` | apart | |

### Tests

All of it may use: everything.

| floor | component | what lives there | others |
|---|---|---|---|
| 1 | `tests/` | all | |

## More
"""


class Checker(unittest.TestCase):
    """The same on small trees."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)
        for path, text in {
            "include/xferscope/trace.h": "#include <stdint.h>\n",
            "common/text.h": "",
            "common/secret.h": "",
            "probe/one.h": '#include "common/text.h"\n',
            "probe/main.c": '#include <zstd.h>\n#include "xferscope/trace.h"\n#include "probe/one.h"\n',
            "probe/top/t.h": '#include "probe/one.h"\n',
            "other/one.h": "",
            "other/two.h": "",
            "analyzer/a.c": '#include "probe/one.h"\n#include "other/one.h"\n/* #include "other/two.h" */\n',
            "tests/deep/t.c": '#include "analyzer/a.c"\n#include "probe/one.h"\n',
        }.items():
            self.put(path, text)

    def put(self, path, text):
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    def check(self, *expected, page=PAGE):
        self.assertEqual(complaints(self.root, page), list(expected))

    def test_nothing_wrong(self):
        self.check()

    def test_another_part(self):
        self.put("common/text.c", '#include "probe/one.h"\n')
        self.check("common/text.c: common/ may not include probe/one.h")

    def test_a_higher_floor(self):
        self.put("probe/low.c", '#include "probe/top/t.h"\n')
        self.check("probe/low.c: probe/ may not include probe/top/t.h", "a circle: probe/ -> probe/top/ -> probe/")

    def test_the_same_floor(self):
        self.put("analyzer/a.c", '#include "probe/top/t.h"\n')
        self.check("analyzer/a.c: analyzer/ may not include probe/top/t.h")

    def test_another_header_of_the_component(self):
        self.put("analyzer/a.c", '#include "other/two.h"\n')
        self.check("analyzer/a.c: analyzer/ may not include other/two.h")

    def test_all_of_a_part(self):
        self.put("other/o.c", '#include "common/text.h"\n#include "xferscope/trace.h"\n')
        self.check()
        self.put("other/o.c", '#include "common/secret.h"\n')
        self.check("other/o.c: other/ may not include common/secret.h")

    def test_contracts_are_to_be_named(self):
        self.put("common/text.c", '#include "xferscope/trace.h"\n')
        self.check("common/text.c: common/ may not include include/xferscope/trace.h")

    def test_library(self):
        self.put("analyzer/z.c", "#include <zstd.h>\n")
        self.check("analyzer/z.c: zstd (<zstd.h>) is not in its component's column")

    def test_component_that_the_table_lacks(self):
        self.put("probe/new/n.c", "")
        self.put("outside/o.c", "")
        self.check("probe/new/n.c: no table has probe/new/", "outside/o.c: no table has outside/")

    def test_component_without_sources(self):
        page = PAGE.replace("| 2 | `other/`", "| 2 | `gone/` | - | |\n| 2 | `other/`")
        self.check("gone/: in the table, but without sources", page=page)

    def test_circle(self):
        page = PAGE.replace("ground | |", "ground | `probe/` |")
        self.put("common/text.c", '#include "probe/two.h"\n')
        self.put("probe/two.h", "")
        self.put("probe/two.c", '#include "common/secret.h"\n')
        page = page.replace("`common/text.h`", "`common/`")
        self.check("a circle: common/ -> probe/ -> common/", page=page)

    def test_header_apart_is_no_circle(self):
        page = PAGE.replace("ground | |", "ground | `probe/base.h` |").replace("`common/text.h`", "`common/`")
        self.put("probe/base.h", "")
        self.put("common/text.c", '#include "probe/base.h"\n')
        self.check(page=page)
        self.put("probe/base.h", '#include "common/text.h"\n')
        self.check("a circle: common/ -> probe/base.h -> common/", page=page)

    def test_no_path_from_the_root(self):
        self.put("probe/main.c", '#include "one.h"\n#include "../common/text.h"\n')
        self.check('probe/main.c: "one.h" is no path from the root',
                   'probe/main.c: "../common/text.h" is no path from the root')


if __name__ == "__main__":
    unittest.main()
