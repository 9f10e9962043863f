#!/usr/bin/env python3
"""Every family of benchmarks is as it is described (probe/bench/bench.h): the names of its
benchmarks and of its figures, the tables in the documentation; and each is tested.

usage: described_test.py FAMILIES_TABLE PROBE SIMGPU_FOLDER LOSSY_FOLDER DOCS [unittest options]

UPDATE_DOC=1 writes the tables into docs/probe.md and docs/profile-format.md instead.
"""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

from made_machine import machine

TABLE, PROBE, SIMGPU, LOSSY, DOCS = sys.argv[1:6]
HERE = pathlib.Path(__file__).parent
SANITIZED = os.environ.get("XFERSCOPE_SANITIZED") == "1"
MIB = 1 << 20

# Per family: what a driver loses (lossy_cuda.c), and the benchmarks that must then report wrong
# data. The machine is a simulated one by name, or made here; the last column has the sizes.
MADE = "made"
LOSSES = {
    "host-device": [("h2d-blocking", "copy/pinned/h2d/gpu0", MADE, "64:8M"),
                    ("d2h-blocking", "copy/pinned/d2h/gpu0", MADE, "64:8M"),
                    ("h2d-blocking", "copy/pageable/h2d/gpu0", MADE, "64:8M")],
    "peer-copy": [("p2p", "copy/peer/p2p/gpu0-gpu1", "sim-2socket-4gpu", "64K:1M")],
    "host-host": [("h2h", "copy/pageable/h2h/host", MADE, "4K:8M"),
                  ("h2h", "copy/pinned/h2h/host", MADE, "4K:8M")],
    # -start: the first byte, which the copy before the first event could hide
    "concurrent": [(loses + start, bench, "sim-2socket-4gpu", "64K:1M")
                   for loses, bench in (("h2d", "concurrent/pinned/h2d/all"),
                                        ("d2h", "concurrent/pinned/d2h/all"),
                                        ("p2p", "concurrent/peer/both/gpu0-gpu1"))
                   for start in ("", "-start")],
    "staged-copy": [("h2d", "staged/p2p/gpu0-gpu1", "sim-2socket-4gpu", "64K:1M")],
    "relayed": [(loses, "relayed/pinned/h2d/gpu1-gpu0", "sim-2socket-4gpu", "1M:1M") for loses in ("h2d", "p2p")],
    "streams": [(loses + start, f"streams/pinned/{loses}/gpu0", "sim-h200", "16M:16M")
                for loses in ("h2d", "d2h") for start in ("", "-start")],
    "mapped-read": [("read", "mapped-read/mapped/h2d/gpu0", MADE, "64:8M")],
    "mapped-write": [("write", "mapped-write/mapped/d2h/gpu0", MADE, "64:8M")],
    "mapped-both": [("write", "both-ways/mapped/mapped/gpu0", MADE, "64:8M")],
    "mapped-copy": [("copy", "both-ways/one-kernel/mapped/gpu0", MADE, "64:8M")],
    "loaded-copy": [("h2d", "copy-both-ways/pinned/h2d/gpu0", MADE, "64:8M"),
                    ("d2h", "copy-under-mapped/pinned/d2h/gpu0", MADE, "64:8M")],
    "loaded-write": [("write", "mapped-write-under-copy/mapped/d2h/gpu0", MADE, "64:8M")],
    "both-copy": [("h2d", "both-ways/copy/pinned/gpu0", MADE, "64:8M"),
                  ("d2h", "both-ways/copy/pageable/gpu0", MADE, "64:8M")],
    "demand": [("read", "demand/managed/h2d/gpu0", MADE, "64:8M")],
    "demand-both": [("read", "both-ways/demand/managed/gpu0", MADE, "64:8M")],
    "fault": [("chase", "fault/managed/h2d/gpu0", MADE, "64:8M")],
    "shape": [(loses, f"copy-{dimensions}d/pinned/{way}/gpu0", MADE, "4K:8M")
              for dimensions, loses in ((2, "rows"), (3, "layers")) for way in ("h2d", "d2h")],
    "new-copy": [(f"{way}-short", f"new-copy/{pages}/{way}/gpu0", MADE, "1M:1M")
                 for way in ("h2d", "d2h") for pages in ("pages", "huge-pages")],
    "copies": [("h2d", "copies/single/h2d/gpu0", MADE, "64:8M"),
               ("batch", "copies/batch/d2h/gpu0", MADE, "64:8M"),
               ("graph", "copies/graph/h2d/gpu0", MADE, "64:8M"),
               ("d2h", "copies/packed/d2h/gpu0", MADE, "64:8M")],
}
# The families that move nothing, or nothing that this driver could lose: a test that expects their
# figures, and the words by which it names them.
FIGURES = {
    "device-copy": ("recover_test.py", "copy/device/d2d/"),
    "host-copy": ("coverage_test.py", "host-copy/"),
    "overlap": ("streams_test.py", "^overlap/"),
    "prefetch": ("coverage_test.py", '"prefetch"'),
    "prefetch-both": ("families_test.py", "both-ways/prefetch/managed/gpu0"),
    "demand-threads": ("coverage_test.py", "^demand-threads"),
    "alloc": ("families_test.py", "alloc/"),
    "host-read": ("families_test.py", "host-read/"),
    "lock": ("families_test.py", "lock/threads"),
    "touch": ("families_test.py", "touch/pages/host"),
    "touch-threads": ("families_test.py", "touch-threads/pages/host"),
    "sync": ("families_test.py", "sync/stream"),
    "across": ("families_test.py", "event/across/"),
    "host-function": ("families_test.py", "host-function/"),
    "graph": ("families_test.py", "graph/update"),
    "records": ("records_test.py", "copy-blocking/h2d"),
}


def expression(pattern):
    """The regular expression of a description's pattern."""
    words = re.escape(pattern).replace(r"\[", "(?:").replace(r"\]", ")?").replace(r"\-", "-")
    words = words.replace(r"\{", "(?:").replace(r"\}", ")").replace(",", "|")
    return re.compile(re.sub(r"(node|gpu|threads|shared)[NM]", r"\1[0-9]+", words))


FAMILIES = {f["name"]: f for f in json.loads(
    subprocess.run([TABLE, "json"], capture_output=True, check=True, text=True).stdout)}


class Machine:
    """A made machine for the probe, with a driver that may lose data."""

    def __init__(self, gpus, nodes):
        self.folder = tempfile.TemporaryDirectory()
        self.name = os.path.join(self.folder.name, "machine.json")
        with open(self.name, "w", encoding="utf-8") as file:
            json.dump(machine(gpus, nodes), file)

    def close(self):
        self.folder.cleanup()

    def probe(self, *options, loses="", name=MADE):
        environment = dict(os.environ, LD_LIBRARY_PATH=SIMGPU, XFERSCOPE_SIMGPU_CLOCK="virtual",
                           XFERSCOPE_SIMGPU_MACHINE=self.name if name == MADE else name)
        if loses:
            environment.update(LD_LIBRARY_PATH=LOSSY, LOSSY_CUDA=loses,
                               LOSSY_CUDA_DRIVER=os.path.join(SIMGPU, "libcuda.so.1"))
        return subprocess.run([PROBE, "--time-limit", "300", *options], env=environment,
                              capture_output=True, text=True, timeout=400)

    def profile(self, *options):
        run = self.probe("--quick", "--no-verify", "--no-flush", "--sizes", "64M:64M", "--quiet",
                         "--format", "json", *options)
        if run.returncode:
            raise AssertionError(f"status {run.returncode}: {run.stderr}")
        return json.loads(run.stdout)


class Names(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.large, cls.small = Machine(2, 2), Machine(1, 1)
        cls.addClassCleanup(cls.large.close)
        cls.addClassCleanup(cls.small.close)
        cls.benchmarks = {line.split()[0] for m in (cls.large, cls.small)
                          for line in m.probe("--list", "--quiet").stdout.splitlines()}
        cls.profiles = [cls.small.profile(), cls.large.profile(
            "--filter", "gpu0-gpu1$|^concurrent/pinned|node0-node1$|^copy/pinned/h2d/node1-gpu0$")]

    def owner(self, name, patterns):
        """The one family that has the name."""
        owners = [family for family, pattern in patterns if expression(pattern).fullmatch(name)]
        self.assertEqual(len(owners), 1, f"{name}: described by {owners or 'no family'}")
        return owners[0]

    def test_a_family_is_named_as_its_symbol(self):
        for name, family in FAMILIES.items():
            self.assertEqual(name, family["symbol"].replace("_", "-"))

    def test_every_benchmark_is_described(self):
        patterns = [(name, pattern) for name, family in FAMILIES.items()
                    for pattern in ([family["benchmarks"]] if family["benchmarks"]
                                    else family["names"])]
        found = {bench: self.owner(bench, patterns) for bench in self.benchmarks}
        self.assertEqual(set(found.values()), set(FAMILIES))
        for _, pattern in patterns:
            self.assertTrue(any(map(expression(pattern).fullmatch, found)), f"no {pattern}")
        for bench, family in found.items():
            first = bench.split("/")[0]
            self.assertTrue(first == family or first not in FAMILIES,
                            f"{bench} of {family} bears the name of another family")

    def test_every_figure_is_described(self):
        patterns = [(name, pattern) for name, family in FAMILIES.items()
                    for pattern in family["names"]]
        names = set()
        for profile in self.profiles:
            for part in {family["part"] for family in FAMILIES.values()}:
                for item in profile.get(part, []):
                    family = FAMILIES[self.owner(item["name"], patterns)]
                    self.assertEqual(family["part"], part, item["name"])
                    if part == "tables":
                        self.assertEqual((item["by"], item.get("bytes") or 0),
                                         (family["by"], family["bytes"]), item["name"])
                    names.add(item["name"])
        for _, pattern in patterns:
            self.assertTrue(any(map(expression(pattern).fullmatch, names)), f"no {pattern}")


class Tested(unittest.TestCase):
    def test_every_family_is(self):
        self.assertEqual(set(LOSSES) | set(FIGURES), set(FAMILIES))
        self.assertEqual(set(LOSSES) & set(FIGURES), set())
        for family, (name, words) in FIGURES.items():
            self.assertIn(words, (HERE / name).read_text(encoding="utf-8"), family)

    def test_lost_data_is_noticed(self):
        """By each benchmark: an error, and no figure. With sanitizers by one of each family, whose code all have."""
        made = Machine(1, 1)
        self.addCleanup(made.close)
        for family, rows in LOSSES.items():
            for loses, bench, name, sizes in rows[:1] if SANITIZED else rows:
                self.assertTrue(any(expression(p).fullmatch(bench)
                                    for p in FAMILIES[family]["names"]), bench)
                options = ("--filter", f"^{bench}$", "--sizes", sizes, "--quick", "--format", "json")
                run = made.probe(*options, loses=loses, name=name)
                what = f"{loses} {bench}: {run.stderr}"
                self.assertIn(run.returncode, (1, 3), what)
                self.assertRegex(run.stderr, "wrong data|went astray", what)
                self.assertEqual(made.probe(*options, loses="nothing", name=name).returncode, 0,
                                 what)


class Documented(unittest.TestCase):
    maxDiff = None

    def table(self, page, what):
        path = pathlib.Path(DOCS) / page
        begin, end = f"<!-- {what}: begin -->\n", f"<!-- {what}: end -->\n"
        wanted = "\n" + subprocess.run([TABLE, what], capture_output=True, check=True,
                                       text=True).stdout + "\n"
        before, rest = path.read_text(encoding="utf-8").split(begin)
        found, after = rest.split(end)
        if os.environ.get("UPDATE_DOC") == "1":
            path.write_text(before + begin + wanted + end + after, encoding="utf-8")
            return
        self.assertEqual(found, wanted, f"{path}: run this test with UPDATE_DOC=1")

    def test_families(self):
        self.table("probe.md", "families")

    def test_tables(self):
        self.table("profile-format.md", "tables")

    def test_scalars(self):
        self.table("profile-format.md", "scalars")

    def test_what_tables_count(self):
        page = (pathlib.Path(DOCS) / "profile-format.md").read_text(encoding="utf-8")
        row = next(line for line in page.splitlines() if line.startswith("| `by` |"))
        for by in {family["by"] for family in FAMILIES.values()} - {""}:
            self.assertIn(f"`{by}`", row)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[6:]])
