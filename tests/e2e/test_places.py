"""Machines that are not at hand, simulated: memory on several nodes, unequal GPUs and links, one copy
engine. What is advised, what it is said to save, and what it saves by the simulated clock."""
import json
import re
import unittest

from lab import Bench, PROGRAMS, SIMGPU, environment, needs, record, report, run

SHARE = 0.01  # of the run, by which savings of another order may be off
KERNEL_NS = 100000


def machine(name):
    return json.loads((SIMGPU / "machines" / f"{name}.json").read_text())


def slower(profile, times, *names):
    """Copies over these paths take so many times as long; the rest of a call takes as long as before."""
    slow = [path for path in profile["paths"] if re.fullmatch("|".join(names), path["name"])]
    assert slow, names
    for path in slow:
        for point in path["points"]:
            more = (times - 1) * point["median_ns"]
            for key in ("median_ns", "blocking_ns"):
                if key in point:
                    point[key] += more
        for key in ("Lo_ns", "G_ns_per_byte") if path["fit"] else ():
            path["fit"][key] *= times
    return profile


def one_engine():
    profile = machine("sim-h200")
    profile["machine"]["gpus"][0]["copy_engines"] = 1
    return profile


def overlap(engines):
    """Of a GPU that synchronises implicitly."""
    return {"name": "overlap/gpu0", "device": 0, "copy_engines": engines, "implicit_sync": True,
            "category": 1 if engines == 1 else 0, "bytes": 16 << 20, "h2d_ns": 306000, "d2h_ns": 306000,
            "both_ns": 306000 * (3 - engines)}


@needs("places")
class Places(Bench):
    def setUp(self):
        super().setUp()
        self.profile = self.folder / "machine.json"

    kernel_ns = KERNEL_NS

    def env(self, node):
        return environment(XFERSCOPE_SIMGPU_MACHINE=str(self.profile), XFERSCOPE_SIMGPU_NUMA=str(node),
                           XFERSCOPE_SIMGPU_KERNEL_NS=str(self.kernel_ns), XFERSCOPE_CONTENT="off")

    def took(self, *arguments, node=0):
        """Unrecorded."""
        done = run([PROGRAMS / "places", *arguments], env=self.env(node))
        self.assertEqual(done.returncode, 0, done.stderr)
        return int(re.fullmatch(rb"took (\d+)\n", done.stdout)[1])

    def advised(self, *arguments, node=0):
        """By kind; the whole run replayed as it was."""
        result = record(PROGRAMS / "places", *arguments, cwd=self.folder, options=["--force", "-o", "run"],
                        env=self.env(node))
        self.assertEqual(result.returncode, 0, result.stderr)
        document = report(self.folder / "run.xft", "--profile", self.profile)
        self.assertIsNone(document["whatif"]["why_not"])
        return {finding["kind"]: finding for finding in document["findings"]}

    def use(self, profile):
        self.profile.write_text(json.dumps(profile))

    def test_memory_on_the_other_node(self):
        self.use(machine("sim-2socket-4gpu"))
        for gpu, near in (("0", 0), ("2", 1)):
            found = self.advised("up", gpu, node=1 - near)
            finding = found["remote-numa-node"]
            self.assertEqual(finding["parameters"], {"node": near})
            saved = self.took("up", gpu, node=1 - near) - self.took("up", gpu, node=near)
            self.assertGreater(saved, 1e6)
            self.assertAlmostEqual(finding["saving_s"]["likely"] * 1e9, saved, delta=1)
            self.assertLess(finding["saving_s"]["low"], finding["saving_s"]["likely"])
            self.assertNotIn("remote-numa-node", self.advised("up", gpu, node=near))

    def test_another_gpu(self):
        """GPU 2 and 3 hang on node 1, where the memory lies; 2 is three times as slow, from any node."""
        self.use(slower(machine("sim-2socket-4gpu"), 3, "copy/.*/h2d/node.-gpu2"))
        found = self.advised("up", "2", node=1)
        self.assertNotIn("remote-numa-node", found)
        finding = found["far-gpu"]
        self.assertEqual((finding["remedy"], finding["parameters"]), ("near-gpu", {"node": 1}))
        saved = self.took("up", "2", node=1) - self.took("up", "3", node=1)
        self.assertGreater(saved, 1e6)
        self.assertAlmostEqual(finding["saving_s"]["likely"] * 1e9, saved, delta=1)
        self.assertIn("degraded-link", found)  # its equals are faster
        self.assertLessEqual(set(self.advised("up", "3", node=1)), {"unused-transfer", "synchronous-transfer"})

    def test_another_pair(self):
        self.use(slower(machine("sim-2socket-4gpu"), 2, "copy/peer/p2p/gpu0-gpu1", "copy/peer/p2p/gpu1-gpu0"))
        finding = self.advised("pair", "0", "1")["far-gpu"]
        self.assertEqual(finding["remedy"], "near-peer")
        saved = self.took("pair", "0", "1") - self.took("pair", "2", "3")
        self.assertGreater(saved, 5e5)
        self.assertAlmostEqual(finding["saving_s"]["likely"] * 1e9, saved, delta=1)
        self.assertNotIn("far-gpu", self.advised("pair", "2", "3"))

    def test_two_engines(self):
        self.use(machine("sim-h200"))
        for kind, one, several in (("serial-transfer-and-compute", ("steps", "1"), ("steps", "3")),
                                   ("one-direction-at-a-time", ("ways", "1"), ("ways", "2"))):
            finding = self.advised(*one)[kind]
            self.assertEqual(finding["parameters"], {"streams": int(several[1])})
            before = self.took(*one)
            saved = before - self.took(*several)
            self.assertGreater(saved, 0.4 * before)
            self.assertAlmostEqual(finding["saving_s"]["likely"] * 1e9, saved, delta=SHARE * before)
            self.assertNotIn(kind, self.advised(*several))

    def test_implicit_synchronisation(self):
        """A copy waits until the kernels launched before it have started."""
        self.use(machine("sim-h200"))
        without = self.took("steps", "3")
        self.use(machine("sim-h200") | {"overlap": [overlap(2)]})
        before, after = self.took("steps", "1"), self.took("steps", "3")
        self.assertGreater(after, without)
        finding = self.advised("steps", "1")["serial-transfer-and-compute"]
        self.assertEqual(finding["parameters"], {"streams": 3})
        self.assertAlmostEqual(finding["saving_s"]["likely"] * 1e9, before - after, delta=SHARE * before)
        self.assertNotIn("serial-transfer-and-compute", self.advised("steps", "3"))

    def test_kernels_beside_one_engine(self):
        """Beside longer kernels there is something to be had: the engine takes the copy that is ready."""
        self.kernel_ns = 4 * KERNEL_NS
        for profile in (one_engine(), one_engine() | {"overlap": [overlap(1)]}):
            self.use(profile)
            likely = self.advised("steps", "1")["serial-transfer-and-compute"]["saving_s"]["likely"] * 1e9
            saved = self.took("steps", "1") - self.took("ahead", "2")
            self.assertLessEqual(likely, saved)
            self.assertGreater(likely, 0.7 * saved)
            self.assertLess(self.took("steps", "2"), self.took("steps", "1"))

    def test_one_engine(self):
        """Copies in both directions take turns, in whatever streams they are: nothing is to be had."""
        self.use(one_engine())
        for what in ("steps", "ways"):
            self.assertEqual(self.took(what, "1"), self.took(what, "2"))
            for streams in ("1", "2", "3")[:3 if what == "steps" else 2]:
                found = self.advised(what, streams)
                # The host's work on what it downloads is asked about: that is another matter.
                self.assertLessEqual(set(found) - {"host-device-turns"}, {"unused-transfer"}, (what, streams))


if __name__ == "__main__":
    unittest.main()
