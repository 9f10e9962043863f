"""Programs on the simulated GPU: the same with and without the recorder, and every transfer they
made is in the trace, once."""
import collections
import json
import os
import re
import shutil
import unittest
from pathlib import Path

from lab import (
    Bench,
    PROGRAMS,
    SIMGPU,
    XFERSCOPE,
    environment,
    moved,
    needs,
    other_lines,
    own_lines,
    preloaded,
    record,
    report,
    run,
    sanitizer_runtime,
)


def announced(stdout):
    """What copies_all and driver_copy say that they moved: lines 'H2D transfers bytes …'."""
    sums = {}
    for line in stdout.decode().splitlines():
        match = re.match(r"(H2D|D2H|D2D|P2P|H2H) (\d+) (\d+)\b", line)
        if match:
            copies, size = sums.get(match[1], (0, 0))
            sums[match[1]] = (copies + int(match[2]), size + int(match[3]))
    return sums


def empty(stdout):
    """How many copies of no bytes a program says that it made."""
    return sum(int(n) for n in re.findall(rb"^empty (\d+)$", stdout, re.MULTILINE))


class Same(Bench):
    def compare(self, name, *arguments, status=0, same=bytes):
        """Bare, under LD_PRELOAD, under record; returns what the bare run printed and a report.
        `same` leaves out of what was printed what may differ from run to run."""
        program = PROGRAMS / name
        bare = run([program, *arguments], cwd=self.folder)
        self.assertEqual(bare.returncode, status, bare.stderr)
        alone = preloaded(program, *arguments, cwd=self.folder, XFERSCOPE_OUTPUT="alone.xft")
        under = record(program, *arguments, cwd=self.folder, options=["-o", "run"])
        for other in (alone, under):
            self.assertEqual(same(other.stdout), same(bare.stdout))
            self.assertEqual(other_lines(other.stderr), other_lines(bare.stderr))
            self.assertEqual(other.returncode, bare.returncode)
        self.assertEqual(own_lines(alone.stderr), [])
        document = report(self.folder / "run.xft")
        self.assertEqual(moved(report(self.folder / "alone.xft")), moved(document))
        return bare.stdout, document

    @needs("copies_all_shared")
    def test_every_copy_function(self):
        printed, document = self.compare("copies_all_shared")
        self.assertEqual(moved(document), announced(printed))

    @needs("copies_all_ptds_shared")
    def test_every_copy_function_per_thread_stream(self):
        printed, document = self.compare("copies_all_ptds_shared")
        self.assertEqual(moved(document), announced(printed))

    @needs("copies_all_shared")
    def test_names_of_the_calls(self):
        printed, document = self.compare("copies_all_shared")
        called = set(re.findall(r"(cudaMemcpy\w+)$", printed.decode(), re.MULTILINE))
        seen = {row["function"] for row in document["transfers"]}
        self.assertEqual({name for name in called if name not in seen}, set())
        self.assertEqual({row["level"] for row in document["transfers"]}, {"runtime"})

    @needs("memories_shared")
    def test_every_kind_of_memory(self):
        for part in ("kinds", "managed", "pools"):
            with self.subTest(part=part):
                printed, document = self.compare("memories_shared", part)
                self.assertEqual(moved(document), announced(printed))
                for run_folder in ("run.xft", "alone.xft"):
                    shutil.rmtree(self.folder / run_folder)

    @needs("memories_shared")
    def test_kinds_of_host_memory_are_distinguished(self):
        _, document = self.compare("memories_shared", "kinds")
        kinds = {row["src_memory"] for row in document["transfers"] if row["direction"] == "H2D"}
        self.assertEqual(kinds, {"pageable", "registered", "pinned", "write-combined", "mapped"})

    @needs("memories_shared")
    def test_memory_of_another_node(self):
        """Host memory lies on node 0, GPU 2 on node 1: what page-locked memory lost by that."""
        profile = SIMGPU / "machines" / "sim-2socket-4gpu.json"
        machine = {path["name"]: {point["bytes"]: point["median_ns"] for point in path["points"]}
                   for path in json.loads(profile.read_text())["paths"]}
        found = {}
        for gpu in ("0", "2"):
            env = environment(XFERSCOPE_SIMGPU_MACHINE=profile.stem, CUDA_VISIBLE_DEVICES=gpu)
            result = record(PROGRAMS / "memories_shared", "kinds", cwd=self.folder, options=["-o", gpu], env=env)
            self.assertEqual(result.returncode, 0, result.stderr)
            document = report(self.folder / f"{gpu}.xft", "--profile", profile)
            found[gpu] = [f for f in document["findings"] if f["kind"] == "remote-numa-node"]
        self.assertEqual(found["0"], [])
        (finding,) = found["2"]
        self.assertEqual((finding["remedy"], finding["parameters"]), ("near-node", {"node": 1}))
        self.assertIn("--cpunodebind=1 --membind=1", finding["fix"])
        sizes = (("h2d", 1 << 20), ("d2h", 1 << 20), ("h2d", 1 << 19), ("d2h", 1 << 18))  # blocking, asynchronous
        slower = [machine[f"copy/{kind}/{way}/node0-gpu2"][size] - machine[f"copy/{kind}/{way}/node1-gpu2"][size]
                  for kind in ("pinned", "write-combined", "registered") for way, size in sizes]
        self.assertEqual(sorted(site["direction"] for site in finding["sites"]), 6 * ["D2H"] + 6 * ["H2D"])
        self.assertAlmostEqual(finding["lost_s"] * 1e9, sum(slower), delta=20)

    @needs("peers_shared")
    def test_peers(self):
        """Copies between devices, and whether peer access was on when they were made."""
        env = environment(XFERSCOPE_SIMGPU_MACHINE="sim-2socket-4gpu")
        result = record(PROGRAMS / "peers_shared", cwd=self.folder, options=["-o", "run"], env=env)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(moved(report(self.folder / "run.xft")), announced(result.stdout))
        dump = run([XFERSCOPE, "dump", self.folder / "run.xft", "--kind", "transfer", "--format", "json"])
        events = [json.loads(line) for line in dump.stdout.splitlines()]
        access = ["peer-access" in e["flags"] for e in events if e.get("direction") == "P2P"]
        each = len(access) // 3
        self.assertGreater(each, 0)
        self.assertEqual(access, [False] * each + [True] * each + [False] * each)
        self.check_peer_access(SIMGPU / "machines" / "sim-2socket-4gpu.json")

    def check_peer_access(self, profile):
        """What the copies without it lost: those of one run of bytes, 1 MiB down to 128 KiB, twice."""
        machine = {path["name"]: {point["bytes"]: point["median_ns"] for point in path["points"]}
                   for path in json.loads(profile.read_text())["paths"]}
        document = report(self.folder / "run.xft", "--profile", profile)
        (finding,) = (f for f in document["findings"] if f["kind"] == "peer-access-disabled")
        self.assertEqual(finding["remedy"], "enable-peer-access")
        self.assertEqual(sorted(site["bytes"] for site in finding["sites"]), [2 << shift for shift in (17, 18, 19, 20)])
        self.assertEqual({site["transfers"] for site in finding["sites"]}, {2})
        slower = [machine["copy/no-peer/p2p/gpu0-gpu1"][1 << shift] - machine["copy/peer/p2p/gpu0-gpu1"][1 << shift]
                  for shift in (20, 19, 18, 17)]
        # By way of the host they count from the call on, and may have waited for the copy before them.
        self.assertGreaterEqual(finding["lost_s"] * 1e9, 2 * sum(slower) - 20)
        self.assertLess(finding["lost_s"] * 1e9, 2 * 2 * sum(slower))

    def driver(self, program, how):
        printed, document = self.compare(program, how)
        self.assertEqual(moved(document), announced(printed))
        self.assertEqual({row["level"] for row in document["transfers"]}, {"driver"})
        self.assertEqual(document["run"]["not_counted"]["empty"], empty(printed))

    def test_driver_through_dlsym(self):
        self.driver("driver_dlsym", "dlsym")

    def test_driver_through_get_proc_address(self):
        self.driver("driver_dlsym", "address")

    def test_driver_through_get_proc_address_v2(self):
        self.driver("driver_dlsym", "address2")

    def test_driver_through_get_proc_address_v2_per_thread_stream(self):
        self.driver("driver_dlsym", "address2-ptds")

    @needs("driver_link")
    def test_driver_linked(self):
        self.driver("driver_link", "link")

    def no_bytes(self, program, seen):
        """Copies of no bytes are no transfers: not in a row, a sum, a size or without a time."""
        printed, document = self.compare(program)
        self.assertEqual(moved(document), announced(printed))
        sums = document["run"]["directions"]
        self.assertEqual({d: s["transfers"] for d, s in sums.items()}, {"H2D": 1, "D2H": 2, "D2D": 1})
        self.assertEqual(document["run"]["not_counted"]["empty"], seen(printed))
        self.assertEqual({row["timed"]["unknown"] for row in document["transfers"]}, {0})
        self.assertGreater(min(row["sizes"]["least"] for row in document["transfers"]), 0)
        text = run([XFERSCOPE, "analyze", self.folder / "run.xft"]).stdout.decode()
        warnings = [line for line in text.splitlines() if "no bytes" in line]
        self.assertEqual([int(line.rsplit(":")[1]) for line in warnings], list(filter(None, [seen(printed)])))

    @needs("patched")
    def test_functions_that_others_patch(self):
        """UCX keeps track of device memory by jumps that it puts at their beginnings, or not at all."""
        done = record(PROGRAMS / "patched", cwd=self.folder, options=["-o", "run"])
        self.assertEqual(done.returncode, 0, done.stderr)
        frees = {"cuMemFree_v2": 3}
        taken = {name: int(times) for name, times in (line.split() for line in done.stdout.decode().splitlines())}
        self.assertEqual(taken, {name: frees.get(name, 1) for name in taken})
        dump = run([XFERSCOPE, "dump", "run.xft", "-f", "json", "-k", "alloc,free,register,unregister"], cwd=self.folder)
        calls = collections.Counter(json.loads(line)["call"] for line in dump.stdout.decode().splitlines()
                                    if '"type":"event"' in line)
        self.assertEqual({name: calls[name] for name in taken}, taken)
        self.assertEqual(len(taken), 8)

    @needs("zeros")
    def test_copies_of_no_bytes(self):
        self.no_bytes("zeros", empty)

    @needs("zeros_simstatic")
    def test_copies_of_no_bytes_static_runtime(self):
        """The runtime keeps them to itself, and the driver's interface is where this is seen."""
        self.no_bytes("zeros_simstatic", lambda printed: 0)

    @needs("graph_driver")
    def test_launched_graphs(self):
        """Each launch moves what the graph holds then, once; the device bears it out."""
        printed, document = self.compare("graph_driver")
        self.assertEqual(moved(document), announced(printed))
        self.assertEqual(document["run"]["not_counted"]["device_only"], 0)
        self.assertEqual({row["function"] for row in document["transfers"]}, {"cuGraphLaunch"})
        self.assertEqual({row["timed"]["unknown"] for row in document["transfers"]}, {0})
        dump = run([XFERSCOPE, "dump", self.folder / "run.xft", "--format", "json"]).stdout
        events = [json.loads(line) for line in dump.splitlines()]
        events = [e for e in events if e["type"] == "event"]
        launches = {e["correlation"]: e for e in events if e["kind"] == "graph-launch"}
        self.assertEqual(len(launches), int(re.search(rb"^launches (\d+)$", printed, re.MULTILINE)[1]))
        for event in events:  # what a launch moves was called where it was launched
            if event["kind"] in ("graph-launch", "transfer") and event["correlation"] in launches:
                self.assertGreater(event["stack"], 0)
                self.assertEqual(event["stack"], launches[event["correlation"]]["stack"])
        for kind in ("transfer", "device-copy"):  # of each launch as many as it says
            copies = collections.Counter(e["correlation"] for e in events if e["kind"] == kind and "captured" not in e["flags"])
            self.assertEqual(copies, collections.Counter({c: e["count"] for c, e in launches.items() if e["count"]}))

    @needs("threads")
    def test_threads(self):
        printed, document = self.compare("threads", "16", "40")
        copies = sum(int(n) for n in re.findall(rb"(\d+) copies each way", printed))
        expected = (copies, copies * 8192)
        self.assertEqual(moved(document), {"H2D": expected, "D2H": expected})

    @needs("threads_simstatic")
    def test_threads_static_runtime(self):
        printed, document = self.compare("threads_simstatic", "16", "40")
        copies = sum(int(n) for n in re.findall(rb"(\d+) copies each way", printed))
        expected = (copies, copies * 8192)
        self.assertEqual(moved(document), {"H2D": expected, "D2H": expected})
        self.assertEqual({row["level"] for row in document["transfers"]}, {"driver"})

    @needs("failing")
    def test_failing_calls(self):
        self.failing("failing")

    @needs("failing_simstatic")
    def test_failing_calls_static_runtime(self):
        """The runtime refuses some calls before they reach the driver, where they would be seen."""
        printed, document = self.compare("failing_simstatic", status=3)
        self.assertIn(b"cudaErrorInvalidValue", printed)
        self.assertEqual(moved(document)["D2H"], (1, 4096))

    def failing(self, program):
        printed, document = self.compare(program, status=3)
        lines = [line for line in printed.decode().splitlines() if re.search(r"cop(y|ies)|row", line)]
        failed = sum(1 for line in lines if "cudaSuccess" not in line)
        self.assertGreaterEqual(failed, 3, printed)
        self.assertEqual(document["run"]["not_counted"]["failed"], failed)
        self.assertEqual(moved(document)["H2D"][1], 4096)
        self.assertEqual(moved(document)["D2H"], (1, 4096))

    @needs("forker")
    @unittest.skipIf(sanitizer_runtime(), "the sanitizer's allocator can stay locked after fork")
    def test_children(self):
        printed, document = self.compare("forker")
        copies = sum(int(n) for n in re.findall(rb"(\d+) copies each way: 0", printed))
        self.assertEqual(copies, 3 + 4 + 2 + 5 + 6 + 7 + 1)
        self.assertEqual(moved(document)["H2D"], (copies, copies * 4096))
        self.assertEqual(moved(document)["D2H"], (copies, copies * 4096))
        self.assertEqual(len(self.traces("run.xft")), 6)

    @needs("unoptimised_shared")
    def test_unoptimised(self):
        _, document = self.compare("unoptimised_shared", "4")
        self.assertEqual(moved(document)["H2D"], (4 * 65, 4 * (2 << 20) + 4 * 64 * 64))
        self.assertEqual(moved(document)["D2H"], (4, 4 * (2 << 20)))

    @needs("unoptimised_fixed_shared")
    def test_unoptimised_fixed(self):
        """The best set carried out: the same results, and each frame's gains in one copy."""
        printed, document = self.compare("unoptimised_fixed_shared", "5")
        self.assertEqual(moved(document)["H2D"], (5 * 2, 5 * (2 << 20) + 5 * 64 * 64))
        self.assertEqual(moved(document)["D2H"], (5, 5 * (2 << 20)))
        self.assertEqual(run([PROGRAMS / "unoptimised_shared", "5"], cwd=self.folder).stdout, printed)

    def plugins(self, *arguments):
        """Recorded until each plugin lay where the one before it was: where it is loaded is the kernel's choice."""
        self.compare("plugins", *arguments, same=lambda printed: [line.split()[0] for line in printed.splitlines()])
        for attempt in range(30):
            run = f"run-{attempt}"
            under = record(PROGRAMS / "plugins", *arguments, cwd=self.folder, options=["-o", run])
            if b"elsewhere" not in under.stdout:
                return report(self.folder / f"{run}.xft")
        self.fail("in no run of 30 did a plugin lie where the one before it was")

    @needs("plugins")
    def test_plugins(self):
        """Each where the one before it was, which had been unloaded: calls and lines are its own."""
        plugins = [("one", 10), ("two", 20), ("three", 30), ("one", 10)]
        document = self.plugins(*(word for name, _ in plugins for word in (PROGRAMS / f"plugin_{name}.so", f"call_{name}")))
        sites = {}
        for row in document["transfers"]:
            site = row["site"]
            sites[site["function"], Path(site["module"]).name, Path(site["file"]).name] = row["copies"]
        self.assertEqual(sites, {("call_one", "plugin_one.so", "plugin.c"): 20,
                                 ("call_two", "plugin_two.so", "plugin.c"): 20,
                                 ("call_three", "plugin_three.so", "plugin.c"): 30})
        self.assertEqual(document["run"]["processes"][0]["losses"]["line"], None)

    @needs("plugins")
    def test_plugins_by_their_way(self):
        """Loaded by relative paths, which mean nothing any more where the copies are made."""
        paths = [os.path.relpath(PROGRAMS / f"plugin_{name}.so", self.folder) for name in ("one", "two")]
        document = self.plugins(paths[0], "call_one", paths[1], "call_two")
        sites = {row["site"]["function"]: (row["site"]["module"], Path(row["site"]["file"] or "").name)
                 for row in document["transfers"]}
        self.assertEqual(sites, {f"call_{name}": (str((PROGRAMS / f"plugin_{name}.so").resolve()), "plugin.c")
                                 for name in ("one", "two")})

    @needs("reloads")
    def test_runtimes_that_come_and_go(self):
        """Each call goes to the runtime that its library brought, also from where another one called before."""
        self.reload("caller")

    @needs("reloads")
    def test_runtimes_that_are_jumped_to(self):
        """The call returns to the program, which has no runtime: it goes to the one that there is."""
        self.reload("jumper")

    def reload(self, part):
        libraries = [PROGRAMS / f"libown_{part}_{answer}.so" for answer in (11, 22, 11, 22)]
        bare = run([PROGRAMS / "reloads", *libraries], cwd=self.folder)
        self.assertEqual(bare.stdout, b"11\n22\n11\n22\n", bare.stderr)
        alone = preloaded(PROGRAMS / "reloads", *libraries, cwd=self.folder)
        self.assertEqual((alone.returncode, alone.stdout), (0, bare.stdout))

    @needs("plugins")
    def test_plugins_without_names(self):
        """Named by the analyzer: the same."""
        arguments = [word for name in ("one", "two") for word in (PROGRAMS / f"plugin_{name}.so", f"call_{name}")]
        preloaded(PROGRAMS / "plugins", *arguments, cwd=self.folder, XFERSCOPE_OUTPUT="run.xft", XFERSCOPE_SYMBOLS="0")
        rows = report(self.folder / "run.xft")["transfers"]
        self.assertEqual({row["site"]["function"]: row["copies"] for row in rows}, {"call_one": 10, "call_two": 20})


if __name__ == "__main__":
    unittest.main()
