"""Ranges of the program: phases, what-if and exports tell the same of each, however many are open, however
deep they lie, and whichever thread ends them."""

import collections
import json
import sqlite3
import unittest

from lab import Lab

STEPS, LEVELS, PASSES, LEAKED = 1100, 40, 3, 1100  # tests/analyzer/traces/scenario_export.c


class Ranges(Lab):
    def setUp(self):
        super().setUp()
        self.run_of = (self.make("ranges"), "-p", self.profile())
        self.report = self.analyze(*self.run_of)
        self.phases = {r["path"][-1]["name"]: (r["times"], round(r["time_s"] * 1e9))
                       for r in self.report["phases"]["ranges"] if r["path"]}

    def test_phases(self):
        counts = {key: value for key, value in self.report["phases"].items() if key != "ranges"}
        self.assertEqual(counts, {"ends_without_begin": 1, "begins_without_end": LEAKED + 1, "beyond_limits": 0})
        self.assertEqual(self.phases["step"], (STEPS, STEPS * 3300))
        self.assertEqual(self.phases["level 39"], (PASSES, PASSES * 3300))
        self.assertEqual(self.phases["level 00"], (PASSES, PASSES * (3300 + 400 * (LEVELS - 1))))
        self.assertEqual(self.phases["epoch"][0], 1)
        self.assertEqual(self.phases["forgotten"], (1, 3200))  # until the last call
        self.assertEqual(len(self.phases), 4 + LEVELS)
        self.assertEqual({r["transfers"] for r in self.report["phases"]["ranges"] if r["path"] and
                          r["path"][-1]["name"] in ("step", "level 39", "forgotten")}, {STEPS, PASSES, 1})

    def test_what_if(self):
        """Its phases are of outermost instances: of those that do not overlap the same time."""
        expected = {p["name"]: round(p["recorded_s"] * 1e9) for p in self.report["whatif"]["phases"]}
        self.assertEqual(set(expected), set(self.phases))
        for name in set(expected) - {"leak"}:
            self.assertEqual(expected[name], self.phases[name][1], name)
        self.assertGreater(expected["leak"], expected["step"])
        for phase in self.report["whatif"]["phases"]:
            self.assertAlmostEqual(phase["replayed_s"], phase["recorded_s"], delta=1e-9, msg=phase["name"])

    def test_chrome(self):
        found = collections.defaultdict(list)
        for event in json.loads(self.export(*self.run_of, "-f", "chrome"))["traceEvents"]:
            if event.get("cat") == "range":
                ns = event["dur"] * 1000 if event["ph"] == "X" else event["args"]["ns"]
                found[event["name"]].append(round(ns))
        self.assertEqual({name: (len(ns), sum(ns)) for name, ns in found.items()}, self.phases)

    def test_sqlite(self):
        self.export(*self.run_of, "-f", "sqlite")
        database = sqlite3.connect(self.path("exported"))
        self.addCleanup(database.close)
        rows = database.execute("SELECT text, count(*), count(end), sum(end - start), "
                                "sum(globalTid != endGlobalTid) FROM NVTX_EVENTS WHERE eventType != 75 GROUP BY text").fetchall()
        open_ones = {"leak": LEAKED, "forgotten": 1}
        for name, begun, ended, ns, elsewhere in rows:
            self.assertEqual(begun, self.phases[name][0], name)
            self.assertEqual(begun - ended, open_ones.get(name, 0), name)
            if name not in open_ones:
                self.assertEqual(ns, self.phases[name][1], name)
                self.assertEqual(elsewhere, name == "epoch", name)
        self.assertEqual(len(rows), len(self.phases))


if __name__ == "__main__":
    unittest.main()
