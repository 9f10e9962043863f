"""analyze --format markdown, read by cmark-gfm as GitHub reads it: its tables hold what JSON says, names
mean nothing but themselves, and it has room in a comment.

markdown_test.py DRIVER MAKE_TRACE CMARK DATA_DIR
"""

import json
import os
import subprocess
import sys
import tempfile
import unittest
from html.parser import HTMLParser

DRIVER, MAKE, CMARK, DATA = sys.argv[1:5]
MOST = 65536  # characters of a comment
EXTENSIONS = [word for name in ("table", "strikethrough", "autolink", "tasklist") for word in ("-e", name)]
TAGS = {"h3", "p", "code", "table", "thead", "tbody", "tr", "th", "td", "details", "summary", "strong", "ul",
        "li", "em"}


class Page(HTMLParser):
    """Tables as lists of rows of texts, summaries, and what stands outside of <code>."""

    def __init__(self, html):
        super().__init__()
        self.tags, self.open, self.tables, self.summaries, self.titles, self.outside = set(), [], [], [], [], ""
        self.feed(html)
        assert not self.open, self.open

    def handle_starttag(self, tag, attributes):
        self.tags.add((tag, *(name for name, _ in attributes)))
        self.open.append(tag)
        if tag == "table":
            self.tables.append([])
        elif tag == "tr":
            self.tables[-1].append([])
        elif tag in ("td", "th"):
            self.tables[-1][-1].append("")
        elif tag == "summary":
            self.summaries.append("")
        elif tag == "h3":
            self.titles.append("")

    def handle_endtag(self, tag):
        assert self.open.pop() == tag, tag

    def handle_data(self, data):
        if "td" in self.open or "th" in self.open:
            self.tables[-1][-1][-1] += data
        if "summary" in self.open:
            self.summaries[-1] += data
        if "h3" in self.open:
            self.titles[-1] += data
        if "code" not in self.open:
            self.outside += data


class Markdown(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="xferscope-")
        self.addCleanup(self.folder.cleanup)

    def make(self, *scenario):
        path = os.path.join(self.folder.name, "run.trace")
        subprocess.run([MAKE, scenario[0], path, *scenario[1:]], check=True)
        return path

    def analyze(self, *arguments):
        done = subprocess.run([DRIVER, "analyze", *arguments], capture_output=True, timeout=300, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout.decode()

    def page(self, *arguments):
        text = self.analyze(*arguments, "-f", "markdown")
        self.assertLess(len(text), MOST)
        html = subprocess.run([CMARK, "--unsafe", *EXTENSIONS], input=text.encode(), capture_output=True,
                              check=True).stdout.decode()
        page = Page(html)
        self.assertEqual({tag for tag in page.tags if len(tag) > 1} - {("td", "align"), ("th", "align")}, set())
        self.assertEqual({tag[0] for tag in page.tags} - TAGS, set())
        for table in page.tables:
            self.assertEqual({len(row) for row in table}, {len(table[0])})
        return text, page

    def test_as_in_json(self):
        profile = ("-p", os.path.join(DATA, "h200.json"))
        for name, title in (("h200-static", "141 ms -> 96.6 ms (32 % less) with 2 changes"),
                            ("h200-pytorch", "983 ms -> 903 ms (8.1 % less) with 1 change")):
            run = (os.path.join(DATA, f"{name}.xft"), *profile)
            text, page = self.page(*run)
            report = json.loads(self.analyze(*run, "-f", "json"))
            findings = [one for one in report["findings"] if not one["saving_s"]["idle"]]
            self.assertEqual(page.titles, [f"xferscope: {title}"])
            table, transfers = page.tables
            self.assertEqual(len(page.summaries), len(findings) + 1)
            self.assertEqual(len(transfers) - 1, len(report["transfers"]))
            for i, (row, one) in enumerate(zip(table[1:], findings)):
                self.assertEqual(row[0], str(i + 1))
                number, unit, *words = row[1].replace(",", "").split()
                scale = {"s": 1, "ms": 1e-3, "us": 1e-6}[unit]
                saving = one["saving_s"]
                behind = (saving["order"] or 0) > 1
                self.assertAlmostEqual(float(number) * scale / (saving["added"] if behind else saving["likely"]), 1, 1)
                instead = ["instead", "of", str(saving["instead_of"])]
                self.assertEqual(words, ["more"] if behind else [] if saving["order"] else instead)
                self.assertTrue(row[3].startswith(one["sites"][0]["text"]), row)
                self.assertEqual(row[4], one["kind"])
                self.assertIn(one["fix"], page.outside)
                self.assertTrue(page.summaries[i].startswith(f"{i + 1}. {one['kind']}: "))
            for row, one in zip(transfers[1:], report["transfers"]):
                self.assertEqual((row[0], row[3]), (one["site"]["text"], str(one["transfers"])))
            self.assertNotIn("Cut here", text)

    def test_sites(self):
        """The table counts those behind the first, a finding's own list those behind the fifth."""
        subprocess.run([MAKE, "profile", os.path.join(self.folder.name, "p.json")], check=True)
        run = (self.make("findings"), "-p", os.path.join(self.folder.name, "p.json"))
        text, page = self.page(*run)
        findings = [one for one in json.loads(self.analyze(*run, "-f", "json"))["findings"]
                    if not one["saving_s"]["idle"]]
        counts = [len(one["sites"]) for one in findings]
        self.assertTrue({1, 2} <= set(counts) and max(counts) > 5, counts)
        shown = text.split("<details><summary>")[1:]
        for row, section, one, count in zip(page.tables[0][1:], shown, findings, counts):
            others = {1: "", 2: " and 1 other"}.get(count, f" and {count - 1} others")
            self.assertEqual(row[3], one["sites"][0]["text"] + others)
            self.assertEqual(section.count("\n- <code>"), min(count, 5))
            self.assertEqual(f"\n- and {count - 5} more\n" in section, count > 5)

    def test_hostile_names(self):
        text, page = self.page(self.make("hostile"))
        for sign in ("\x1b", "\u202e", "|", "`", "U+202E", "FAKE"):
            self.assertNotIn(sign, page.outside)
        self.assertIn("<U+001B>[2J<U+000A>", "".join(cell for row in page.tables[0] for cell in row))
        self.assertNotIn("\x1b", text)

    def test_too_much(self):
        """Whole rows, closed, and a line that says so; names of people and issues call nobody."""
        run = self.make("sites")
        text, page = self.page(run, "-n", "0")
        self.assertGreater(len(text), MOST - 1000)
        self.assertTrue(text.rstrip("\n").endswith("`xferscope analyze` has all of it.*"))
        self.assertLess(len(page.tables[-1]), 1200)
        self.assertNotIn("@", page.outside)
        self.assertIn("<...>|`*_@site#0_00", page.tables[0][1][-3])
        self.assertNotIn("#", page.outside.replace("#\n", ""))
        text, page = self.page(run)
        self.assertNotIn("Cut here", text)
        self.assertEqual(len(page.tables[-1]), 1 + 20)
        self.assertIn("and 1180 more", page.outside)

    def test_a_part(self):
        run = (os.path.join(DATA, "h200-static.xft"), "-p", os.path.join(DATA, "h200.json"))
        _, page = self.page(*run, "--kind", "D2H")
        self.assertEqual([row[0] for row in page.tables[-1][1:]], ["download_result (unoptimised.cu:98)"])
        self.assertIn("1 of 3 rows of transfers, 3 of 5 findings", page.outside)
        text, page = self.page(*run, "--site", "nowhere")
        self.assertEqual(len(text.splitlines()), 2)
        self.assertIn("nothing matches --site nowhere; call sites are: ", page.outside)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
