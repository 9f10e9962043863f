"""The pages hold together: links lead somewhere, every command has its page, record.md knows every
option that the command prints, and reports are what is printed."""
import os
import re
import unittest
from pathlib import Path

from lab import XFERSCOPE, run

ROOT = Path(__file__).resolve().parents[2]
REPORT = re.compile(r"^    \$ build/bin/xferscope (?P<command>analyze [^\n]*)\n\n```\n(?P<text>.*?)^```$", re.M | re.S)
COMMANDS = ("run", "again", "apply", "live", "record", "probe", "analyze", "export", "dump", "doctor")


def pages():
    return [ROOT / "README.md", ROOT / "CHANGES.md", *sorted((ROOT / "docs").rglob("*.md"))]


def anchors(page):
    """Of the page's headings: lower case, without marks, a dash for each space."""
    text = re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.M | re.S)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")
            for title in re.findall(r"^#+ (.+)$", text, re.M)} | set(re.findall(r'<a (?:name|id)="([^"]+)"', text))


class Pages(unittest.TestCase):
    def test_links(self):
        missing = []
        for page in pages():
            for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", page.read_text()):
                if "://" not in target and not os.path.exists(page.parent / target):
                    missing.append(f"{page.relative_to(ROOT)}: {target}")
        self.assertEqual(missing, [])

    def test_links_to_headings(self):
        """What follows # in a link is a heading of the page, as GitHub names it."""
        missing, seen = [], 0
        for page in pages():
            for target, anchor in re.findall(r"\]\(([^)#\s]*)#([^)\s]+)\)", page.read_text()):
                other = (page.parent / target).resolve() if target else page
                if "://" not in target and other.suffix == ".md" and other.exists():
                    seen += 1
                    if anchor not in anchors(other):
                        missing.append(f"{page.relative_to(ROOT)}: {target}#{anchor}")
        self.assertGreater(seen, 50)
        self.assertEqual(missing, [])

    def test_result_pages_are_listed(self):
        """results/README.md has each of them."""
        folder = ROOT / "docs" / "results"
        listed = set(re.findall(r"\]\(([^)#/\s]+\.md)\)", (folder / "README.md").read_text()))
        self.assertEqual({page.name for page in folder.glob("*.md")} - {"README.md"}, listed)

    def test_components_have_the_headers_that_the_page_names(self):
        """architecture.md, "what it contains": `name.h` is a file of that component."""
        page = (ROOT / "docs" / "architecture.md").read_text()
        missing, seen = [], 0
        for row in re.findall(r"^\| \d+ \| `.*$", page, re.M):
            cells = row.split(" | ")
            folders = re.findall(r"`([^`]+/)`", cells[1])
            for name in re.findall(r"`([\w/]+\.(?:h|def))`", cells[2]):
                seen += 1
                if not any((ROOT / folder / name).is_file() for folder in [*folders, ""]):
                    missing.append(f"{folders}: {name}")
        self.assertGreater(seen, 30)
        self.assertEqual(missing, [])

    def test_the_glossary_names_what_there_is(self):
        """Of the sources' words: types, functions and constants that stand in a header, files and folders."""
        page = (ROOT / "docs" / "glossary.md").read_text()
        names = re.findall(r"`([^`]+)`", page[page.index("\n## Words of the sources\n"):])
        components = ("include", "preload", "probe", "symbols", "analyzer", "tools")
        headers = "\n".join(path.read_text() for component in components
                            for path in (ROOT / component).rglob("*.h"))
        missing = [name for name in names if "/" in name and not (ROOT / name).exists()]
        code = [name for name in names if re.fullmatch(r"(?:(?:struct|enum) )?(?:xf[astpw]_|sim_|XF[ASTPW]_)\w+(?:\(\))?", name)]
        self.assertGreater(len(code), 15)
        missing += [name for name in code if not re.search(rf"\b{re.escape(name.rstrip('()'))}", headers)]
        self.assertEqual(missing, [])

    def test_reports_in_the_pages(self):
        """Each is what its command prints on a terminal of 80 columns, to its end or as far as the page
        has it ("..."). UPDATE_GOLDEN=1 writes them anew."""
        by_page = {}
        for page in pages():
            for block in REPORT.finditer(page.read_text()):
                by_page.setdefault(page, []).append(block)
        self.assertGreaterEqual(len(by_page), 5)
        for page, blocks in by_page.items():
            for block in blocks:
                printed = self.printed(block["command"], block["text"])
                if os.environ.get("UPDATE_GOLDEN"):
                    page.write_text(page.read_text().replace(f"```\n{block['text']}```", f"```\n{printed}```"))
                else:
                    self.assertEqual(printed, block["text"], page.name)

    def printed(self, command, shown):
        done = run([XFERSCOPE, *command.split()], cwd=ROOT, env=dict(os.environ, COLUMNS="80"))
        self.assertEqual(done.returncode, 0, done.stderr)
        lines = done.stdout.decode().rstrip("\n").split("\n")
        if shown.endswith("...\n"):
            lines = [*lines[:shown.count("\n") - 1], "..."]
        return "\n".join(lines) + "\n"

    def test_slips_of_the_hand(self):
        for slip, meant in (("--versoin", "option '--versoin'; did you mean '--version'?"),
                            ("recrod", "command 'recrod'; did you mean 'record'?"),
                            ("--zzz", "option '--zzz'; xferscope --help lists them")):
            done = run([XFERSCOPE, slip])
            self.assertEqual((done.returncode, done.stderr.decode()), (2, f"xferscope: there is no {meant}\n"))

    def test_every_command_refuses_options_alike(self):
        for command in COMMANDS:
            for wrong, said in (("--hepl", "unknown option: --hepl; did you mean --help?"), ("-Z", "unknown option: -Z")):
                done = run([XFERSCOPE, command, wrong])
                self.assertEqual(done.stderr.decode(), f"xferscope {command}: {said}; see xferscope {command} --help\n")
                self.assertGreater(done.returncode, 0, command)
        for command, option in (("analyze", "-f"), ("dump", "-n"), ("export", "--output"), ("live", "--seconds"), ("probe", "-o"),
                                ("record", "--profile"), ("run", "-p"), ("again", "-o"), ("apply", "--plan"), ("doctor", "--format")):
            self.assertEqual(run([XFERSCOPE, command, option]).stderr.decode(),
                             f"xferscope {command}: {option} lacks its value; see xferscope {command} --help\n")

    def test_every_command_has_a_page(self):
        for command in COMMANDS:
            page = (ROOT / "docs" / f"{command}.md").read_text()
            self.assertTrue(page.startswith(f"# xferscope {command}\n"), command)

    def test_options_are_documented(self):
        for command in COMMANDS:
            usage = run([XFERSCOPE, command, "--help"]).stdout.decode()
            page = (ROOT / "docs" / f"{command}.md").read_text()
            for option in sorted(set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", usage))):
                self.assertIn(option, page, f"docs/{command}.md")

    def test_every_finding_and_remedy_has_its_row(self):
        """The table of findings names each kind, in a row of its own, and each remedy."""
        page = (ROOT / "docs" / "analyze.md").read_text()
        findings = ROOT / "analyzer" / "findings"
        kinds = re.findall(r'^XFA_FINDING\(\w+, \w+,\s+"([a-z-]+)"', (findings / "kinds.def").read_text(), re.M)
        remedies = re.findall(r'^XFA_REMEDY\(\w+,\s+"([a-z-]+)"', (findings / "remedies.def").read_text(), re.M)
        self.assertGreaterEqual(min(len(kinds), len(remedies)), 10)
        rows = re.findall(r"^\| `([a-z-]+)` \|", page[page.index("\n## Findings\n"):], re.M)
        self.assertEqual([kind for kind in kinds if rows.count(kind) != 1], [])
        self.assertEqual([remedy for remedy in remedies if f"`{remedy}`" not in page], [])

    def test_the_share_of_hashing_is_one(self):
        """What record.md promises of --content is the default of the setting, and what is hashed by default has less."""
        settings = (ROOT / "preload" / "base" / "settings.def").read_text()
        share = re.search(r'XFERSCOPE_CONTENT_SHARE", content_share, COUNT, "(\d+)"', settings)[1]
        page = (ROOT / "docs" / "record.md").read_text()
        content = (ROOT / "preload" / "content" / "content.h").read_text()
        default = re.search(r"XFS_CONTENT_AUTO_SHARE (\d+)", content)[1]
        self.assertEqual(re.findall(r"at most (\d+) % of the run time", page), [default])
        self.assertEqual(re.findall(r"\(these two: at most (\d+) %\)", page), [share])
        self.assertIn("in all, hashing takes at most this part", (ROOT / "docs" / "settings.md").read_text())


if __name__ == "__main__":
    unittest.main()
