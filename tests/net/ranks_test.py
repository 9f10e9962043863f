#!/usr/bin/env python3
"""The probe's network family: ranks on this machine, over shared memory, with the simulated GPU.

No time decides: most ranks measure by the clock of counted.c, which counts what they do, so that every size is
measured and each figure is known. Where real time passes, a test looks only at what there is.
"""
import json
import os
import signal
import subprocess
import time

from lab import COUNTED, PATHS, Lab, environment, load, main, mpirun


def names(profile, part):
    return [entry["name"] for entry in profile["network"][part]]


class TwoRanks(Lab):
    def test_messages(self):
        network = self.counted(2, "--sizes", "1:64K")["network"]
        self.assertIn("MPI", network["mpi"].upper())
        self.assertEqual(sorted(path["name"] for path in network["paths"]),
                         ["net/both/rank0-rank1", "net/ping/rank0-rank1", "net/ping/rank1-rank0",
                          "net/stream/rank0-rank1", "net/stream/rank1-rank0"])
        for path in network["paths"]:
            self.assertEqual([p["bytes"] for p in path["points"]], [4 ** i for i in range(9)], path["name"])
            self.assertFalse(path["loaded"])
            for p in path["points"]:
                self.assertGreaterEqual(p["n"], 6)
                self.assertEqual(p["median_ns"], self.counted_ns(path["shape"], p))
                if path["shape"] == "ping":
                    self.assertNotIn("window", p)
                    continue
                self.check_windows(p)
            if path["shape"] == "ping":
                self.assertAlmostEqual(path["fit"]["G_ns_per_byte"], 100, delta=1e-6)
        self.assertEqual(len(network["ranks"]), 2)
        self.assertEqual(network["staged"], [])
        self.assertFalse(os.path.exists(self.output + ".partial"))

    @staticmethod
    def counted_ns(shape, p):
        """By counted.c: each message 1 ms and 100 ns a byte, and each measurement 1 ms."""
        message = 10 ** 6 + 100 * p["bytes"]
        if shape == "ping":  # half of one there, one back
            return (2 * message + 10 ** 6) / 2
        sent = p["window"] * message * (2 if shape == "both" else 1)
        return (sent + 10 ** 6 + 10 ** 6) / p["window"]  # and the reply of no bytes

    def check_windows(self, p):
        """What the windows took is what the median came from."""
        self.assertLessEqual(1, p["window"])
        self.assertLessEqual(p["window"], 64)
        self.assertGreaterEqual(len(p["windows_ns"]), 6)
        each = sorted(ns / p["window"] for ns in p["windows_ns"])
        if len(each) == p["n"]:
            self.assertAlmostEqual(each[0], p["min_ns"], delta=1)
            self.assertAlmostEqual(each[-1], p["max_ns"], delta=1)

    def test_copies_between_gpus(self):
        profile = self.counted(2, "--sizes", "1K:1M", gpu=True, XFERSCOPE_SIMGPU_LAZY="1")
        network = profile["network"]
        self.assertEqual(names(profile, "staged"), ["net/staged/rank0-rank1", "net/staged/rank1-rank0"])
        self.assertEqual([r["gpu"] for r in network["ranks"]], [0, 0])
        self.assertTrue(all(r["simulated"] for r in network["ranks"]))
        for staged in network["staged"]:
            self.assertEqual([p["bytes"] for p in staged["points"]], [4 ** i for i in range(5, 11)])
            for p in staged["points"]:
                cells = [c for c in staged["cells"] if c["bytes"] == p["bytes"]]
                best = min(c["median_ns"] for c in cells)
                self.assertEqual(p["adaptive_ns"], best)
                self.assertIn((p["buffers"], p["buffer_bytes"]),
                              [(c["buffers"], c["buffer_bytes"]) for c in cells if c["median_ns"] == best])
                # the host can read the simulated GPU's memory, so that any MPI can
                self.assertGreater(p["direct_ns"], 0)
                self.assertGreater(p["posted_ns"], 0)
            rule, slower = staged["hybrid_bytes"], [p["bytes"] for p in staged["points"]
                                                    if p["adaptive_ns"] >= p["direct_ns"]]
            self.assertEqual(rule, min((p["bytes"] for p in staged["points"]
                                        if p["bytes"] > max(slower, default=0)), default=0))
            grid = {(c["buffers"], c["buffer_bytes"]) for c in staged["cells"] if c["bytes"] == 1 << 20}
            self.assertEqual(grid, {(2, 65536), (8, 65536), (32, 65536), (2, 262144), (8, 262144)})
        self.assertEqual([r["direct"] for r in network["ranks"]], ["taken", "taken"])
        # once for the two, before any other message of device memory
        first, back = network["staged"]
        self.assertEqual([(f["bytes"], f["rounds"]) for f in first["first_uses"]], [(1024, 8), (65536, 8), (1 << 20, 8)])
        self.assertNotIn("first_uses", back)

    def test_ucx_where_mpi_uses_it(self):
        """Its version; none where MPI has not loaded it, though it is installed."""
        without = self.counted(2, "--sizes", "1:4", launcher=("--mca", "pml", "ob1"))
        self.assertEqual(without["network"]["ucx"], "")
        run = mpirun(2, "-o", self.output, "--quiet", "--sizes", "1:4", *COUNTED, program=[PATHS.counted],
                     launcher=("--mca", "pml", "ucx", "--mca", "pml_ucx_tls", "any", "--mca", "pml_ucx_devices", "any"))
        if run.returncode:
            self.skipTest("this MPI does not run on UCX here")
        self.assertRegex(load(self.output)["network"]["ucx"], r"^\d+\.\d+\.\d+$")

    def test_what_ucx_says_of_its_protocols(self):
        """Asked of the real library; each row once, though both ranks have it, and none of a rank's messages to
        itself."""
        run = mpirun(2, "-o", self.output, "--sizes", "1:64K", *COUNTED, program=[PATHS.counted], UCX_PROTO_ENABLE="y",
                     launcher=("--mca", "pml", "ucx", "--mca", "opal_common_ucx_tls", "any", "--mca",
                               "opal_common_ucx_devices", "any"))
        if run.returncode:
            self.skipTest("this MPI does not run on UCX here")
        rows = load(self.output)["network"]["protocols"]
        texts = [json.dumps(row, sort_keys=True) for row in rows]
        self.assertEqual(len(set(texts)), len(texts))
        self.assertFalse([row for row in rows if row["transport"].startswith("self/")])
        sent = [row for row in rows if row["messages"] == "tagged message by ucp_tag_send*() from host memory"]
        self.assertEqual([row["first_bytes"] for row in sent[1:]], [row["last_bytes"] + 1 for row in sent[:-1]])
        self.assertEqual((sent[0]["first_bytes"], sent[-1]["last_bytes"]), (0, None))
        self.assertIn("UCX sends messages of host memory by " + sent[0]["protocol"], run.stdout)
        self.assertNotIn("ep_cfg", run.stdout + run.stderr)

    def test_one_rank_without_a_gpu(self):
        program = ["-x", f"LD_LIBRARY_PATH={PATHS.simgpu}", PATHS.command, "probe", "--net", "--quick", "--sizes",
                   "1K:4K", "--quiet", "-o", self.output, ":", "-n", "1", "-x", "LD_LIBRARY_PATH=", PATHS.command,
                   "probe", "--net", "--quick", "--sizes", "1K:4K", "--quiet", "-o", self.output]
        run = mpirun(1, program=program)
        self.assertEqual(run.returncode, 0, run.stderr)
        profile = load(self.output)
        self.assertEqual(profile["network"]["staged"], [])
        self.assertEqual([r["gpu"] for r in profile["network"]["ranks"]], [0, -1])
        self.assertEqual(len([w for w in profile["warnings"] if "no copies between GPUs" in w]), 1)


class Nodes(Lab):
    """Machines of several NUMA nodes."""

    def by_node(self, profile):
        return sorted((p["shape"], p["from"], p["from_node"], p["to_node"]) for p in profile["network"]["paths"]
                      if "from_node" in p)

    def test_each_with_each(self):
        """The simulated machine's two nodes: both ranks go to each, both lead."""
        profile = self.counted(2, "--sizes", "1:64K", gpu=True, XFERSCOPE_SIMGPU_MACHINE="sim-2socket-4gpu")
        self.assertEqual(self.by_node(profile), [(shape, rank, a, b) for shape in ("ping", "stream") for rank in (0, 1)
                                                 for a in (0, 1) for b in (0, 1)])
        paths = {p["name"]: p for p in profile["network"]["paths"]}
        bound = paths["net/stream/rank1-rank0/node0-node1"]
        self.assertEqual([p["bytes"] for p in bound["points"]], [1, 16, 256, 4096, 65536])
        self.assertEqual(len(paths["net/stream/rank1-rank0"]["points"]), 9)
        self.assertFalse([w for w in profile["warnings"] if "NUMA" in w])
        said = subprocess.run([PATHS.command, "probe", f"--summary={self.output}"], capture_output=True, text=True,
                              env=environment(), check=True).stdout
        self.assertEqual(said.count("  by NUMA node: "), 2, said)

    def test_nodes_that_it_cannot_be_bound_to(self):
        """hwloc gets two nodes that the system does not have."""
        if os.path.exists("/sys/devices/system/node/node1"):
            self.skipTest("this machine has two nodes")
        profile = self.counted(2, "--sizes", "1:1K", HWLOC_SYNTHETIC="node:2 core:1 pu:1", HWLOC_THISSYSTEM="1")
        self.assertEqual(len([w for w in profile["warnings"] if "not measured by NUMA node" in w]), 2, profile["warnings"])
        self.assertFalse([row for row in self.by_node(profile) if 1 in row[2:]])
        self.assertEqual(len([p for p in profile["network"]["paths"] if "from_node" not in p]), 5)


class Collectives(Lab):
    """MPI's, of all ranks and of some."""
    FACTORS = {"barrier": 1, "broadcast": 1, "reduce": 1, "all-reduce": 4 / 3, "all-gather": 2 / 3, "reduce-scatter": 2 / 3,
               "all-to-all": 2 / 3, "reduce-scatter-block": 2 / 3}
    DIVIDED = ("all-gather", "reduce-scatter", "all-to-all", "reduce-scatter-block")

    def of_mpi(self, profile):
        return {c["name"].removeprefix("net/mpi/"): c for c in profile["network"]["collectives"]
                if c["name"].startswith("net/mpi/") and "/ranks" not in c["name"]}

    def of_parts(self, profile):
        """By operation and by what the name says of the ranks."""
        return {tuple(c["name"].split("/")[2:]): c for c in profile["network"]["collectives"]
                if c["name"].startswith("net/mpi/") and "/ranks" in c["name"]}

    def test_all(self):
        """By counted.c: of the rank that takes longest, from its look before to its look after each call."""
        found = self.of_mpi(self.counted(3, "--sizes", "1:4K"))
        self.assertEqual(list(found), list(self.FACTORS))
        for word, c in found.items():
            self.assertEqual((c["ranks"], c["hosts"]), (3, 1), word)
            self.assertAlmostEqual(c["bus_per_algbw"], self.FACTORS[word], places=6)
            sizes = [4, 16, 64, 256, 1024, 4096] if word not in self.DIVIDED else [12, 60, 252, 1020, 4092]
            self.assertEqual([p["bytes"] for p in c["points"]], [0] if word == "barrier" else sizes, word)
            for p in c["points"]:
                self.assertEqual((p["n"], p["median_ns"]), (12, 4 * 10 ** 6 + 100 * p["bytes"]), word)

    def test_some_ranks(self):
        """Of four ranks of one host the pairs; what a rank takes is its number's among those, every other size."""
        profile = self.counted(4, "--sizes", "1:4K")
        found, operations = self.of_parts(profile), list(self.FACTORS)[:-1]
        self.assertEqual(list(found), [(word, "ranks2-hosts1") for word in operations])
        for (word, _), c in found.items():
            self.assertEqual((c["ranks"], c["hosts"]), (2, 1), word)
            self.assertAlmostEqual(c["bus_per_algbw"], 1 if self.FACTORS[word] in (1, 4 / 3) else 1 / 2, msg=word)
            sizes = [4, 64, 1024] if word not in self.DIVIDED else [16, 256, 4096]
            self.assertEqual([p["bytes"] for p in c["points"]], [0] if word == "barrier" else sizes, word)
            for p in c["points"]:
                self.assertEqual((p["n"], p["median_ns"]), (12, 3 * 10 ** 6 + 100 * p["bytes"]), word)
        self.assertEqual(list(self.of_mpi(profile)), list(self.FACTORS))
        self.assertEqual({c["ranks"] for c in self.of_mpi(profile).values()}, {4})

    def test_some_ranks_wrong(self):
        run = mpirun(4, "--sizes", "4:64", *COUNTED, "--filter", "mpi", "-o", self.output, program=[PATHS.counted],
                     XFERSCOPE_COUNTED="wrong-in-part")
        self.assertEqual(run.returncode, 3, run.stderr)
        profile = load(self.output)
        self.assertIn("MPI: wrong data after all-to-all/ranks2-hosts1", profile["warnings"])
        self.assertEqual(list(self.of_mpi(profile)), list(self.FACTORS))
        self.assertEqual([word for word, _ in self.of_parts(profile)], list(self.FACTORS)[:-2])

    def test_some_ranks_in_time(self):
        """A line for all operations of the pairs; of each there is the first size."""
        run = mpirun(4, "--sizes", "4:64K", "--net", "--quick", "--time-limit", "1", "--filter", "ranks", "-o", self.output,
                     program=[PATHS.counted])
        self.assertEqual(run.returncode, 0, run.stderr)
        profile = load(self.output)
        said = [w for w in profile["warnings"] if "ranks2-hosts1" in w]
        self.assertEqual(len(said), 1, profile["warnings"])
        self.assertIn("ranks2-hosts1: of 6 operations not all sizes are measured", said[0])
        self.assertEqual({len(c["points"]) for c in self.of_parts(profile).values()}, {1})

    def test_one_size(self):
        found = self.of_mpi(self.counted(2, "--sizes", "64K:64K"))
        for word, c in found.items():
            self.assertEqual([p["bytes"] for p in c["points"]], [0] if word == "barrier" else [65536], word)

    def test_time_is_over(self):
        """Of each the first size is there; what is not is said."""
        run = mpirun(2, "--sizes", "4:1K", "--net", "--quick", "--time-limit", "1", "-o", self.output, program=[PATHS.counted])
        self.assertEqual(run.returncode, 0, run.stderr)
        profile = load(self.output)
        for word, c in self.of_mpi(profile).items():
            first = {"barrier": 0, **dict.fromkeys(self.DIVIDED, 16)}.get(word, 4)
            self.assertEqual([(p["bytes"], 6 <= p["n"] < 12) for p in c["points"]], [(first, True)], word)
        self.assertEqual(len([w for w in profile["warnings"] if "net/mpi/all-to-all: sizes from" in w]), 1, profile["warnings"])

    def test_wrong_data(self):
        run = mpirun(2, "--sizes", "4:1K", *COUNTED, "-o", self.output, program=[PATHS.counted], XFERSCOPE_COUNTED="wrong")
        self.assertEqual(run.returncode, 3, run.stderr)
        profile = load(self.output)
        self.assertIn("MPI: wrong data after all-to-all", profile["warnings"])
        self.assertEqual(list(self.of_mpi(profile)), list(self.FACTORS)[:-2])

    def test_words(self):
        """In the report, in --summary and in CSV."""
        profile = self.counted(2, "--sizes", "4:1K")
        said = subprocess.run([PATHS.command, "probe", f"--summary={self.output}"], capture_output=True, text=True,
                              env=environment(), check=True).stdout
        self.assertIn("net/mpi/barrier: 2 ranks on one host, takes 3000.0 us", said)
        self.assertRegex(said, "net/mpi/all-reduce: 2 ranks on one host, 4 B take 3000.4 us, at best .* GB/s \\(1 KiB\\)")
        self.assertEqual(len(self.of_mpi(profile)), 8)

    def test_other_ranks_are_not_compared(self):
        """Collectives of two ranks and of three are no figures of one thing."""
        self.counted(2, "--sizes", "4:1K")
        os.rename(self.output, self.output + ".two")
        self.counted(3, "--sizes", "4:1K")
        run = subprocess.run([PATHS.command, "probe", "--compare", self.output + ".two", self.output], capture_output=True,
                             text=True, env=environment(), check=False)
        lines = [line for line in run.stdout.splitlines() if "net/mpi/barrier (" in line]
        self.assertEqual(len(lines), 2, run.stdout)
        for line, ranks in zip(lines, ("2 ranks", "3 ranks")):
            self.assertIn(ranks, line)


class Filter(Lab):
    """--filter, on the names of all that is measured."""

    def chosen(self, pattern, ranks=2, **how):
        network = self.counted(ranks, "--sizes", "1K:4K", "--filter", pattern, **how)["network"]
        return sorted(entry["name"] for part in ("paths", "staged", "collectives") for entry in network[part])

    def test_paths(self):
        self.assertEqual(self.chosen("ping"), ["net/ping/rank0-rank1", "net/ping/rank1-rank0"])
        self.assertEqual(self.chosen("^net/(both|stream/rank1)"), ["net/both/rank0-rank1", "net/stream/rank1-rank0"])
        self.assertEqual(self.chosen("rank2$", ranks=3), [f"net/{shape}/rank{a}-rank2" for shape in ("both", "ping", "stream")
                                                          for a in (0, 1)])

    def test_collectives(self):
        self.assertEqual(self.chosen("scatter-block"), ["net/mpi/reduce-scatter-block"])
        self.assertEqual(self.chosen("barrier", ranks=4), ["net/mpi/barrier", "net/mpi/barrier/ranks2-hosts1"])
        self.assertEqual(self.chosen("reduce/ranks2", ranks=4), ["net/mpi/all-reduce/ranks2-hosts1", "net/mpi/reduce/ranks2-hosts1"])
        self.assertEqual(self.chosen("mpi/all-(reduce|gather)"), ["net/mpi/all-gather", "net/mpi/all-reduce"])
        self.assertEqual(self.chosen("all-reduce", gpu=True, XFERSCOPE_NCCL=PATHS.nccl, XFERSCOPE_SIMGPU_MACHINE="sim-2socket-4gpu"),
                         ["net/mpi/all-reduce", "net/nccl/all-reduce"])

    def test_gpus_and_nodes(self):
        machine = {"gpu": True, "XFERSCOPE_SIMGPU_MACHINE": "sim-2socket-4gpu"}
        self.assertEqual(self.chosen("staged/rank0", **machine), ["net/staged/rank0-rank1"])
        self.assertEqual(self.chosen("ping/rank1.*node1-node0", **machine), ["net/ping/rank1-rank0/node1-node0"])

    def test_nothing(self):
        run = mpirun(2, *COUNTED, "--filter", "gpu7", "-o", self.output, program=[PATHS.counted])
        self.assertEqual(run.returncode, 1, run.stderr)
        self.assertIn("nothing was measured of what --filter chooses", run.stderr)
        self.assertFalse(os.path.exists(self.output))

    def test_no_pattern(self):
        for pattern in ("", "a["):
            run = mpirun(2, *COUNTED, "--filter", pattern, "-o", self.output, program=[PATHS.counted])
            self.assertEqual(run.returncode, 2, run.stderr)
            self.assertEqual(len([line for line in run.stderr.splitlines() if "--filter" in line]), 1, run.stderr)


class Nccl(Lab):
    """Collectives, with an NCCL of the tests' own."""

    def collectives(self, ranks=2, **settings):
        return self.counted(ranks, "--sizes", "1:4K", gpu=True, XFERSCOPE_NCCL=PATHS.nccl,
                            XFERSCOPE_SIMGPU_MACHINE="sim-2socket-4gpu", **settings)

    def test_collectives(self):
        network = self.collectives(3)["network"]
        self.assertEqual(network["nccl"], "2.28.3")
        found = [c for c in network["collectives"] if c["name"].startswith("net/nccl/") and "/ranks" not in c["name"]]
        parts = [c for c in network["collectives"] if c["name"].startswith("net/nccl/") and "/ranks" in c["name"]]
        self.assertEqual([(c["name"], c["ranks"], c["hosts"], [p["bytes"] for p in c["points"]]) for c in parts],
                         [(f"net/nccl/{word}/ranks2-hosts1", 2, 1, [4, 64, 1024] if word in ("all-reduce", "send-recv") else [16, 256, 4096])
                          for word in ("all-reduce", "all-gather", "reduce-scatter", "send-recv")])
        self.assertEqual([(c["name"], round(c["bus_per_algbw"], 6)) for c in found],
                         [("net/nccl/all-reduce", 1.333333), ("net/nccl/all-gather", 0.666667),
                          ("net/nccl/reduce-scatter", 0.666667), ("net/nccl/send-recv", 1)])
        for c in found:  # whole elements; for each of three ranks where these are divided
            divided = c["name"] in ("net/nccl/all-gather", "net/nccl/reduce-scatter")
            self.assertEqual([p["bytes"] for p in c["points"]],
                             [12, 60, 252, 1020, 4092] if divided else [4, 16, 64, 256, 1024, 4096], c)
            self.assertTrue(all(p["n"] == 12 for p in c["points"]))
            self.assertEqual((c["ranks"], c["hosts"]), (3, 1))

    def test_wrong_data(self):
        run = mpirun(2, "--sizes", "1:4K", *COUNTED, "-o", self.output, gpu=True, program=[PATHS.counted], XFERSCOPE_NCCL=PATHS.nccl,
                     XFERSCOPE_SIMGPU_MACHINE="sim-2socket-4gpu", XFERSCOPE_FAKE_NCCL="wrong")
        self.assertEqual(run.returncode, 3, run.stderr)
        profile = load(self.output)
        self.assertIn("NCCL: wrong data after all-reduce", profile["warnings"])
        self.assertEqual([c for c in profile["network"]["collectives"] if "nccl" in c["name"]], [])

    def test_one_that_does_not_start(self):
        profile = self.collectives(XFERSCOPE_FAKE_NCCL="refuse")
        self.assertEqual(len([w for w in profile["warnings"] if "NCCL: not measured: it does not start" in w]), 1)
        self.assertEqual(profile["network"]["nccl"], "")

    def test_two_ranks_on_one_gpu(self):
        profile = self.counted(2, "--sizes", "1:4", gpu=True, XFERSCOPE_NCCL=PATHS.nccl)
        self.assertEqual(len([w for w in profile["warnings"] if "a GPU of its own for each rank" in w]), 1)


class ManyRanks(Lab):
    def test_all_pairs(self):
        profile = self.counted(3, "--sizes", "1:16")
        self.assertEqual({(p["shape"], p["from"], p["to"]) for p in profile["network"]["paths"]},
                         {(shape, a, b) for shape in ("ping", "stream") for a in range(3) for b in range(3) if a != b}
                         | {("both", a, b) for a in range(3) for b in range(a + 1, 3)})

    def test_loaded(self):
        profile = self.counted(4, "--loaded", "--sizes", "1:16")
        self.assertTrue(all(p["loaded"] and p["name"].startswith("net-loaded/") for p in profile["network"]["paths"]))
        self.assertEqual(len(profile["network"]["paths"]), 4 * 3 * 2 + 6)


class Refusals(Lab):
    """One clear line each."""

    def refused(self, run, status, *words):
        ours = [line for line in run.stderr.splitlines() if line.startswith("xferscope")]
        self.assertEqual(len(ours), 1, run.stderr)
        for word in words:
            self.assertIn(word, ours[0])
        self.assertEqual(run.returncode, status, run.stderr)

    def test_one_rank(self):
        self.refused(mpirun(1), 2, "needs two ranks")

    def test_options_of_the_other_probe(self):
        for option in ("--list", "--paper", "--no-flush", "--resume=x"):
            self.refused(mpirun(2, option), 2, option.partition("=")[0])
        self.refused(mpirun(2, "--sizes", "1:4G"), 2, "1G")

    def test_output_that_cannot_be_written(self):
        self.refused(mpirun(2, "-o", "/proc/no/such"), 1, "/proc/no/such", "cannot write")

    def test_other_versions(self):
        program = [PATHS.command, "probe", "--net", "-o", self.output, ":", "-n", "1", PATHS.other, "--net"]
        self.refused(mpirun(1, program=program), 1, "rank 1 has xferscope 0.0.1", "rank 0 has xferscope 1.")
        self.assertFalse(os.path.exists(self.output))

    def test_without_the_program(self):
        """As it is where it was built without MPI."""
        os.makedirs(f"{self.folder}/bin")
        os.link(PATHS.command, f"{self.folder}/bin/xferscope") if same_disk(self.folder) else copy(
            PATHS.command, f"{self.folder}/bin/xferscope")
        run = subprocess.run([f"{self.folder}/bin/xferscope", "probe", "--net"], capture_output=True, text=True,
                             check=False)
        self.refused(run, 1, "without MPI")


def same_disk(folder):
    return os.stat(folder).st_dev == os.stat(PATHS.command).st_dev


def copy(source, target):
    subprocess.run(["cp", source, target], check=True)


class Ends(Lab):
    """A rank that is killed, or the launcher that is interrupted: what was measured is there."""

    def start(self):
        run = subprocess.Popen(["mpirun", "-n", "2", PATHS.command, "probe", "--net", "--sizes", "1:1M", "-o",
                                self.output], env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               text=True)
        self.addCleanup(run.wait)
        self.addCleanup(run.kill)
        until = time.monotonic() + 60
        while not os.path.exists(self.output + ".partial"):
            self.assertLess(time.monotonic(), until)
            self.assertIsNone(run.poll(), "it ended before anything was measured")
            time.sleep(0.05)
        return run

    def ranks_of(self, run):
        """Their processes, by rank: the launcher's children."""
        found = {}
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{pid}/stat", encoding="ascii") as file:
                    parent = int(file.read().rpartition(")")[2].split()[1])
                with open(f"/proc/{pid}/environ", "rb") as file:
                    variables = dict(entry.split(b"=", 1) for entry in file.read().split(b"\0") if b"=" in entry)
            except OSError:
                continue
            if parent == run.pid and b"OMPI_COMM_WORLD_RANK" in variables:
                found[int(variables[b"OMPI_COMM_WORLD_RANK"])] = int(pid)
        return found

    def check_rest(self, run, heard=True):
        """heard: a launcher that ends does not pass on what its ranks say then, or half of it."""
        _, said = run.communicate(timeout=60)
        ours = [line for line in said.splitlines() if line.startswith("xferscope")]
        self.assertIn(len(ours), [1] if heard else [0, 1], said)
        for line in ours if heard else []:
            self.assertIn(f"{self.output} has what was measured", line)
        self.assertNotEqual(run.returncode, 0)
        kept = self.output if heard or os.path.exists(self.output) else self.output + ".partial"
        profile = load(kept)  # a launcher that ends may kill before a rank can rename it
        self.assertIn("net/ping/rank0-rank1", names(profile, "paths"))
        self.assertTrue(profile["network"]["paths"][0]["points"])

    def test_a_rank_that_is_killed(self):
        run = self.start()
        os.kill(self.ranks_of(run)[1], signal.SIGKILL)
        self.check_rest(run)

    def test_an_interrupted_launcher(self):
        run = self.start()
        run.send_signal(signal.SIGINT)
        self.check_rest(run, heard=False)

    def test_rank_0_killed(self):
        """It cannot say anything: the partial file is there, and whole."""
        run = self.start()
        os.kill(self.ranks_of(run)[0], signal.SIGKILL)
        run.communicate(timeout=60)
        self.assertIn("net/ping/rank0-rank1", names(load(self.output + ".partial"), "paths"))


if __name__ == "__main__":
    main()
