"""analyze --replay on a simulated GPU whose every figure is known.

replay_test.py DRIVER MAKE_TRACE SIMGPU_FOLDER DOCS
"""

import json
import os
import subprocess
import sys
import tempfile
import unittest

import jsonschema

DRIVER, MAKE, SIMGPU, DOCS = sys.argv[1:5]
PAGEABLE, PINNED, DOWN, ROWS, ROW, BATCH, WITHIN = 1000003, 300001, 77777, 96000, 1500, 40000, 5000
SWEEP = [1 << power for power in range(6, 23)]
UUID = "GPU-00000000-1111-2222-3333-444444444444"
UP = {  # (Lo, G) of copies to the device; those from it take half as long again
    "pageable": (9000, 0.08),
    "pinned": (2000, 0.02),
    "write-combined": (2100, 0.021),
    "registered": (2200, 0.022),
    "mapped": (2300, 0.023),
}
WARM = 2  # times the time


def on_host(memory, down):
    host = {"memory": memory, "device": -1, "numa": -1}
    device = {"memory": "device", "device": 0, "numa": -1}
    return {"direction": "D2H" if down else "H2D", "src": device if down else host, "dst": host if down else device}


def time_of(memory, size, down=False, warm=False):
    low, gap = UP[memory]
    return (low + size * gap) * (1.5 if down else 1) * (WARM if warm else 1)


def points(memory, sizes, down, warm):
    return [
        {"bytes": k, "n": 20, "median_ns": time_of(memory, k, down, warm), "host_ns": 1000,
         "blocking_ns": time_of(memory, k, down, warm) + 3000}
        for k in sizes
    ]


def path(memory, down, warm=False, sizes=SWEEP):
    cache = {"cache": "warm"} if warm else {}
    name = f"copy{'-warm' if warm else ''}/{memory}/{'d2h' if down else 'h2d'}/gpu0"
    return {
        "name": name, "method": "copy", **on_host(memory, down), "blocking": True, "device_timed": True, **cache,
        "points": points(memory, sizes, down, warm),
        "fit": {"Lo_ns": UP[memory][0], "g_ns": 800, "G_ns_per_byte": UP[memory][1], "max_error": 0},
    }


def within():
    device = {"memory": "device", "device": 0, "numa": -1}
    return {
        "name": "copy/device/d2d/gpu0", "method": "copy", "direction": "D2D", "src": device, "dst": device,
        "device_timed": True, "fit": None,
        "points": [{"bytes": k, "median_ns": 1500 + k * 0.001, "host_ns": 900} for k in SWEEP],
    }


def machine(paths, name="Test GPU", uuid=UUID, machine_id="aaaa1111", simulated=True):
    return {
        "schema": "xferscope-profile", "version": 1, "created": "2026-01-01T00:00:00Z", "producer": "test",
        "machine": {"machine_id": machine_id, "simulated": simulated, "numa_nodes": 1, "driver_version": 13000,
                    "gpus": [{"name": name, "uuid": uuid, "memory_bytes": 4 << 30, "copy_engines": 2}]},
        "rules": {"flushed": True, "verified": True, "paper": False},
        "paths": paths,
    }


def everything():
    """The simulated machine: more than the profile knows of it."""
    both = [path(memory, down) for memory in UP for down in (False, True)]
    warm = [path(memory, down, True) for memory in ("pageable", "pinned") for down in (False, True)]
    return machine(both + warm + [within()])


def swept():
    """What a probe knows."""
    return machine([path(memory, down) for memory in UP if memory != "mapped" for down in (False, True)])


FAR, PEER = 123457, 234567
OTHER = "GPU-11111111-1111-2222-3333-444444444444"


def two_gpus():
    """Each on a node of its own; from the other one copies take twice as long."""
    paths = []

    def add(name, direction, src, dst, low, gap):
        place = {"device": -1, "numa": -1}
        paths.append({
            "name": name, "method": "copy", "direction": direction, "src": {**place, **src}, "dst": {**place, **dst},
            "blocking": True, "device_timed": True, "fit": None,
            "points": [{"bytes": k, "median_ns": low + k * gap, "host_ns": 900, "blocking_ns": low + k * gap + 4000}
                       for k in SWEEP]})

    for gpu in (0, 1):
        device, other = {"memory": "device", "device": gpu}, {"memory": "device", "device": 1 - gpu}
        for node in (0, 1):
            for memory in ("pageable", "pinned"):
                host = {"memory": memory, "numa": node}
                low, gap = (k * (1 + (node != gpu)) for k in UP[memory])
                add(f"copy/{memory}/h2d/node{node}-gpu{gpu}", "H2D", host, device, low, gap)
                add(f"copy/{memory}/d2h/node{node}-gpu{gpu}", "D2H", device, host, low, gap)
        add(f"copy/peer/p2p/gpu{gpu}-gpu{1 - gpu}", "P2P", device, other, 3000, 0.003)
        add(f"copy/no-peer/p2p/gpu{gpu}-gpu{1 - gpu}", "P2P", device, other, 20000, 0.05)
    made = machine(paths)
    made["machine"]["numa_nodes"] = 2
    gpus = made["machine"]["gpus"]
    gpus.append(dict(gpus[0], uuid=OTHER))
    for gpu in (0, 1):
        gpus[gpu].update(numa=gpu, peers=[1 - gpu])
    return made


class Replay(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="xferscope-")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.write("gpu.json", everything())
        self.trace = os.path.join(self.folder, "run.trace")
        self.make("simulated")

    def make(self, variant):
        subprocess.run([MAKE, "replay", self.trace, variant], check=True)

    def name(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, profile):
        with open(self.name(name), "w", encoding="utf-8") as file:
            json.dump(profile, file)
        return self.name(name)

    def read(self, name):
        with open(self.name(name), encoding="utf-8") as file:
            profile = json.load(file)
        with open(os.path.join(DOCS, "profile.schema.json"), encoding="utf-8") as file:
            jsonschema.Draft202012Validator(json.load(file)).validate(profile)
        return {path["name"]: path for path in profile["paths"]}, profile

    def bytes_of(self, name):
        with open(self.name(name), "rb") as file:
            return file.read()

    def environment(self, gpu):
        clean = {key: value for key, value in os.environ.items() if key != "CUDA_VISIBLE_DEVICES"}
        if not gpu:
            return dict(clean, LD_LIBRARY_PATH=self.folder, CUDA_VISIBLE_DEVICES="")
        return dict(clean, LD_LIBRARY_PATH=SIMGPU, XFERSCOPE_SIMGPU_MACHINE=self.name(gpu),
                    XFERSCOPE_SIMGPU_CLOCK="virtual")

    def run_analyze(self, *options, gpu="gpu.json"):
        done = subprocess.run([DRIVER, "analyze", self.trace, *options], env=self.environment(gpu),
                              capture_output=True, text=True, timeout=300)
        self.assertGreaterEqual(done.returncode, 0, done.stderr)
        return done

    def report(self, *options, gpu="gpu.json", status=0):
        done = self.run_analyze(*options, "--format", "json", gpu=gpu)
        self.assertEqual(done.returncode, status, done.stderr)
        report = json.loads(done.stdout)
        with open(os.path.join(DOCS, "report.schema.json"), encoding="utf-8") as file:
            jsonschema.Draft202012Validator(json.load(file)).validate(report)
        made_up = "(machine id: the trace has aaaa1111"  # that is no machine's
        return report, [line for line in done.stderr.splitlines() if made_up not in line]

    def row(self, report, memory, direction="H2D", size=None):
        rows = [row for row in report["transfers"] if row["direction"] == direction
                and memory in (row["src_memory"], row["dst_memory"]) and (size is None or row["sizes"]["most"] == size)]
        self.assertEqual(len(rows), 1)
        return rows[0]

    # ---- what is measured -------------------------------------------------------------------

    def test_exact_sizes(self):
        profile = self.write("m.json", swept())
        before, _ = self.report("-p", profile)
        self.assertEqual(self.row(before, "pageable")["basis"]["achievable"], "interpolated")
        self.assertNotIn("replay", before)
        report, lines = self.report("-p", profile, "--replay")
        self.assertEqual(lines, [])
        self.assertEqual(self.row(report, "pageable")["basis"]["achievable"], "measured")
        self.assertEqual(self.row(report, "pinned", "D2H")["basis"]["achievable"], "measured")
        paths, _ = self.read("m.json")
        for name, memory, size, down, warm in (
            ("copy/pageable/h2d/gpu0", "pageable", PAGEABLE, False, False),
            ("copy-warm/pageable/h2d/gpu0", "pageable", PAGEABLE, False, True),
            ("copy/pinned/h2d/gpu0", "pinned", PAGEABLE, False, False),
            ("copy-warm/pinned/h2d/gpu0", "pinned", PAGEABLE, False, True),
            ("copy/write-combined/h2d/gpu0", "write-combined", PAGEABLE, False, False),
            ("copy/registered/h2d/gpu0", "registered", PAGEABLE, False, False),
            ("copy/mapped/h2d/gpu0", "mapped", PAGEABLE, False, False),
            ("copy/pinned/h2d/gpu0", "pinned", PINNED, False, False),
            ("copy/pinned/d2h/gpu0", "pinned", DOWN, True, False),
            ("copy-warm/pinned/d2h/gpu0", "pinned", DOWN, True, True),
        ):
            point = [p for p in paths[name]["points"] if p["bytes"] == size]
            self.assertEqual(len(point), 1, (name, size))
            self.assertAlmostEqual(point[0]["median_ns"], time_of(memory, size, down, warm), delta=40, msg=(name, size))
            self.assertEqual(bool(point[0]["blocking_ns"]), size != PINNED, (name, size))
        sizes = [p["bytes"] for p in paths["copy/pinned/h2d/gpu0"]["points"]]
        self.assertEqual(sizes, sorted(SWEEP + [PAGEABLE, PINNED, ROWS, BATCH]))
        chosen = [p["bytes"] for p in paths["copy/pinned/h2d/gpu0"]["points"] if p.get("chosen")]
        self.assertEqual(chosen, [BATCH, ROWS, PINNED, PAGEABLE])
        self.assertNotIn("copy/pinned/h2h/gpu0", paths)
        self.assertEqual([p["bytes"] for p in paths["copy/device/d2d/gpu0"]["points"]], [WITHIN])

    def test_rows(self):
        self.report("-p", self.write("m.json", swept()), "--replay")
        paths, _ = self.read("m.json")
        rows = paths[f"copy-rows-{ROW}/pinned/h2d/gpu0"]
        self.assertEqual((rows["row_bytes"], [p["bytes"] for p in rows["points"]]), (ROW, [ROWS]))

    def test_warm_is_distinguished(self):
        self.report("-p", self.write("m.json", swept()), "--replay")
        paths, _ = self.read("m.json")
        self.assertEqual(paths["copy-warm/pinned/h2d/gpu0"]["cache"], "warm")
        self.assertNotIn("cache", paths["copy/pinned/h2d/gpu0"])
        # what is achievable is that of cold caches, before and after
        report, _ = self.report("-p", self.name("m.json"))
        figures = self.row(report, "pageable")
        self.assertAlmostEqual(figures["achievable_gbps"], PAGEABLE / time_of("pinned", PAGEABLE), places=1)

    def test_nodes_and_peers(self):
        self.make("two")
        made = two_gpus()
        self.write("two.json", made)
        known = dict(made, paths=[path for path in made["paths"] if "pinned" in path["name"] or "/peer" in path["name"]])
        report, lines = self.report("-p", self.write("m.json", known), "--replay", gpu="two.json")
        self.assertEqual((lines, report["replay"]["covered"]), ([], 2))
        paths, _ = self.read("m.json")
        for name, size, expected in (
            ("copy/pinned/h2d/node0-gpu1", FAR, 2 * time_of("pinned", FAR)),  # as it was
            ("copy/pinned/h2d/node1-gpu1", FAR, time_of("pinned", FAR)),
            ("copy/no-peer/p2p/gpu0-gpu1", PEER, 20000 + PEER * 0.05),  # as it was
            ("copy/peer/p2p/gpu0-gpu1", PEER, 3000 + PEER * 0.003),
        ):
            point = [p for p in paths[name]["points"] if p["bytes"] == size]
            self.assertEqual(len(point), 1, name)
            self.assertAlmostEqual(point[0]["median_ns"], expected, delta=60, msg=name)
        remote = [finding for finding in report["findings"] if finding["kind"] == "remote-numa-node"]
        self.assertEqual((len(remote), remote[0]["basis"]["achievable"]), (1, "measured"))
        self.assertNotIn("copy/pinned/h2d/node0-gpu0", [n for n, p in paths.items() if any(q.get("chosen") for q in p["points"])])

    def test_gpus_by_uuid(self):
        """The profile counts them the other way round."""
        self.make("two")
        made = two_gpus()
        self.write("two.json", made)
        turned = machine([])
        turned["machine"].update(numa_nodes=2, gpus=list(reversed(made["machine"]["gpus"])))
        self.report("-p", self.write("m.json", turned), "--replay", gpu="two.json")
        paths, _ = self.read("m.json")
        point = paths["copy/pinned/h2d/node0-gpu0"]["points"]
        self.assertEqual(([p["bytes"] for p in point], len(paths["copy/peer/p2p/gpu1-gpu0"]["points"])), ([FAR], 1))
        self.assertAlmostEqual(point[0]["median_ns"], 2 * time_of("pinned", FAR), delta=60)

    def test_what_is_said(self):
        report, _ = self.report("-p", self.write("m.json", swept()), "--replay")
        said = report["replay"]
        self.assertEqual((said["distinct"], said["covered"], said["impossible"]), (7, 5, 2))
        self.assertEqual((said["transfers"], said["covered_transfers"]), (62, 60))
        self.assertEqual((said["why_not"], said["note"], said["failure"], said["not_kept"]), (None,) * 4)
        self.assertEqual((said["copies"]["known"], said["copies"]["failed"], said["copies"]["no_time"]), (0, 0, 0))
        self.assertGreater(said["covered_time"], 0.99)
        self.assertLess(said["covered_time"], 1)
        self.assertEqual(said["limit_s"], 30)
        text = " ".join(self.run_analyze("-p", self.write("m.json", swept()), "--replay").stdout.split())
        self.assertIn("5 of 7 distinct transfers", text)
        self.assertIn("2 cannot be replayed", text)

    # ---- kept -------------------------------------------------------------------------------

    def test_kept_and_used(self):
        profile = self.write("m.json", swept())
        first, _ = self.report("-p", profile, "--replay")
        without, lines = self.report("-p", profile, gpu=None)
        self.assertEqual(lines, [])
        self.assertEqual(without["transfers"], first["transfers"])
        self.assertEqual(without["findings"], first["findings"])
        kept = self.bytes_of("m.json")
        again, _ = self.report("-p", profile, "--replay")
        copies = again["replay"]["copies"]
        self.assertEqual((copies["measured"], copies["known"]), (0, first["replay"]["copies"]["measured"]))
        self.assertEqual(again["replay"]["covered"], 5)
        self.assertEqual(self.bytes_of("m.json"), kept)
        no_gpu, lines = self.report("-p", profile, "--replay", gpu=None)  # nothing is left to be measured
        self.assertEqual((lines, no_gpu["replay"]["why_not"], no_gpu["replay"]["covered"]), ([], None, 5))

    def test_new_profile(self):
        report, lines = self.report("-p", self.name("new.json"), "--replay")
        self.assertEqual(lines, [])
        self.assertEqual(self.row(report, "pageable")["basis"]["achievable"], "measured")
        paths, profile = self.read("new.json")
        self.assertTrue(all(point["chosen"] for path in paths.values() for point in path["points"]))
        self.assertEqual(profile["machine"]["gpus"][0]["uuid"], UUID)
        self.assertIsNone(paths["copy/pinned/h2d/gpu0"]["fit"])

    def test_no_profile(self):
        report, lines = self.report("--replay")
        self.assertEqual(lines, ["xferscope analyze: --replay: what was measured is not kept:"
                                 " no --profile names a file for it"])
        self.assertEqual(self.row(report, "pageable")["basis"]["achievable"], "measured")

    def test_cannot_be_written(self):
        profile = self.write("m.json", swept())
        os.chmod(profile, 0o444)
        kept = self.bytes_of("m.json")
        report, lines = self.report("-p", profile, "--replay", status=3)
        self.assertEqual(len(lines), 1)
        self.assertIn("what was measured is not kept", lines[0])
        self.assertEqual(self.row(report, "pageable")["basis"]["achievable"], "measured")
        self.assertEqual(self.bytes_of("m.json"), kept)

    def test_damaged_profile_is_left_alone(self):
        with open(self.name("m.json"), "w", encoding="utf-8") as file:
            file.write("{")
        report, lines = self.report("-p", self.name("m.json"), "--replay", status=3)
        self.assertEqual(len(lines), 2)
        self.assertIn("is not kept", lines[1])
        self.assertEqual(self.bytes_of("m.json"), b"{")
        self.assertIsNotNone(report["replay"]["not_kept"])

    # ---- where it cannot be -----------------------------------------------------------------

    def test_no_gpu(self):
        profile = self.write("m.json", swept())
        report, lines = self.report("-p", profile, "--replay", gpu=None, status=3)
        self.assertEqual(len(lines), 1)
        self.assertIn("--replay: no GPU to measure on here", lines[0])
        self.assertIn("no GPU to measure on here", report["replay"]["why_not"])
        self.assertEqual(self.row(report, "pageable")["basis"]["achievable"], "interpolated")
        text = self.run_analyze("-p", profile, "--replay", gpu=None).stdout
        self.assertIn("not done: no GPU to measure on here", " ".join(text.split()))

    def test_other_gpus_are_refused(self):
        other = everything()
        other["machine"]["gpus"][0].update(name="Other GPU", uuid="GPU-99999999-1111-2222-3333-444444444444")
        self.write("other.json", other)
        report, lines = self.report("-p", self.write("m.json", swept()), "--replay", gpu="other.json", status=3)
        self.assertEqual(len(lines), 1)
        self.assertIn("other GPUs (Other GPU; the trace: Test GPU)", lines[0])
        self.assertEqual(report["replay"]["copies"]["measured"], 0)

    def test_gpu_of_the_same_name(self):
        other = everything()
        other["machine"]["gpus"][0]["uuid"] = "GPU-99999999-1111-2222-3333-444444444444"
        self.write("other.json", other)
        profile = self.write("m.json", swept())
        kept = self.bytes_of("m.json")
        report, lines = self.report("-p", profile, "--replay", gpu="other.json", status=3)
        self.assertEqual(len(lines), 2)
        self.assertIn("GPUs of the same name", lines[0])
        self.assertIn("not kept: the profile is of another machine", lines[1])
        self.assertEqual(self.row(report, "pageable")["basis"]["achievable"], "measured")
        self.assertEqual(self.bytes_of("m.json"), kept)

    def test_real_trace_on_a_simulated_gpu(self):
        self.make("real")
        report, _ = self.report("-p", self.write("m.json", swept()), "--replay", status=3)
        self.assertEqual(report["replay"]["why_not"], "the trace has a real GPU, this machine a simulated GPU")

    # ---- the whole run ----------------------------------------------------------------------

    def test_run_is_played(self):
        profile = self.write("m.json", swept())
        kept = self.bytes_of("m.json")
        without, _ = self.report("-p", profile)
        report, lines = self.report("-p", profile, "--replay=run")
        self.assertEqual(lines, [])
        self.assertIsNone(without["whatif"]["played"])
        played = report["whatif"]["played"]
        self.assertEqual((played["known"], played["why_not"], played["whole"], played["times"] % 2), (True, None, True, 1))
        # of 62 transfers the batch can only be made to last as long, and the one within the host is its time
        self.assertEqual((played["steps"], played["by_time"]), (61, 1))
        self.assertGreater(played["recorded_s"], 20 * time_of("pageable", PAGEABLE) / 1e9)
        self.assertEqual(self.bytes_of("m.json"), kept)
        self.assertNotIn("replay", report)
        again, _ = self.report("-p", profile, "--replay=run")  # the clock is the simulated one
        self.assertEqual(again["whatif"]["played"]["recorded_s"], played["recorded_s"])
        text = self.run_analyze("-p", profile, "--replay=run").stdout
        self.assertIn("played on this machine: ", text)

    def test_run_in_part(self):
        report, _ = self.report("-p", self.write("m.json", swept()), "--replay=run", "--replay-time", "0.01")
        played = report["whatif"]["played"]
        self.assertEqual((played["known"], played["whole"]), (True, False))
        self.assertLess(played["steps"], 40)
        self.assertNotEqual(report["whatif"]["set_saving_s"]["basis"], "played")

    def test_run_without_a_gpu(self):
        report, lines = self.report("-p", self.write("m.json", swept()), "--replay=run", gpu=None, status=3)
        self.assertEqual(len(lines), 1)
        self.assertIn("--replay=run: no GPU to play it on here", lines[0])
        played = report["whatif"]["played"]
        self.assertEqual((played["known"], played["recorded_s"], played["saving_s"]), (False, None, None))
        self.assertIn("no GPU to play it on here", played["why_not"])
        self.assertNotEqual(report["whatif"]["set_saving_s"]["basis"], "played")

    def test_real_run_on_a_simulated_gpu(self):
        self.make("real")
        report, _ = self.report("-p", self.write("m.json", swept()), "--replay=run", status=3)
        self.assertEqual(report["whatif"]["played"]["why_not"], "the trace has a real GPU, this machine a simulated GPU")

    # ---- the command line -------------------------------------------------------------------

    def test_per_transfer(self):
        profile = self.write("m.json", swept())
        done = self.run_analyze("-p", profile, "--replay", "--per-transfer", "--format", "json")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        lines = [json.loads(line) for line in done.stdout.splitlines()]
        self.assertEqual(len(lines), 62)
        self.assertEqual({line["achievable_basis"] for line in lines if line["direction"] == "H2D"}, {"measured"})

    def test_wrong_usage(self):
        for options in (["--replay-time", "5"], ["--replay", "--replay-time", "0"], ["--replay", "--replay-time", "x"],
                        ["--replay", "--replay-time", "1e9"], ["--replay=everything"], ["--replay="],
                        ["--replay=run", "--per-transfer"]):
            done = self.run_analyze(*options)
            self.assertEqual((done.returncode, len(done.stderr.splitlines())), (2, 1), options)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[5:])
