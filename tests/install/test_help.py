"""--help of every subcommand and its page say the same: the same options, in both their forms, taking
the same or nothing; the same subcommands; and one version is shown everywhere."""
import json
import os
import re
import unittest
from pathlib import Path

from lab import XFERSCOPE, Bench, run
from usage import commands_of, options_of, usage_of

ROOT = Path(__file__).resolve().parents[2]
USAGE = usage_of(XFERSCOPE)


def heads(page):
    """What rows of tables and items of lists begin with."""
    cells = re.findall(r"^\| ((?:[^|\\]|\\.)+?) \|", page, re.M)
    return [cell.replace("\\|", "|") for cell in cells] + re.findall(r"^- (`-.+?`):(?:\s|$)", page, re.M)


def options_of_page(page):
    """{--output: (-o, takes something)}, from rows and items that begin with an option."""
    found = {}
    for cell in heads(page):
        if not cell.startswith("`-"):
            continue
        forms = re.findall(r"`([^`]+)`", cell)
        long = next((form for form in forms if form.startswith("--")), None)
        if long is None:
            raise AssertionError(f"an option without a long form: {cell}")
        name = re.match(r"--[a-z][a-z0-9-]*", long)[0]
        short = next((form[:2] for form in forms if re.match(r"-[a-zA-Z0-9]\b", form)), "")
        takes = len(long) > len(name) or found.get(name, ("", False))[1]
        found[name] = (short or found.get(name, ("",))[0], takes)
    return found


class Help(unittest.TestCase):
    maxDiff = None

    def test_options(self):
        for command in commands_of(USAGE):
            page = (ROOT / "docs" / f"{command}.md").read_text()
            said = {o.name: (o.short, bool(o.value or o.forms)) for o in options_of(usage_of(XFERSCOPE, command))}
            self.assertIn("--help", said, command)
            self.assertEqual(said, options_of_page(page), f"xferscope {command} --help, docs/{command}.md")

    def test_formats(self):
        """What --help lists as formats, the page has by the same words."""
        for command in commands_of(USAGE):
            page = (ROOT / "docs" / f"{command}.md").read_text()
            for option in options_of(usage_of(XFERSCOPE, command)):
                if option.name == "--format":
                    self.assertGreaterEqual(len(option.words()), 2, command)
                    self.assertEqual([w for w in option.words() if f"`{w}`" not in page], [], f"docs/{command}.md")

    def test_nothing_of_help_is_overlooked(self):
        """Every option that the text names has a line of its own there, or another command's page has it."""
        for command in commands_of(USAGE):
            usage = usage_of(XFERSCOPE, command)
            lines = {option.name for option in options_of(usage)}
            named = set(re.findall(r"(?<![\w-])--[a-z][a-z0-9-]*", usage))
            self.assertEqual(named - lines, set(), command)

    def test_help_fits(self):
        for command in [None, *commands_of(USAGE)]:
            for line in usage_of(XFERSCOPE, command).splitlines():
                self.assertLessEqual(len(line), 100, line)

    def test_subcommands(self):
        page = (ROOT / "docs" / "xferscope.md").read_text()
        rows = re.findall(r"^\| `([a-z]+)` \| (.+?) \| \[(\S+)\]\((\S+)\) \|$", page, re.M)
        self.assertEqual([name for name, *_ in rows], list(commands_of(USAGE)))
        for name, _, text, target in rows:
            self.assertEqual((text, target), (f"{name}.md",) * 2)
            title = (ROOT / "docs" / target).read_text().splitlines()[0]
            self.assertEqual(title, f"# xferscope {name}")

    def test_every_page_of_a_command_has_one(self):
        titled = {p.stem for p in (ROOT / "docs").glob("*.md") if p.read_text().startswith("# xferscope ")}
        self.assertEqual(titled, set(commands_of(USAGE)))


class Version(Bench):
    def test_one_version(self):
        version = os.environ["XFERSCOPE_VERSION"]
        self.assertEqual(run([XFERSCOPE, "--version"]).stdout.decode(), f"xferscope {version}\n")
        newest = re.search(r"^## (\S+) \(\d{4}-\d\d-\d\d\)$", (ROOT / "CHANGES.md").read_text(), re.M)
        self.assertEqual(newest[1], version)
        doctor = json.loads(run([XFERSCOPE, "doctor", "--format", "json"]).stdout)
        self.assertEqual(doctor["version"], version)


if __name__ == "__main__":
    unittest.main()
