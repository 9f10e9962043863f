"""tests/pairs/planned: what plans of drawn programs say, and how what comes of them is judged."""
import json
import os
import tempfile
import types
import unittest
from pathlib import Path

from scripts import loaded

BUILD = Path(os.environ["XFERSCOPE_BUILD"])


planned = loaded("planned")
STAGE = {"steps": 24, "bytes": 2 << 20, "down": True, "streams": 2, "kind": "n", "wait": "event", "parts": 16, "bound": "copy",
         "read_ns": 0, "kernel_ns": 15000, "host_ns": 0, "graph": False, "varies": False, "rows": False, "wastes": []}


def program(*stages):
    return {"seed": 1, "helper": 0, "stages": [{**STAGE, "thread": thread, **stage} for thread, stage in enumerate(stages)]}


class Plans(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.lab = planned.Planned(types.SimpleNamespace(build=BUILD, gpu=False, keep=None, profile=None), folder.name)

    def step_of(self, finding, *stages):
        one = program(*stages)
        _, name, _ = self.lab.record(one, 0)
        self.lab.plan(one, name, self.folder / "plan.json")
        (step,) = [step for step in json.loads((self.folder / "plan.json").read_text())["steps"] if step["finding"] == finding]
        return step

    def test_pageable_copies_have_no_streams_of_their_own(self):
        step = self.step_of("default-stream-serialization", *4 * [{"wastes": ["legacy"], "streams": 1, "down": False}])
        self.assertEqual((step["by"], step["carry_out"], step["apply_saving_s"]), (None, False, None))
        self.assertIn("page-locked memory and 1 MiB", step["why_not"])

    def test_a_pool_waits(self):
        """The fix has the threads' work overlap; a pool frees as cudaFree() does, behind all work."""
        step = self.step_of("repeated-allocation", {"wastes": ["allocation"]})
        self.assertEqual((step["by"], step["carry_out"]), ("pool", True))
        self.assertGreater(step["saving_s"]["likely"], 10 * abs(step["apply_saving_s"]["likely"]))

    def test_what_comes_of_it(self):
        plan = {"run": {"saving_s": {"likely": 9e-6}, "apply_saving_s": {"low": 1e-6, "likely": 2e-6, "high": 3e-6}},
                "steps": [{"by": "pool", "carry_out": True}, {"by": "prefetch", "carry_out": False}]}

        def run(ns, read="7", contents="a", said=""):
            return {"ns": ns, "read": read, "contents": contents, "said": said}

        def judged(applied, **more):
            checked = run(applied["ns"], **more)
            return planned.judged(program({}), plan, {"alone": [run(100e3)], "checked": [checked], "applied": [applied]}, 1, None)
        good = judged(run(98e3))
        self.assertEqual((good["same"], good["saved_ns"], good["near"], good["inside"], good["by"]), (True, 2e3, True, True, ["pool"]))
        self.assertEqual([judged(run(96.1e3))[key] for key in ("near", "inside")], [True, False])
        self.assertEqual([judged(run(95.9e3))[key] for key in ("near", "inside")], [False, False])
        self.assertFalse(judged(run(98e3, read="8"))["same"])
        self.assertFalse(judged(run(98e3, contents="b"))["same"])
        self.assertFalse(judged(run(98e3), said="3 compared, 1 different")["same"])
        self.assertTrue(judged(run(98e3), said="3 compared, 0 different")["same"])
        self.assertIn("| pool | 1 | 1 | 1 of 1 | 1 of 1 | 2.0 % | 2.0 % | 9.0 % |", planned.table([good]))

        # On a GPU: as much of the run as of the recorded one, which took 50 us a round; against all turns.
        def of_turns(*applied):
            runs = {"alone": [run(100e3)] * len(applied), "checked": [], "applied": [run(ns) for ns in applied]}
            result = planned.judged(program({}), plan, runs, 1, 50e3)
            return [result[key] for key in ("predicted_ns", "near", "inside")]
        self.assertEqual(of_turns(96e3, 97e3, 89e3), [[2e3, 4e3, 6e3], True, True])
        self.assertEqual([of_turns(*turns)[2] for turns in ((93e3, 92e3, 90e3), (99e3, 90e3, 91e3), (99e3, 98.5e3, 101e3))], [False, True, False])

    def test_programs_with_a_waste(self):
        arguments = types.SimpleNamespace(again=None, seed=1, count=40, gpu=False, wastes={"allocation"})
        drawn = [seed for seed, _ in planned.judgements(self.lab, arguments)]
        has = ["allocation" in planned.schedule.wastes_of(planned.schedule.draw(seed, True)) for seed in range(1, 41)]
        self.assertEqual(drawn, [seed for seed, has_it in zip(range(1, 41), has) if has_it])
        self.assertIn(True, has)
        self.assertIn(False, has)

    def test_kept_and_judged_again(self):
        self.lab.keep = self.folder / "kept"
        self.lab.keep.mkdir()
        stage = {"wastes": ["allocation"], "steps": 3}
        once, path = self.lab.judge_plan(program(stage)), self.lab.keep / "1.json"
        self.assertEqual(self.lab.judge_again(path), once)
        entry = json.loads(path.read_text())
        path.write_text(json.dumps({**entry, "carried": [["pool", "00+0x1"]]}))
        with self.assertRaisesRegex(RuntimeError, "another plan"):
            self.lab.judge_again(path)


if __name__ == "__main__":
    unittest.main()
