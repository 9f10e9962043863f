"""Calls that failed, were captured into a graph, or were of no bytes are transfers in no export: each has the
transfers of the report and their bytes."""

import csv
import io
import json
import sqlite3
import unittest

from lab import Lab


class Moved(Lab):
    def setUp(self):
        super().setUp()
        self.run_of = (self.make("moved-nothing"), "-p", self.profile())
        report = self.analyze(*self.run_of)
        self.count = sum(row["transfers"] for row in report["transfers"])
        self.bytes = sum(row["bytes"] for row in report["transfers"])

    def test_the_report(self):
        """Of scenario_export.c."""
        self.assertEqual((self.count, self.bytes), (4, 1000 + 1001 + 50 + 51))

    def assert_sums(self, sizes):
        sizes = list(sizes)
        self.assertEqual((len(sizes), sum(sizes)), (self.count, self.bytes))

    def test_csv(self):
        rows = csv.DictReader(io.StringIO(self.export(*self.run_of, "-f", "csv").decode()))
        self.assert_sums(int(row["bytes"]) for row in rows)

    def test_json_lines(self):
        lines = [json.loads(line) for line in self.export(*self.run_of, "-f", "jsonl").splitlines()]
        self.assert_sums(line["bytes"] for line in lines if line["type"] == "transfer")
        self.assertEqual(sum(line["type"] == "no-transfer" for line in lines), 6)

    def test_chrome(self):
        events = json.loads(self.export(*self.run_of, "-f", "chrome"))["traceEvents"]
        self.assert_sums(e["args"]["bytes"] for e in events if e.get("cat") == "transfer")
        others = [e["args"] for e in events if e.get("cat") == "no-transfer"]
        self.assertEqual((len(others), sum("failed" in e for e in others), sum("captured" in e for e in others)), (6, 2, 2))

    def test_arrows(self):
        """From each call to what the device did for it; to a kernel whose launch is not there leads none."""
        events = json.loads(self.export(*self.run_of, "-f", "chrome"))["traceEvents"]
        begun = {e["id"] for e in events if e["ph"] == "s"}
        ended = [e["id"] for e in events if e["ph"] == "f"]
        self.assertEqual(len(ended), 3)  # two copies, a kernel
        self.assertLessEqual(set(ended), begun)
        self.assertEqual(sum(e.get("cat") == "kernel" for e in events), 2)

    def test_sqlite(self):
        self.export(*self.run_of, "-f", "sqlite")
        database = sqlite3.connect(self.path("exported"))
        self.addCleanup(database.close)
        self.assert_sums(size for size, in database.execute("SELECT bytes FROM XFERSCOPE_TRANSFERS"))

    def test_folded(self):
        text = self.export(*self.run_of, "-f", "folded", "--weight", "bytes").decode()
        self.assertEqual(sum(int(line.rsplit(" ", 1)[1]) for line in text.splitlines()), self.bytes)

    def test_speedscope(self):
        profiles = json.loads(self.export(*self.run_of, "-f", "speedscope"))["profiles"]
        weights = [sum(p["weights"]) for p in profiles if p["unit"] == "bytes"]
        self.assertEqual(weights, [self.bytes])

    def test_openmetrics(self):
        text = self.export(*self.run_of, "-f", "openmetrics").decode().splitlines()
        sums = {name: sum(float(line.rsplit(" ", 1)[1]) for line in text if line.startswith(f"xferscope_{name}{{"))
                for name in ("transfers_total", "moved_bytes_total")}
        self.assertEqual(sums, {"transfers_total": self.count, "moved_bytes_total": self.bytes})


if __name__ == "__main__":
    unittest.main()
