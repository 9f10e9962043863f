"""What the tests of `xferscope export` share: runs that are made for it and recorded ones, and what
analyze says of them, which every format has to agree with.

XFERSCOPE_DRIVER, XFERSCOPE_MAKE and XFERSCOPE_DATA name the analyzer's driver, the maker of traces and
the folder of recorded runs."""

import collections
import functools
import json
import math
import os
import subprocess
import tempfile
import unicodedata
import unittest
from pathlib import Path

DRIVER = os.environ["XFERSCOPE_DRIVER"]
MAKE = os.environ["XFERSCOPE_MAKE"]
DATA = Path(os.environ["XFERSCOPE_DATA"])
ROOT = Path(__file__).resolve().parents[2]

MADE = (("mixed", ""), ("killed", ""), ("gpus", ""), ("findings", ""), ("phases", ""), ("contents", "whole"),
        ("managed", "threads"), ("kinds", ""), ("nameless", ""), ("hostile", ""), ("simulated", ""), ("many", "3000"), ("ranges", ""), ("moved-nothing", ""))

QUOTED = 'upload "a, b"; c\\new'  # the function of the run `quoted`

Sums = collections.namedtuple("Sums", "count bytes ns")


class Lab(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="xferscope-")
        self.addCleanup(self.folder.cleanup)
        self.made = {}

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def make(self, scenario, argument="", name=None):
        name = name or f"{scenario}.trace"
        if name not in self.made:
            os.makedirs(os.path.dirname(self.path(name)), exist_ok=True)
            subprocess.run([MAKE, scenario, self.path(name), argument], check=True)
            self.made[name] = scenario, argument
        self.assertEqual(self.made[name], (scenario, argument), name)
        return self.path(name)

    def profile(self, variant=""):
        return self.make("profile", variant, f"machine{variant}.json")

    def run_command(self, *arguments, **options):
        options.setdefault("stdout", subprocess.PIPE)
        return subprocess.run([DRIVER, *map(str, arguments)], stderr=subprocess.PIPE, cwd=self.folder.name,
                              timeout=300, check=False, env=dict(os.environ, LC_ALL="C.UTF-8"), **options)

    def export(self, *arguments, status=0):
        """The bytes of the file that is written."""
        done = self.run_command("export", *arguments, "-o", "exported")
        self.assertEqual((done.returncode, done.stdout), (status, b""), done.stderr)
        return Path(self.path("exported")).read_bytes()

    def analyze(self, *arguments):
        done = self.run_command("analyze", *arguments, "-f", "json", "-n", "0")
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def runs(self):
        """Arguments of runs of every sort, each with a profile."""
        profile = ("-p", self.profile())
        for scenario, argument in MADE:
            yield (self.make(scenario, argument), *profile)
        yield (*[self.make("rank", str(i), f"{'ab'[i // 2]}.xft/{6000 + i}-1.trace") for i in range(3)], *profile)
        yield (*[self.make("exchange", str(i), f"c.xft/{6000 + i}-1.trace") for i in range(4)], *profile)
        for run in sorted(DATA.glob("*.xft")):
            yield (str(run), "-p", str(DATA / "h200.json"))

    @staticmethod
    def class_of(direction, source, target):
        known = (None, "", "unknown")
        return direction, None if source in known else source, None if target in known else target

    def reported(self, *arguments):
        """Count, bytes and achieved ns by direction and kinds of memory."""
        sums = {}
        for row in self.analyze(*arguments)["transfers"]:
            key = self.class_of(row["direction"], row["src_memory"], row["dst_memory"])
            before = sums.get(key, Sums(0, 0, 0))
            sums[key] = Sums(before.count + row["transfers"], before.bytes + row["bytes"],
                             before.ns + (row["timed"]["achieved_s"] or 0) * 1e9)
        return sums

    def add_up(self, transfers):
        """The same of (direction, source, target, bytes, ns or None)."""
        sums = {}
        for direction, source, target, size, ns in transfers:
            key = self.class_of(direction, source, target)
            before = sums.get(key, Sums(0, 0, 0))
            sums[key] = Sums(before.count + 1, before.bytes + size, before.ns + (ns or 0))
        return sums

    def assert_same(self, found, reported, what):
        self.assertEqual(set(found), set(reported), what)
        for key, sums in reported.items():
            self.assertEqual(found[key][:2], sums[:2], (what, key))
            self.assertTrue(math.isclose(found[key].ns, sums.ns, rel_tol=1e-6, abs_tol=1), (what, key, found[key], sums))

    def assert_clean(self, text, allowed="\n"):
        hidden = {c for c in text if unicodedata.category(c) in ("Cc", "Cf", "Zl", "Zp")}
        self.assertLessEqual(hidden, set(allowed))


class SharedLab(Lab):
    """One folder for all tests of a program: a run is made once, and exported and analyzed once in each way."""

    common = tempfile.TemporaryDirectory(prefix="xferscope-")
    known, remembered = {}, {}

    def setUp(self):
        self.folder, self.made = self.common, self.known

    def remember(self, key, find):
        if key not in self.remembered:
            self.remembered[key] = find()
        return self.remembered[key]

    def export(self, *arguments, status=0):
        return self.remember(("export", status, *arguments),
                             functools.partial(super().export, *arguments, status=status))

    def analyze(self, *arguments):
        return self.remember(("analyze", *arguments), functools.partial(super().analyze, *arguments))
