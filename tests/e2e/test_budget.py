"""What recording may cost (record --budget): what gives way, on the simulated GPU. Records of its CUPTI cost
nothing, so the tests say what they are to count with; nothing depends on how long anything takes."""
import collections
import json
import math
import re
import unittest

from lab import Bench, PROGRAMS, XFERSCOPE, environment, needs, record, report, run

MILLISECOND = 1000000
# In the order of XFERSCOPE_BUDGET_COSTS: of copies to the host, and of the others.
DEAR_COPIES = f"1,{MILLISECOND},1,1,1,1"
FIRST_SAMPLED_NUMBER = 1 << 31


class Budget(Bench):
    # Threads go on until records are off; on a machine that has no time for the recorder this bounds them.
    MOST = "10000"

    def recorded(self, *arguments, options=(), costs=DEAR_COPIES, clock="virtual", trial="0"):
        result = record(PROGRAMS / "dense", *arguments, cwd=self.folder, options=["-o", "run", *options],
                        env=environment(XFERSCOPE_BUDGET="2", XFERSCOPE_BUDGET_COSTS=costs, XFERSCOPE_SIMGPU_CLOCK=clock,
                                        XFERSCOPE_BUDGET_TRIAL=trial))
        self.assertEqual(result.returncode, 0, result.stderr)
        said = dict(line.split() for line in result.stdout.decode().splitlines())
        return {word: int(number) for word, number in said.items()}

    def dump(self, *kinds):
        only = ["--kind", ",".join(kinds)] if kinds else []
        dump = run([XFERSCOPE, "dump", self.folder / "run.xft", "--format", "json", *only])
        self.assertEqual(dump.returncode, 0, dump.stderr)
        items = [json.loads(line) for line in dump.stdout.splitlines()]
        events = collections.defaultdict(list)
        for item in items:
            if item["type"] == "event":
                events[item["kind"]].append(item)
        meta = {item["key"]: item["value"] for item in items if item["type"] == "meta"}
        return meta, events

    def check_given_way(self, said, threads):
        meta, events = self.dump()
        copies = events["transfer"]
        self.assertEqual(len(copies), said["copies"])
        self.assertEqual({copy["bytes"] for copy in copies}, {64})
        self.assertTrue(all(copy["stack"] and copy["end_ns"] >= copy["start_ns"] for copy in copies))
        first, last = events["records"]
        self.assertEqual((first["aux"], first["count"]), (3, 0))
        self.assertEqual((last["aux"], last["count"], int(str(last["src"]), 0)), (2, 1, 1))
        self.assertEqual(int(meta["budget.copies_until_ns"]) <= last["start_ns"], True)
        by_events = [copy for copy in events["device-copy"] if "by-events" in copy["flags"]]
        # The first eight of the class, then after each at least a twelfth of those so far without.
        most = 8 + 12 * math.log(1 + said["copies"] / 12)
        self.assertTrue(8 <= len(by_events) <= threads * most, len(by_events))
        self.assertTrue(all(copy["correlation"] >= FIRST_SAMPLED_NUMBER for copy in by_events))
        joined = {copy["correlation"] for copy in copies if copy["correlation"] >= FIRST_SAMPLED_NUMBER}
        self.assertTrue({copy["correlation"] for copy in by_events} <= joined)
        unnumbered = sum(copy["correlation"] == 0 for copy in copies)
        self.assertGreaterEqual(unnumbered + len(joined), said["later"])
        self.assertGreater(unnumbered, 0)
        return meta, events

    @needs("dense")
    def test_copies_give_way(self):
        said = self.recorded("1", "2000", self.MOST)
        meta, _ = self.check_given_way(said, 1)
        self.assertEqual((meta["timing"], meta["timing.sampled"], meta["budget"]), ("cupti", "1", "2"))

    @needs("dense")
    def test_with_threads(self):
        """Calls are held back while kinds are switched; none is lost and none counted twice."""
        for clock in ("virtual", "host"):
            with self.subTest(clock):
                said = self.recorded("6", "1000", self.MOST, options=["--force"], clock=clock)
                self.check_given_way(said, 6)

    @needs("dense")
    def test_report(self):
        said = self.recorded("1", "2000", self.MOST)
        document = report(self.folder / "run.xft")
        (process,) = document["run"]["processes"]
        self.assertRegex(process["timing_why"], r"^CUPTI's records cost more than the budget of 2 %: no times of "
                         r"copies and memsets from \S+ s on; since then a sample")
        (row,) = document["transfers"]
        timed = row["timed"]
        self.assertEqual(timed["device"] + timed["sampled"], said["copies"])
        self.assertEqual(timed["unknown"], 0)
        self.assertGreater(timed["sampled"], 0)
        self.assertGreaterEqual(timed["sampled_error"], 0)
        listed = run([XFERSCOPE, "analyze", "--per-transfer", "--format", "json", self.folder / "run.xft"])
        lines = [json.loads(line) for line in listed.stdout.splitlines()]
        bases = collections.Counter(line["achieved_basis"] for line in lines)
        self.assertEqual(bases, {"device": timed["device"], "sampled": timed["sampled"]})
        self.assertTrue(all(("achieved_error" in line) == (line["achieved_basis"] == "sampled") for line in lines))
        text = run([XFERSCOPE, "analyze", self.folder / "run.xft"]).stdout.decode()
        self.assertEqual(len(re.findall("more than the budget of 2 %", text)), 1)

    @needs("dense")
    def test_dense_from_the_start(self):
        """Records that would cost too much are never switched on; a sample is timed by events."""
        for times in (1, 4, 16):  # longer, where it was over before the recorder's thread had a processor
            said = self.recorded("1", str(600000 * times), trial="10", options=["--force"])
            meta, events = self.dump("records", "device-copy")
            if meta["timing"] != "host":
                break
        self.assertEqual((meta["timing"], meta["timing.sampled"], meta["kernels"]), ("event", "1", "off"))
        (only,) = events["records"]
        self.assertEqual((only["aux"], only["count"], int(str(only["src"]), 0)), (0, 1, 1))
        (row,) = report(self.folder / "run.xft")["transfers"]
        self.assertEqual(row["copies"], said["copies"])
        self.assertGreaterEqual(len(events["device-copy"]), 8)
        self.assertTrue(all("by-events" in copy["flags"] for copy in events["device-copy"]))

    @needs("dense")
    def test_no_bound(self):
        said = self.recorded("1", "100", "50", options=["--budget", "0"])
        self.assertEqual(said["copies"], 5100)
        meta, events = self.dump()
        self.assertEqual(len(events["device-copy"]), 5100)
        self.assertEqual(len(events["records"]), 1)
        self.assertNotIn("timing.sampled", meta)

    @needs("dense")
    def test_within(self):
        """On the simulated GPU records cost nothing by default."""
        said = self.recorded("2", "100", "50", costs="")
        meta, events = self.dump()
        self.assertEqual(len(events["device-copy"]), said["copies"])
        self.assertEqual(len(events["records"]), 1)

    @needs("dense")
    def test_events_sampled(self):
        """--timing event: a sample of each class; all with --budget 0."""
        said = self.recorded("1", "100", "100", options=["--timing", "event"])
        meta, events = self.dump()
        self.assertEqual((meta["timing"], meta["timing.sampled"]), ("event", "1"))
        self.assertTrue(8 <= len(events["device-copy"]) <= 120, len(events["device-copy"]))
        (row,) = report(self.folder / "run.xft")["transfers"]
        self.assertEqual(row["timed"]["device"] + row["timed"]["sampled"], said["copies"])
        said = self.recorded("1", "100", "5", options=["--timing", "event", "--budget", "0", "--force"])
        meta, events = self.dump()
        self.assertEqual(len(events["device-copy"]), said["copies"])
        self.assertNotIn("timing.sampled", meta)

    def test_option(self):
        for wrong in ("", "-1", "100", "2.5", "two"):
            result = record("true", cwd=self.folder, options=["--budget", wrong])
            self.assertEqual(result.returncode, 125)
            self.assertIn(b"--budget wants a percentage from 0 to 99", result.stderr)


if __name__ == "__main__":
    unittest.main()
