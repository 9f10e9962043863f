"""Calls of MPI and NCCL in the record: what programs say that they moved, call by call, against what the trace has.
The programs are tests/programs/messages*: RANK op CALL bytes width to from tag ranks."""
import argparse
import collections
import contextlib
import glob
import json
import os
import re
import sqlite3
import subprocess
import sys
import tempfile
import unittest

PARSER = argparse.ArgumentParser()
for name in ("command", "simgpu", "programs", "library"):
    PARSER.add_argument(f"--{name}", required=True)
PATHS, CHOSEN = PARSER.parse_known_args()

LET = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_rmaps_base_oversubscribe": "1"}


def program(called):
    path = os.path.join(PATHS.programs, called)
    if not os.path.exists(path):
        raise unittest.SkipTest(f"{called} is not built: its compiler was not found")
    return path


def environment(**more):
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("OMPI_", "PMIX_", "PMI_"))}
    kept.update(LET, LD_LIBRARY_PATH=PATHS.simgpu, XFERSCOPE_CHECKS="abort", XFERSCOPE_SIMGPU_CLOCK="host")
    kept.update(more)
    return kept


def run(*command, **more):
    return subprocess.run(command, env=environment(**more), capture_output=True, text=True, timeout=120, check=False)


class Process:
    """One trace: its messages as the programs say them, and the rest."""

    def __init__(self, path):
        dump = run(PATHS.command, "dump", path, "-f", "json").stdout
        self.lines = [json.loads(line) for line in dump.splitlines()]
        self.messages = self.of("message")
        self.ends = self.of("message-end")
        self.communicators = {e["communicator"]: e for e in self.of("communicator")}

    def of(self, kind):
        return [e for e in self.lines if e.get("kind") == kind]

    def lost(self):
        return [line["line"] for line in self.lines if line["type"] == "lost"]

    def said(self, e):
        def rank(number):
            return "-" if number is None or number < 0 else str(number)
        tag = e["correlation"] if e["call"].startswith("MPI_") else 0
        ranks = self.communicators.get(e["communicator"], {"name": "?"})["name"]
        peers = ["-", "-"] if e["message"] == "wait" else [rank(e["to"]), rank(e["from"])]
        peers = ["failed", "-"] if "failed" in e["flags"] else peers
        return (e["message"], e["call"], str(e["bytes"]), str(e["width"]), *peers,
                str(tag - (1 << 32) if tag >= 1 << 31 else tag), ranks)


class Messages(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.trace = os.path.join(self.folder, "run.xft")

    def record(self, *command, fails=False, **more):
        """The finished process, and the trace of each rank (without a launcher: of rank 0)."""
        done = run(PATHS.command, "record", "--no-summary", "-o", self.trace, "--", *command, **more)
        self.assertEqual(done.returncode != 0, fails, done.stderr)
        found = {}
        for path in glob.glob(os.path.join(self.trace, "*.trace")):
            rank = re.search(r"\.rank(\d+)\.", path)
            found[int(rank[1]) if rank else 0] = Process(path)
        return done, found

    def agree(self, ranks):
        """What each rank said is what its trace has; requests end once each."""
        for rank, process in ranks.items():
            said, ends = collections.Counter(), 0
            with open(os.path.join(self.folder, f"said.{rank}"), encoding="utf-8") as file:
                for words in map(str.split, file):
                    if words[1] == "ends":
                        ends = int(words[2])
                    else:
                        said[tuple(words[1:])] += 1
            recorded = collections.Counter(process.said(e) for e in process.messages)
            self.assertEqual({}, dict(said - recorded), f"rank {rank}: said and not recorded")
            self.assertEqual({}, dict(recorded - said), f"rank {rank}: recorded and not said")
            self.assertEqual(len(process.ends), ends, f"rank {rank}")
            self.assertEqual(process.lost(), [None])
            self.ends_belong(process)

    def ends_belong(self, process):
        """Each end names a message of this process with the same request, and comes after its wait."""
        begun = {(e["start_ns"], e["stream"]): e for e in process.messages}
        order = {(e["lane"], e["seq"]): e for e in process.lines if e.get("type") == "event"}
        for end in process.ends:
            message = begun[end["aux"], end["stream"]]
            self.assertIn("async", message["flags"])
            self.assertLessEqual(message["start_ns"], end["end_ns"])
            before = end["seq"] - 1
            while order[end["lane"], before]["kind"] in ("message-end", "overhead"):
                before -= 1
            self.assertEqual(order[end["lane"], before]["message"], "wait")
            if message["message"] == "receive" and end["src"] != "0x0":
                self.assertLessEqual(end["width"], message["width"])

    def launched(self, *command, ranks=2, launcher="mpirun", **more):
        return self.record(launcher, "-n", str(ranks), *command, **more)


class OpenMpi(Messages):
    launcher, suffix, other_calls = "mpirun", "", {2: 19, 3: 17}

    @classmethod
    def setUpClass(cls):
        said = subprocess.run([cls.launcher, "--version"], capture_output=True, text=True, check=False).stdout
        if "Open MPI" not in said:
            raise unittest.SkipTest("ranks are started here by the options of Open MPI's mpirun")

    def messages(self, *options, called="messages", ranks=2, **more):
        return self.launched(program(called + self.suffix), self.folder, *options, ranks=ranks,
                             launcher=self.launcher, **more)

    def test_every_call(self):
        _, ranks = self.messages()
        self.assertEqual(len(ranks), 2)
        self.agree(ranks)
        called = {e["call"] for e in ranks[0].messages + ranks[1].messages}
        self.assertEqual(len(called), 39)
        for process in ranks.values():
            sends = [e for e in process.messages if e["call"] == "MPI_Isend"]
            self.assertEqual({e["src_memory"] for e in sends}, {"device"})
            self.assertTrue(all(e["stack"] for e in process.messages))

    def test_other_calls(self):
        """Neighbors, persistent collectives, matched probes; by MPI 4 large counts and messages in parts."""
        for count in (2, 3):
            with self.subTest(ranks=count):
                _, ranks = self.messages(called="messages_more", ranks=count)
                self.assertEqual(len(ranks), count)
                self.agree(ranks)
                self.assertEqual(len({e["call"] for e in ranks[0].messages + ranks[1].messages}), self.other_calls[count])
                self.together(ranks)
                for process in ranks.values():
                    started = [e["start_ns"] for e in process.messages if e["call"] == "MPI_Startall"]
                    self.assertEqual(len(started), len(set(started)))
            subprocess.run(["rm", "-r", self.trace], check=True)

    def together(self, ranks):
        """Persistent collectives that ranks start in different orders are matched with their like."""
        done = run(PATHS.command, "analyze", self.trace, "-f", "json")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        rows = [row for row in json.loads(done.stdout)["messages"]["rows"] if row["function"] in ("MPI_Start", "MPI_Startall")]
        of_all = [row for row in rows if row["operation"] in ("barrier", "all-reduce", "broadcast", "gather", "all-to-all", "scan")]
        self.assertEqual({row["operation"] for row in of_all}, {"barrier", "all-reduce", "broadcast", "gather", "all-to-all", "scan"})
        for row in of_all:
            self.assertEqual((row["calls"], row["matched"]), (len(ranks), len(ranks)), row)

    def test_what_arrived(self):
        _, ranks = self.messages("all")
        for rank, process in ranks.items():
            waits = [e for e in process.ends if e["call"] in ("MPI_Wait", "MPI_Waitany", "MPI_Testany")]
            self.assertEqual(len(waits), 12)
            # of each four one large receive and a small one, by MPI_ANY_SOURCE; sends have no more to say
            arrived = collections.Counter((e["width"], int(e["src"], 16)) for e in waits)
            self.assertEqual(arrived, {(32768, 2 - rank): 3, (8, 2 - rank): 3, (0, 0): 6})

    def test_again(self):
        """A call whose all is known is recorded as the first one was, which had to ask."""
        blocking = {("MPI_Send", 0): 3, ("MPI_Send", 1): 0, ("MPI_Recv", 0): 0, ("MPI_Recv", 1): 3}
        _, ranks = self.messages("again")
        differs = {"start_ns", "end_ns", "seq", "stream", "line"}
        for rank, process in ranks.items():
            self.agree({rank: process})
            for call in ("MPI_Send", "MPI_Ssend", "MPI_Recv", "MPI_Isend", "MPI_Irecv", "MPI_Wait", "MPI_Sendrecv"):
                events = [{key: value for key, value in e.items() if key not in differs}
                          for e in process.messages if e["call"] == call]
                each = len(events) // 3
                self.assertEqual(each, blocking.get((call, rank), each))
                self.assertEqual(events[:each], events[each:2 * each])
                self.assertEqual(events[:each], events[2 * each:])
            ends = [(e["width"], e["src"], e["flags"]) for e in process.ends if e["call"] == "MPI_Wait"]
            self.assertEqual(len(ends), 12)
            self.assertEqual(ends[:4] * 3, ends)

    def test_reused(self):
        """What was learned of a type, of memory or of a communicator is not said of the next one at its place."""
        done, ranks = self.messages("reused")
        self.agree(ranks)
        for rank, process in ranks.items():
            said = re.search(f"^{rank}: again types (\\d+) communicators (\\d+)$", done.stdout, re.M)
            self.assertGreater(min(map(int, said.groups())), 0, "no handle was used again")
            end = "dst_memory" if rank else "src_memory"
            of_memory = [e[end] for e in process.messages if e["correlation"] == 51]
            self.assertEqual(of_memory, ["pageable", "pageable", "registered", "registered"] * 6)
            of_comm = [e["communicator"] for e in process.messages if e["correlation"] == 52]
            self.assertEqual(of_comm[::2], of_comm[1::2])
            self.assertEqual(len(set(of_comm)), 6)

    def test_communicators(self):
        _, ranks = self.messages("all", ranks=3)
        self.agree(ranks)
        ids = [{c["name"]: c["id"] for c in p.communicators.values() if "," in c["name"]} for p in ranks.values()]
        self.assertEqual(len({json.dumps(i) for i in ids}), 1, ids)
        self.assertEqual(ids[0].keys(), {"2,1,0"})
        for rank, process in ranks.items():
            self.assertEqual([(c["rank"], c["size"], c["name"]) for c in process.communicators.values()],
                             [(rank, 3, "0-2"), (2 - rank, 3, "2,1,0"), (0, 1, str(rank)), (rank, 3, "0-2")])
            self.assertEqual(len({c["id"] for c in process.communicators.values()}), 4)

    def test_threads(self):
        _, ranks = self.messages("threads")
        self.agree(ranks)
        for process in ranks.values():  # also of those that go the straight way some are timed
            timed = [e["value"] for e in process.lines if e.get("key") == "cost.message.n"]
            self.assertGreaterEqual(int(timed[-1]), 8)

    def test_switched_off(self):
        _, ranks = self.messages(XFERSCOPE_MESSAGES="0")
        for process in ranks.values():
            self.assertEqual((process.messages, process.ends, process.communicators), ([], [], {}))
            self.assertEqual(len(process.of("alloc")), 1)

    def test_nothing_changes(self):
        alone = run(self.launcher, "-n", "2", program("messages" + self.suffix), self.folder)
        said = [open(os.path.join(self.folder, f"said.{i}"), encoding="utf-8").read() for i in range(2)]
        done, _ = self.messages()
        self.assertEqual(alone.returncode, done.returncode)
        self.assertEqual(alone.stdout, done.stdout)
        counts = [len(text.splitlines()) for text in said]
        self.assertGreater(min(counts), 100)

    def test_fortran(self):
        for called in ("messages_fortran", "messages_f08"):
            with self.subTest(called):
                _, ranks = self.messages(called=called)
                self.assertEqual(len(ranks), 2)
                self.agree(ranks)
            subprocess.run(["rm", "-r", self.trace], check=True)


class Mpich(OpenMpi):
    launcher, suffix, other_calls = "mpirun.mpich", "_mpich", {2: 29, 3: 27}

    @classmethod
    def setUpClass(cls):
        program("messages_mpich")
        program("messages_more_mpich")


class Others(Messages):
    """Open MPI, in other ways."""

    setUpClass = OpenMpi.setUpClass

    def test_a_tool(self):
        for command in ([program("messages_with_tool")], ["env", f"LD_PRELOAD={program('messages_tool.so')}",
                                                          program("messages")]):
            done, ranks = self.launched(*command, self.folder, "pair")
            self.agree(ranks)
            self.assertIn("tool: 3 calls, 805 bytes", done.stderr)
            subprocess.run(["rm", "-r", self.trace], check=True)

    def test_opened_by_a_program_without_mpi(self):
        _, ranks = self.launched(program("messages_loader"), program("messages_plugin.so"), self.folder, "all")
        self.agree(ranks)

    def test_a_rank_that_is_killed(self):
        _, ranks = self.launched(program("messages"), self.folder, "endless", fails=True)
        sends = [e for e in ranks[0].messages if e["call"] == "MPI_Send"]
        self.assertEqual(len(sends), 1000)
        self.assertGreaterEqual(len(ranks[1].messages), 999)

    def test_other_commands_read_on(self):
        self.launched(program("messages_more"), self.folder)
        out = os.path.join(self.folder, "out")
        for command in (["analyze", "--full"], ["dump"], *(["export", "-f", form, "-o", out]
                        for form in ("perfetto", "csv-messages", "sqlite"))):
            done = run(PATHS.command, *command, self.trace)
            self.assertEqual((done.returncode, done.stderr), (0, ""), command)
            if "analyze" in command:
                self.assertRegex(done.stdout, r"\bneighbors\b")
        with contextlib.closing(sqlite3.connect(out)) as database:
            names = dict(database.execute("SELECT value, count(*) FROM MPI_COLLECTIVES_EVENTS JOIN StringIds ON id = textId GROUP BY value"))
        self.assertEqual((names["MPI_Neighbor_alltoallw"], names["MPI_Start"], names["MPI_Startall"]), (8, 28, 12))


class Collectives(Messages):
    """What the collectives of a run reached, and could have reached by a profile of two ranks on this host."""

    setUpClass = OpenMpi.setUpClass
    NS = {"barrier": 5000, "all-reduce": 7000, "all-gather": 8000, "reduce-scatter": 9000, "all-to-all": 11000, "broadcast": 12000}

    def rows(self, ranks, measured=2, some=None):
        """Those of collectives, by function, of a run by so many ranks; so many were measured, and some of them."""
        self.launched(program("messages"), self.folder, "all", ranks=ranks)
        profile = os.path.join(self.folder, "network.json")
        with open(profile, "w", encoding="utf-8") as file:
            json.dump({"schema": "xferscope-profile", "version": 1, "machine": {}, "paths": [], "network": {
                "mpi": "MPI", "ranks": [{"hostname": os.uname().nodename}] * measured,
                "collectives": [{"name": f"net/mpi/{word}" + (f"/ranks{some}-hosts1" if some else ""), "ranks": some or measured, "hosts": 1, "points": [
                    {"bytes": bytes_, "median_ns": ns} for bytes_ in ([0] if word == "barrier" else [8, 1024])]}
                    for word, ns in self.NS.items()]}}, file)
        done = run(PATHS.command, "analyze", self.trace, "--network", profile, "-f", "json")
        self.assertEqual(done.returncode, 0, done.stderr)
        found = collections.defaultdict(list)
        for row in json.loads(done.stdout)["messages"]["rows"]:
            if row["operation"] in self.NS and row["size"] > 1:
                found[row["function"].removeprefix("MPI_")].append(row)
        return found

    def test_of_two_ranks(self):
        """Of host memory, in equal parts; the program's own is a device's, but where it works in place."""
        found = self.rows(2)
        priced = set()
        for function, operation in (("Barrier", "barrier"), ("Allreduce", "all-reduce"), ("Allgather", "all-gather"),
                                    ("Allgatherv", "all-gather"), ("Alltoall", "all-to-all"), ("Reduce_scatter", "reduce-scatter"),
                                    ("Reduce_scatter_block", "reduce-scatter")):
            for row in found[function]:
                self.assertEqual((row["timed"], row["matched"]), (row["calls"], row["calls"]), function)
                if row["device_memory"]:
                    self.assertEqual((row["priced"], row["unknown_because"]), (0, "device-memory"), function)
                    continue
                self.assertEqual((row["priced"], row["unknown_because"]), (row["timed"], None), function)
                self.assertAlmostEqual(1e9 * row["achievable_call_s"], self.NS[operation], delta=1e-3)
                self.assertGreater(row["call_s"], 0)
                priced.add(function)
        self.assertEqual(priced, {"Barrier", "Allreduce", "Allgatherv"})

    def test_of_some_ranks(self):
        """Of four ranks that were measured three stand for three."""
        found = self.rows(3, measured=4, some=3)
        for function in ("Barrier", "Allgatherv"):
            self.assertEqual({(row["priced"], row["unknown_because"]) for row in found[function]}, {(found[function][0]["timed"], None)}, function)

    def test_of_three_ranks(self):
        """Nothing was measured of so many."""
        found = self.rows(3)
        for function in ("Barrier", "Allgatherv"):
            self.assertEqual({(row["priced"], row["unknown_because"]) for row in found[function]}, {(0, "other-ranks")}, function)


class Together(Messages):
    """A rank that is slower delays the other; in the replay, as it was."""

    setUpClass = OpenMpi.setUpClass

    def analyzed(self, *ranks):
        machine = os.path.join(PATHS.simgpu, "machines", "sim-h200.json")
        done = run(PATHS.command, "analyze", *(glob.glob(os.path.join(self.trace, f"*.rank{rank}.*"))[0] for rank in ranks),
                   "-p", machine, "-f", "json")
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def savings(self, mode):
        """Of page-locked memory: of the run, and of rank 1 as if no other waited for it."""
        self.launched(program("late_rank"), mode, XFERSCOPE_SIMGPU_CLOCK="real")
        both, one = self.analyzed(0, 1), self.analyzed(1)
        self.assertEqual(both["whatif"]["together"], {"processes": 2, "messages": 61, "apart": 0})
        self.assertNotIn("together", one["whatif"])
        print(f"{mode}: the replay of both is {100 * both['whatif']['error']:.4f} % off the run")
        self.assertLess(both["whatif"]["error"], 0.01)
        return both, *(f["saving_s"]["likely"] for report in (both, one) for f in report["findings"]
                       if f["kind"] == "pageable-host-memory")

    def test_late(self):
        report, of_run, of_rank = self.savings("late")
        self.assertGreater(of_rank, 0)
        self.assertGreater(of_run, 0.9 * of_rank)
        waited = sum(row["before_others_s"] for row in report["messages"]["rows"]
                     if row["operation"] == "receive" and row["to"] == 0)
        self.assertGreater(waited, 0.9 * of_rank)

    def test_hidden(self):
        _, of_run, of_rank = self.savings("hidden")
        self.assertGreater(of_rank, 0)
        self.assertLess(of_run, 0.1 * of_rank)


class WithoutMpi(Messages):
    def test_no_functions(self):
        done = run(program("messages_loader"), LD_PRELOAD=PATHS.library)
        self.assertEqual((done.returncode, done.stderr), (0, ""))


class LateNccl(Messages):
    LATE = 2

    def late(self, ms):
        """What the program says, the reports of all ranks and of three, and the former as text."""
        with tempfile.TemporaryDirectory() as folder:
            trace = os.path.join(folder, "run.xft")
            done = run("mpirun", "--oversubscribe", "-n", "4", PATHS.command, "record", "--no-summary", "-o", trace, "--",
                       program("late_nccl"), folder, program("liblaunching_nccl.so"), str(self.LATE), str(ms),
                       XFERSCOPE_SIMGPU_CLOCK="real")
            self.assertEqual(done.returncode, 0, done.stderr)
            traces = sorted(glob.glob(os.path.join(folder, "*.xft")))
            self.assertEqual(len(traces), 4)
            reports = [json.loads(run(PATHS.command, "analyze", *some, "-f", "json").stdout)["messages"] for some in (traces, traces[:-1])]
            return done.stdout, *reports, run(PATHS.command, "analyze", *traces).stdout

    def row(self, messages, operation):
        rows = [row for row in messages["rows"] if row["operation"] == operation]
        self.assertEqual(len(rows), 1, operation)
        return rows[0]

    def test_who_was_late(self):
        """The rank whose kernels begin last, and what those of the others ran for until then. Ranks that copy
        nothing have their kernels' times, too."""
        said, messages, _, text = self.late(60)
        for rank, (last, waited_ns) in enumerate(re.findall(r"last (\d+) waited (\d+)", said)):
            sum = messages["processes"][rank]
            self.assertEqual((sum["rank"], sum["collectives"], sum["last"]), (rank, 12, int(last)))
            self.assertAlmostEqual(sum["others_waited_s"], int(waited_ns) / 1e9, delta=1e-5)
        sums = messages["processes"]
        self.assertEqual(max(sums, key=lambda sum: sum["others_waited_s"])["rank"], self.LATE)
        for side, operation in (("sender", "send"), ("receiver", "receive")):
            waited_ns = int(re.search(rf"{side} (\d+)", said)[1])
            self.assertAlmostEqual(self.row(messages, operation)["before_others_s"], waited_ns / 1e9, delta=1e-5)
        self.assertIn("GB/s is without it.", text)

    def test_without_the_wait(self):
        """What was reached once all were there is what is reached where nobody sleeps. Where a rank's trace is missing
        the wait is not known, and in the figure."""
        _, late, part, _ = self.late(60)
        _, quiet, _, _ = self.late(0)
        for operation in ("all-reduce", "send", "receive"):
            with self.subTest(operation):
                row, other = self.row(late, operation), self.row(quiet, operation)
                self.assertAlmostEqual(row["achieved_gbps"] / other["achieved_gbps"], 1, delta=0.02)
                self.assertGreater(row["timed"], 0)  # of messages not where the sender came first
        reduced, got = self.row(late, "all-reduce"), self.row(late, "receive")
        self.assertLess(reduced["kernels_gbps"], 0.6 * reduced["achieved_gbps"])  # 60 ms of 100, but for one rank of four
        self.assertLess(got["kernels_gbps"], 0.6 * got["achieved_gbps"])
        row = self.row(part, "all-reduce")
        self.assertEqual((row["told"], row["before_others_s"], row["achieved_gbps"]), (0, None, row["kernels_gbps"]))
        self.assertLess(row["achieved_gbps"], 0.6 * reduced["achieved_gbps"])


class Nccl(Messages):
    def setUp(self):
        super().setUp()
        _, ranks = self.record(program("messages_nccl"), self.folder, program("liblaunching_nccl.so"))
        self.process = ranks[0]

    def test_every_call(self):
        self.agree({0: self.process})

    def test_cost(self):
        """What it costs is counted, of messages that wait for the end of their group, too."""
        self.trace = os.path.join(self.folder, "groups.xft")
        _, ranks = self.record(program("messages_nccl"), self.folder, program("liblaunching_nccl.so"), "500")
        timed = [int(e["value"]) for e in ranks[0].lines if e.get("key") == "cost.message.n"]
        self.assertGreaterEqual(timed[-1], 8)
        self.assertEqual(len(ranks[0].messages), 18 + 500 * 4 + 4)

    def test_kernels(self):
        """A message's number is that of a launch on its stream, and of a kernel."""
        launches = {e["correlation"]: e["stream"] for e in self.process.of("launch")}
        kernels = {e["correlation"] for e in self.process.of("kernel")}
        for e in self.process.messages:
            if "failed" in e["flags"]:
                continue
            self.assertEqual(launches[e["correlation"]], e["stream"])
            self.assertIn(e["correlation"], kernels)
        self.assertEqual(len(launches), 18 + 2 + 3)  # of nine calls each, a group, others

    def test_communicators(self):
        found = list(self.process.communicators.values())
        self.assertEqual([(c["rank"], c["size"], c["name"], c["call"]) for c in found],
                         [(0, 2, "0-1", "ncclAllReduce"), (1, 2, "0-1", "ncclAllReduce"),
                          (0, 2, "0-1", "ncclAllReduce"), (1, 2, "0-1", "ncclAllReduce"),
                          (0, 1, "0", "ncclAllReduce")])
        ids = [c["id"] for c in found]
        self.assertEqual((ids[0], ids[2]), (ids[1], ids[3]))
        self.assertEqual(len(set(ids)), 3)
        self.assertNotIn("0x0", ids)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *CHOSEN])
