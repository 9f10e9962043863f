"""Sizes of the sources (docs/CONTRIBUTING.md), and the files that their comments and the pages name: they
are there."""
import re
import subprocess
import sys
import unittest
from pathlib import Path

ROOT = Path(sys.argv.pop(1)) if len(sys.argv) > 1 else Path(__file__).resolve().parents[2]
PRODUCT = ("analyzer", "common", "preload", "probe", "symbols", "tools")
MOST_FUNCTION = 60
MOST_FILE = 600

COMMENT = re.compile(r"/\*.*?\*/", re.S)
NAMED = re.compile(r"(?<![\w./<-])(?:[a-z][\w-]*/)*[a-z][\w-]*\.(?:c|h|def)\b(?!\()")
OF_OTHERS = {"a.c", "cupti.h", "numa.h", "xxhash.h"}  # of libraries, and of programs in examples
PAGES = ("CONTRIBUTING.md", "architecture.md", "glossary.md", "mutations.md")


def files():
    listed = subprocess.run(["git", "-C", str(ROOT), "ls-files"], capture_output=True, text=True, check=False)
    names = listed.stdout.split() or [str(path.relative_to(ROOT)) for name in (*PRODUCT, "include", "tests", "docs")
                                      for path in (ROOT / name).rglob("*") if path.is_file()]
    return [name for name in names if "/node_modules/" not in name and (ROOT / name).is_file()]


FILES = files()
SOURCES = [name for name in FILES if re.match(rf"({'|'.join(PRODUCT)}|include)/.*\.(c|h|cu|def)$", name)]


def functions(text):
    """Lines and first line of each function: from behind what stands before it to its closing brace."""
    lines = text.split("\n")
    opened = None
    for number, line in enumerate(lines):
        if line == "{":
            opened = number
        elif line == "}" and opened is not None:
            first = opened - 1
            while first > 0 and lines[first - 1] and not re.match(r"[}#/ ]\*?|.*[;{]$", lines[first - 1]):
                first -= 1
            yield number - first + 1, lines[first]
            opened = None


def unknown(text, known):
    """Names of files in a text that stand for no file: by the end of their path."""
    return sorted({name for name in NAMED.findall(text)
                   if name not in OF_OTHERS and "NAME" not in name and not any(f"/{file}".endswith(f"/{name}") for file in known)})


class Sources(unittest.TestCase):
    def test_sizes(self):
        seen = 0
        for name in SOURCES:
            if not re.search(r"\.(c|h|cu)$", name):
                continue
            text = (ROOT / name).read_text()
            self.assertLessEqual(text.count("\n"), MOST_FILE, name)
            for lines, first in functions(text):
                self.assertLessEqual(lines, MOST_FUNCTION, (name, first))
                seen += 1
        self.assertGreater(seen, 5000)

    def test_functions_are_measured(self):
        body = "\n".join(["    work();"] * 3)
        text = f"int a;\n\nstatic int\none(int a,\n    int b)\n{{\n{body}\n}}\n\nint two(void)\n{{\n    work();\n}}\n"
        self.assertEqual([lines for lines, _ in functions(text)], [8, 4])

    def test_names_in_comments(self):
        known = set(FILES)
        met = {}
        for name in SOURCES:
            wrong = unknown("\n".join(COMMENT.findall((ROOT / name).read_text())), known)
            if wrong:
                met[name] = wrong
        self.assertEqual(met, {})

    def test_names_in_pages(self):
        known = set(FILES)
        for page in PAGES:
            text = re.sub(r"^(    |```).*$", "", (ROOT / "docs" / page).read_text(), flags=re.M)
            self.assertEqual(unknown(text, known), [], page)

    def test_a_name_that_is_none(self):
        self.assertEqual(unknown("see gone.h, base/line.h, one.c", {"analyzer/base/line.h", "one.c"}), ["gone.h"])


if __name__ == "__main__":
    unittest.main()
