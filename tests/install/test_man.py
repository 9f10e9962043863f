"""Pages of the manual: one for the command and each subcommand, made from its page in docs/, shown
without a warning, with each option of --help, and as wide as the terminal."""
import gzip
import re
import shutil
import subprocess
import unittest

from lab import BUILD, XFERSCOPE, run
from usage import commands_of, options_of, usage_of

MANUAL = BUILD / "install"
COMMANDS = commands_of(usage_of(XFERSCOPE))
PAGES = ["xferscope", *(f"xferscope-{name}" for name in COMMANDS)]


def shown(page, width=80):
    command = ["groff", "-man", "-t", "-ww", "-Tutf8", f"-rLL={width - 2}n", "-P-c", "-P-b", "-P-u"]
    done = subprocess.run(command, input=gzip.decompress(page.read_bytes()), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    return done.stdout.decode(), done.stderr.decode()


class Manual(unittest.TestCase):
    def test_one_for_each(self):
        self.assertEqual(sorted(p.name for p in MANUAL.glob("*.1.gz")), sorted(f"{name}.1.gz" for name in PAGES))

    @unittest.skipUnless(shutil.which("mandoc"), "no mandoc")
    def test_lint(self):
        for name in PAGES:
            done = run(["mandoc", "-Tlint", "-Wstyle", MANUAL / f"{name}.1.gz"])
            self.assertEqual((done.stdout + done.stderr).decode(), "", name)

    @unittest.skipUnless(shutil.which("groff"), "no groff")
    def test_shown(self):
        for name in PAGES:
            text, warnings = shown(MANUAL / f"{name}.1.gz")
            self.assertEqual(warnings, "", name)
            self.assertRegex(text, r"(?m)^NAME\n +" + name + r" [-‐] \w", name)
            for heading in ("SYNOPSIS", "DESCRIPTION", "SEE ALSO"):
                self.assertRegex(text, f"(?m)^{heading}$", name)
            self.assertNotRegex(text, r"\\f|\\&|\]\(|\*\*", name)  # nothing of either language is left

    @unittest.skipUnless(shutil.which("groff"), "no groff")
    def test_says_where(self):
        """What a link leads to is said in words: nothing ends in "(how)"."""
        for name in PAGES:
            text = " ".join(shown(MANUAL / f"{name}.1.gz")[0].replace("‐", "-").split())
            self.assertEqual(re.findall(r"\((?:how|why|see (?:above|below|there)|results?|measured|checked)\)|"
                                        r"[,;] see (?:above|below|there)[.|]", text), [], name)
        text = " ".join(shown(MANUAL / "xferscope.1.gz")[0].replace("‐", "-").split())
        self.assertIn('(how: xferscope-analyze(1), "The machine profile")', text)
        text = " ".join(shown(MANUAL / "xferscope-analyze.1.gz")[0].replace("‐", "-").split())
        self.assertIn('see above ("Reading the report")', text)
        self.assertIn('(how: method.md, "Achieved")', text)

    @unittest.skipUnless(shutil.which("groff"), "no groff")
    def test_width(self):
        """But for what is shown as it is: code, which is indented by four more."""
        for name in PAGES:
            for line in shown(MANUAL / f"{name}.1.gz")[0].splitlines():
                if not line.startswith(" " * 11) or line.startswith(" " * 14):
                    self.assertTrue(len(line) <= 80 or re.fullmatch(r" *\S+", line) or line.startswith(" " * 14), line)

    @unittest.skipUnless(shutil.which("groff"), "no groff")
    def test_options(self):
        for command in COMMANDS:
            text, _ = shown(MANUAL / f"xferscope-{command}.1.gz")
            text = text.replace("‐", "-").replace("−", "-")
            for option in options_of(usage_of(XFERSCOPE, command)):
                self.assertRegex(text, rf"(?m)^ +.*{option.name}\b", command)


if __name__ == "__main__":
    unittest.main()
