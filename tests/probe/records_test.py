#!/usr/bin/env python3
"""What records add, on a simulated machine whose records cost what the test sets.

usage: records_test.py PROBE SIMGPU_FOLDER FAKE_DRIVER_FOLDER FAKE_CUPTI SCHEMA [unittest options]
"""
import json
import os
import subprocess
import sys
import tempfile
import unittest

import jsonschema

PROBE, SIMGPU, FAKE, FAKE_CUPTI, SCHEMA = sys.argv[1:6]
HOST = ["launch", "copy/h2d", "copy/d2h", "memset", "migration/d2h", "launch-after-wait", "copy-after-launch/d2h",
        "graph/launch-node"]
DEVICE = ["launch-device", "copy-device/h2d", "copy-device/d2h", "memset-device",
          "migration/h2d", "graph/device"]
WAITING = ["launch-and-sync", "copy-blocking/h2d", "copy-blocking/d2h"]
NEITHER = ["sync/stream", "event/record", "capture/launch", "graph/instantiate", "graph/instantiate-node",
           "graph/update", "graph/update-node", "graph/launch", "graph/destroy", "graph/destroy-node"]
ONCE = ["first/copy", "first/launch"]
RECORD_NS, DEVICE_NS, FIRST_NS = 700, 150, 40000
NODE_NS, KERNEL_NS = 230, 1100  # from the end of a graph's kernel to the next one; of each


def probe(*options, driver=SIMGPU, **settings):
    environment = dict(os.environ, LD_LIBRARY_PATH=driver, XFERSCOPE_SIMGPU_CLOCK="virtual")
    environment.update(settings)
    return subprocess.run([PROBE, *options], env=environment, capture_output=True, text=True,
                          timeout=120)


def costly(*options, **settings):
    return probe(*options, XFERSCOPE_SIMGPU_RECORD_NS=str(RECORD_NS),
                 XFERSCOPE_SIMGPU_RECORD_DEVICE_NS=str(DEVICE_NS),
                 XFERSCOPE_SIMGPU_RECORD_FIRST_NS=str(FIRST_NS), XFERSCOPE_SIMGPU_NODE_NS=str(NODE_NS),
                 XFERSCOPE_SIMGPU_LEAST_KERNEL_NS=str(KERNEL_NS), **settings)


def medians(profile, gpu=0):
    """Of what the records of a GPU add, by what they are added to."""
    return {s["name"][len("records/"):-len("/gpu0")]: s["median"] for s in profile["scalars"]
            if s["name"].startswith("records/") and s["name"].endswith(f"/gpu{gpu}")}


def between_nodes(profile, gpu=0):
    return next((s["median"] for s in profile["scalars"] if s["name"] == f"graph/device-node/gpu{gpu}"), None)


class Costs(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        run = costly("--filter", "^records/", "--format", "json",
                     XFERSCOPE_SIMGPU_MACHINE="sim-2socket-4gpu")
        if run.returncode or run.stderr:
            raise AssertionError(f"status {run.returncode}: {run.stderr}")
        cls.profile = json.loads(run.stdout)

    def test_each_call_has_its_own(self):
        for gpu in range(4):
            found = medians(self.profile, gpu)
            self.assertEqual(sorted(found), sorted(HOST + DEVICE + WAITING + NEITHER + ONCE))
            for name in HOST:
                self.assertEqual(found[name], RECORD_NS, name)
            for name in DEVICE:
                self.assertAlmostEqual(found[name], DEVICE_NS, 0, name)
            for name in WAITING:  # the host's part may pass while the device works
                self.assertGreaterEqual(found[name], DEVICE_NS, name)
                self.assertLessEqual(found[name], RECORD_NS + DEVICE_NS, name)
            for name in NEITHER:
                self.assertEqual(found[name], 0, name)
            for name in ONCE:
                self.assertEqual(found[name], RECORD_NS + FIRST_NS, name)

    def test_the_schema_holds(self):
        with open(SCHEMA, encoding="utf-8") as file:
            jsonschema.validate(self.profile, json.load(file))
        for scalar in self.profile["scalars"]:
            self.assertEqual(scalar["unit"], "ns")
            self.assertGreaterEqual(scalar["n"], 6)

    def test_records_that_cost_nothing_add_nothing(self):
        run = probe("--filter", "^records/", "--format", "json")
        self.assertEqual((run.returncode, run.stderr), (0, ""))
        found = medians(json.loads(run.stdout))
        self.assertEqual(len(found), 29)
        self.assertEqual(set(found.values()), {0})

    def test_nothing_else_pays_for_them(self):
        run = costly("--filter", "^(records|launch|sync)/", "--format", "json")
        with_records = json.loads(run.stdout)
        run = probe("--filter", "^(launch|sync)/", "--format", "json", XFERSCOPE_SIMGPU_LEAST_KERNEL_NS=str(KERNEL_NS))
        self.assertEqual([s for s in with_records["scalars"] if not s["name"].startswith(("records/", "launch/by-process/", "graph/device-node/"))],
                         json.loads(run.stdout)["scalars"])

    def test_launches_by_process(self):
        """Of processes without records; by the virtual clock they are as fast as each other, and nothing is said."""
        launch, = (s for s in self.profile["scalars"] if s["name"] == "launch/by-process/gpu0")
        self.assertEqual((launch["n"], launch["min"], launch["max"]), (6, launch["median"], launch["median"]))
        self.assertEqual([w for w in self.profile["warnings"] if "differ in speed" in w], [])

    def test_the_distance_of_nodes(self):
        for gpu in range(4):
            self.assertAlmostEqual(between_nodes(self.profile, gpu), NODE_NS, 0)
        run = probe("--filter", "^records/", "--format", "json")
        self.assertEqual(between_nodes(json.loads(run.stdout)), 0)

    def test_quick_measures_them_too(self):
        run = costly("--quick", "--filter", "^records/", "--format", "json")
        self.assertEqual(medians(json.loads(run.stdout))["launch"], RECORD_NS)

    def test_what_was_measured_is_not_measured_again(self):
        with tempfile.TemporaryDirectory() as folder:
            name = os.path.join(folder, "m.json")
            self.assertEqual(probe("--filter", "^records/", "-o", name).returncode, 0)
            run = costly("--resume", name, "--filter", "^(records|sync)/")
            self.assertEqual((run.returncode, run.stderr), (0, ""))
            with open(name, encoding="utf-8") as file:
                profile = json.load(file)
            self.assertEqual(medians(profile)["launch"], 0)
            self.assertIn("sync/stream/gpu0", [s["name"] for s in profile["scalars"]])


class Absent(unittest.TestCase):
    def setUp(self):
        """CUPTI is looked for beside the simulated driver: another one is put there."""
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        for file in (os.path.join(SIMGPU, "libcuda.so.1"), os.path.join(SIMGPU, "machines"), FAKE_CUPTI):
            os.symlink(file, os.path.join(self.folder, os.path.basename(file)))

    def beside_a_copy(self, *options, driver=None, how=""):
        return probe("--filter", "^(records|copy/device)/", "--sizes", "64:64", "--format", "json",
                     *options, driver=driver or self.folder, FAKE_CUPTI=how)

    def absent(self, reason, **how):
        """One line, no failure, no doubt cast on anything else."""
        run = self.beside_a_copy(**how)
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertEqual(run.stderr, f"xferscope probe: records/gpu0 does not apply: {reason}\n")
        profile = json.loads(run.stdout)
        self.assertEqual(medians(profile), {})
        self.assertTrue(profile["paths"])
        self.assertFalse([w for w in profile["warnings"] if "records" in w or "CUPTI" in w])
        self.assertEqual(self.beside_a_copy("--quiet", **how).stderr, "")

    def failed(self, reason, how):
        run = self.beside_a_copy(how=how)
        self.assertEqual(run.returncode, 3)
        self.assertEqual(run.stderr, f"xferscope probe: records/gpu0: {reason}\n")
        self.assertEqual(medians(json.loads(run.stdout)), {})

    def test_no_cupti(self):
        """Both GPUs of the fake driver lack it: one line."""
        self.absent("no libcupti.so.13 or .12 found (LD_LIBRARY_PATH may say where it is)",
                    driver=FAKE)

    def test_somebody_else_has_it(self):
        self.absent("another profiler is using CUPTI", how="taken")

    def test_it_gives_no_records(self):
        self.absent("CUPTI hands over no records", how="")

    def test_it_refuses_them(self):
        self.absent("cuptiActivityEnable: 27", how="refuses")

    def test_alone_it_is_nothing(self):
        run = probe("--filter", "^records/", driver=FAKE)
        self.assertEqual(run.returncode, 1)
        self.assertEqual(len(run.stderr.splitlines()), 2, run.stderr)

    def test_a_violent_end_is_a_failure(self):
        self.failed("the process that measures it was ended by signal 9", "dies")

    def test_all_but_managed_memory(self):
        """What CUPTI does not give of managed memory, or does not survive, costs nothing else."""
        for how in "has no counters", "dies of counters":
            run = self.beside_a_copy(how=how)
            self.assertEqual((run.returncode, run.stderr), (0, ""), how)
            self.assertEqual(sorted(medians(json.loads(run.stdout))),
                             sorted(n for n in HOST + DEVICE + WAITING + NEITHER + ONCE
                                    if not n.startswith("migration/")), how)
            self.assertIsNone(between_nodes(json.loads(run.stdout)), "it reads no records")

    def test_no_answer_is_a_failure(self):
        self.failed("the process that measures it gave no answer", "leaves")

    def test_its_argument_is_nobody_elses(self):
        for argument in ("--measure-records=", "--measure-records=x", "--measure-records=-1:5", "--measure-records=x:5:with"):
            self.assertEqual(probe(argument).returncode, 2, argument)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[6:])
