"""analyze --compare, from outside: its text and JSON against golden files and the schema, what it makes of
repetitions, and how it ends.

compare_test.py DRIVER MAKE_TRACE SCHEMA GOLDEN_DIR. UPDATE_GOLDEN=1 in the environment writes the
golden files anew instead of comparing.
"""

import html
import json
import os
import re
import subprocess
import sys
import tempfile
import unicodedata
import unittest

import jsonschema

DRIVER, MAKE, SCHEMA, GOLDEN = sys.argv[1:5]
RUNS = 5  # repetitions that are made of each version


class Compare(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="xferscope-")
        cls.addClassCleanup(cls.folder.cleanup)
        cls.make("profile", "machine.json", "machine")
        cls.make("profile", "other.json", "other")
        for version in ("before", "after", "slow"):
            for i in range(RUNS):
                cls.make("compare", f"{version}{i}.trace", f"{version}:{i}")

    @classmethod
    def make(cls, scenario, name, argument=""):
        subprocess.run([MAKE, scenario, os.path.join(cls.folder.name, name), argument], check=True)
        return name

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def analyze(self, *arguments, columns=120):
        environment = dict(os.environ, COLUMNS=str(columns), LC_ALL="C.UTF-8")
        done = subprocess.run([DRIVER, "analyze", *arguments], capture_output=True, cwd=self.folder.name,
                              env=environment, timeout=300, check=False)
        return done.returncode, done.stdout.decode(), done.stderr.decode().splitlines()

    def compare(self, *arguments, status=0):
        """The comparison in JSON, which fits the schema."""
        found, out, said = self.analyze("--format", "json", "--compare", *arguments)
        self.assertEqual(found, status, said)
        document = json.loads(out)
        with open(SCHEMA, encoding="utf-8") as file:
            jsonschema.validate(document, json.load(file))
        return document

    def versions(self, before, after, runs=RUNS):
        return [*(f"{before}{i}.trace" for i in range(runs)), "--to", *(f"{after}{i}.trace" for i in range(runs))]

    # ---- what is shown -----------------------------------------------------------------------

    def golden(self, name, *cases):
        text = ""
        for columns, arguments in cases:
            status, out, said = self.analyze(*arguments, columns=columns)
            lines = "".join(f"stderr: {line}\n" for line in said)
            text += f"$ analyze {' '.join(arguments)}   # {columns} columns, status {status}\n{lines}{out}"
        path = os.path.join(GOLDEN, name)
        if os.environ.get("UPDATE_GOLDEN") == "1":
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
        with open(path, encoding="utf-8") as file:
            self.assertEqual(file.read(), text)

    def test_text(self):
        two = ("--compare", "before0.trace", "after0.trace", "-p", "machine.json")
        slow = ("--compare", *self.versions("before", "slow", 4), "-p", "machine.json", "--fail-on", "5")
        self.make("rank", "rank.trace", "0")
        self.golden("compare.txt", (80, two), (200, two), (120, ("--compare", *self.versions("before", "after"))),
                    (80, slow), (100, ("--compare", "before0.trace", "rank.trace", "-n", "2")))

    def test_json(self):
        self.golden("compare.json.txt", (80, ("--compare", "before0.trace", "after0.trace", "-p", "machine.json", "-f", "json")))

    def test_markdown(self):
        self.make("hostile", "hostile.trace")
        slow = ("--compare", *self.versions("before", "slow", 4), "-p", "machine.json", "--fail-on", "5")
        self.golden("compare.md.txt", *((80, (*arguments, "-f", "markdown")) for arguments in (
            ("--compare", "before0.trace", "after0.trace", "-p", "machine.json"), slow,
            ("--compare", "before0.trace", "hostile.trace", "-n", "2"))))

    def test_html(self):
        """The page holds what JSON says, and leads with what text leads with."""
        runs = ("--compare", "before0.trace", "after0.trace", "-p", "machine.json")
        _, page, said = self.analyze(*runs, "-f", "html")
        if any("this build has no HTML report" in line for line in said):
            self.skipTest("the build has no HTML report")
        blocks = re.findall(r'<script type="application/json" id="(\w+)">(.*?)</script>', page, re.S)
        _, document, _ = self.analyze(*runs, "-f", "json")
        self.assertEqual([name for name, _ in blocks], ["report", "timeline"])
        self.assertEqual(json.loads(blocks[0][1]), json.loads(document))
        self.assertEqual(blocks[1][1], "null")
        _, text, _ = self.analyze(*runs)
        [headline] = re.findall(r'<meta name="headline" content="([^"]*)">', page)
        self.assertIn(html.unescape(headline), " ".join(text.split()))

    def test_fits(self):
        for arguments in (["before0.trace", "after0.trace", "-p", "machine.json"], self.versions("before", "slow")):
            for columns in (80, 100, 200):
                _, out, _ = self.analyze("--compare", *arguments, columns=columns)
                for line in out.splitlines():
                    self.assertLessEqual(len(line), columns, line)

    # ---- what is compared --------------------------------------------------------------------

    def rows(self, document):
        return {(row["after"] or row["before"])["site"]: row for row in document["transfers"]}

    def test_before_and_after(self):
        document = self.compare("before0.trace", "after0.trace", "-p", "machine.json")
        rows = self.rows(document)
        frame = rows["upload_frame (app.c:23)"]
        self.assertEqual(frame["differs"], ["line", "memory"])
        self.assertEqual((frame["before"]["src_memory"], frame["after"]["src_memory"]), ("pageable", "pinned"))
        self.assertEqual(frame["time"]["verdict"], "faster")
        self.assertEqual(rows["upload_frame (app.c:30)"]["time"]["verdict"], "within-noise")
        self.assertEqual(rows["upload_frame (app.c:30)"]["before"]["site"], "upload_frame (app.c:27)")
        self.assertEqual(rows["save (app.c:50)"]["in"], "before")
        self.assertEqual(rows["check (app.c:60)"]["in"], "after")
        self.assertIsNone(rows["finish (app.c:73)"]["time"]["verdict"])  # a single copy
        self.assertFalse(document["noise"]["known"])
        self.assertEqual(document["run"]["span"]["verdict"], "faster")
        self.assertEqual(document["advice"]["predicted"], "set")
        self.assertEqual(document["advice"]["payoffs"][0]["paid"], "within")
        gone = {finding["kind"] for finding in document["findings"] if finding["stands"] == "gone"}
        self.assertIn("pageable-host-memory", gone)

    def test_the_same_run(self):
        document = self.compare("before0.trace", "before0.trace", "-p", "machine.json", "--fail-on", "0")
        self.assertFalse(document["fail_on"]["failed"])
        self.assertEqual({row["in"] for row in document["transfers"]}, {"both"})
        self.assertEqual({row["time"]["verdict"] for row in document["transfers"]}, {"within-noise", None})
        self.assertEqual({finding["stands"] for finding in document["findings"]}, {"stays"})
        self.assertEqual(document["advice"]["predicted"], "nothing")
        self.assertEqual([document["run"][key]["verdict"] for key in ("span", "wall", "transfers")], ["within-noise"] * 3)

    def test_repetitions_of_one_version(self):
        """Noise alone: no verdict is anything else."""
        document = self.compare("before0.trace", "before2.trace", "before4.trace", "before1.trace", "--to",
                                "before3.trace", "before1.trace", "before0.trace", "before2.trace", "--fail-on", "0")
        self.assertTrue(document["noise"]["known"])
        self.assertEqual({row["time"]["verdict"] for row in document["transfers"]}, {"within-noise"})
        self.assertEqual(document["run"]["span"]["verdict"], "within-noise")
        self.assertGreaterEqual(document["run"]["span"]["confidence"], 0.95)

    def test_repetitions(self):
        document = self.compare(*self.versions("before", "slow"), "-p", "machine.json", "--fail-on", "49", status=5)
        self.assertEqual(len(document["before"]["runs"]), RUNS)
        self.assertTrue(document["noise"]["known"])
        self.assertTrue(document["fail_on"]["failed"])
        span = document["run"]["span"]
        self.assertEqual(span["verdict"], "slower")
        self.assertLess(span["low_s"], span["shift_s"])
        self.assertLess(span["shift_s"], span["high_s"])
        self.assertEqual(self.rows(document)["upload_frame (app.c:20)"]["time"]["verdict"], "slower")
        self.assertEqual(self.rows(document)["save (app.c:50)"]["time"]["verdict"], "within-noise")

    def test_order_of_operands_and_options(self):
        plain = self.compare("before0.trace", "before1.trace", "--to", "after0.trace")
        for arguments in (["before0.trace", "-n", "0", "before1.trace", "--to", "-n", "0", "after0.trace"],
                          ["before0.trace", "before1.trace", "--to", "--", "after0.trace"]):
            self.assertEqual(self.compare(*arguments), plain)

    def test_top(self):
        whole = self.compare("before0.trace", "after0.trace")["transfers"]
        self.assertEqual(self.compare("before0.trace", "after0.trace", "-n", "2")["transfers"], whole[:2])
        _, out, _ = self.analyze("--compare", "before0.trace", "after0.trace", "-n", "2")
        self.assertIn(f"... and {len(whole) - 2} more", out)

    def test_another_machine(self):
        document = self.compare("before0.trace", "after0.trace", "-p", "other.json")
        self.assertTrue(document["warnings"])
        self.make("simulated", "simulated.trace")
        document = self.compare("before0.trace", "simulated.trace")
        self.assertTrue([line for line in document["warnings"] if line.startswith("GPU: a real one")])
        _, out, said = self.analyze("--compare", "before0.trace", "simulated.trace")
        self.assertIn("SIMULATED GPU", out)
        self.assertTrue([line for line in said if "GPU: a real one" in line])

    # ---- how it ends -------------------------------------------------------------------------

    def test_wrong_usage(self):
        two = ("before0.trace", "after0.trace")
        many = ["before0.trace"] * 33
        for arguments in (("--compare",), ("--compare", "before0.trace"), ("--compare", *two, "slow0.trace"),
                          ("--compare", "--to", *two), ("--compare", *two, "--to"), (*two, "--to", "slow0.trace"),
                          (*two, "--fail-on", "5"), ("--compare", *two, "--fail-on", "-1"),
                          ("--compare", *two, "--fail-on", "five"), ("--compare", *two, "--fail-on", "nan"),
                          ("--compare", *two, "--fail-on", "inf"), ("--compare", *two, "--fail-on", ""),
                          ("--compare", "before0.trace", "--to", "after0.trace", "--to", "slow0.trace"),
                          ("--compare", *two, "--per-transfer"), ("--compare", *two, "--replay"),
                          ("--compare", *two, "--sort", "bytes"), ("--compare", *two, "--site", "x"), ("--compare", "", "after0.trace"),
                          ("--compare", *many, "--to", "after0.trace"), ("--compare", *two, "-f", "yaml")):
            with self.subTest(arguments=arguments):
                status, out, said = self.analyze(*arguments)
                self.assertEqual((status, out, len(said)), (2, "", 1), said)

    def test_what_cannot_be_read(self):
        status, out, said = self.analyze("--compare", "before0.trace", "nowhere.xft")
        self.assertEqual((status, out, len(said)), (1, "", 1), said)
        # of repetitions the others are compared
        status, out, said = self.analyze("--compare", "before0.trace", "nowhere.xft", "--to", "after0.trace")
        self.assertEqual((status, len(said)), (3, 1), said)
        self.assertIn("faster", out)
        self.make("newer", "newer.trace")
        status, out, said = self.analyze("--compare", "newer.trace", "before0.trace")
        self.assertEqual((status, out), (1, ""), said)

    def test_damaged(self):
        with open(self.path("before0.trace"), "rb") as file:
            whole = file.read()
        for part in (0.3, 0.6, 0.9):
            with open(self.path("cut.trace"), "wb") as file:
                file.write(whole[:int(len(whole) * part)])
            status, out, said = self.analyze("--compare", "cut.trace", "before1.trace", "-f", "json")
            self.assertIn(status, (1, 3), said)
            self.assertTrue(said)
            if status == 3:
                self.assertTrue([line for line in json.loads(out)["warnings"] if "was lost" in line])

    def test_a_profile_that_cannot_be_read(self):
        document = self.compare("before0.trace", "after0.trace", "-p", "nowhere.json", status=3)
        self.assertEqual(document["run"]["span"]["verdict"], "faster")

    def test_hostile(self):
        """Names with marks and controls are shown as such, and an array of shapes is survived."""
        self.make("hostile", "hostile.trace")
        status, out, said = self.analyze("--compare", "hostile.trace", "before0.trace")
        self.assertIn(status, (0, 3), said)
        for character in out + "".join(said):
            self.assertTrue(character == "\n" or unicodedata.category(character) not in ("Cc", "Cf"), repr(character))
        self.compare("hostile.trace", "hostile.trace", status=status)
        for i in range(13):
            self.make("ill", "ill.trace", str(i))
            for pair in (("ill.trace", "before0.trace"), ("before0.trace", "ill.trace"), ("ill.trace", "ill.trace")):
                status, _, said = self.analyze("--compare", *pair)
                self.assertIn(status, (0, 1, 3), said)

    def test_output_that_cannot_be_written(self):
        status, _, said = self.analyze("--compare", "before0.trace", "after0.trace", "-o", "/dev/full")
        self.assertEqual((status, len(said)), (4, 1), said)
        status, _, _ = self.analyze("--compare", "before0.trace", "slow0.trace", "--fail-on", "1", "-o", "/dev/full")
        self.assertEqual(status, 4)

    def test_losses_and_the_limit(self):
        """The exit status says that it is slower, whatever was lost."""
        self.make("lossy", "lossy.trace", "times")
        self.assertEqual(self.analyze("--compare", "lossy.trace", "lossy.trace")[0], 3)
        status, _, _ = self.analyze("--compare", "before0.trace", "nowhere.xft", "--to", "slow0.trace", "--fail-on", "5")
        self.assertEqual(status, 5)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
