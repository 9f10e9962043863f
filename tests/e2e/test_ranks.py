"""What a trace says of its process's rank, GPUs, host and clock: what a reader needs to put the
processes of a run beside each other."""
import json
import os
import re
import shutil
import sys
import unittest
from pathlib import Path

from lab import Bench, PROGRAMS, SIMGPU, XFERSCOPE, environment, moved, needs, preloaded, record, run

UUID = "GPU-51300000-0000-4000-8000-00000000000"

# The first CUDA calls of a Python program, after what else it does.
PROGRAM = """
import ctypes, os
{before}
cuda = ctypes.CDLL("libcuda.so.1")
assert cuda.cuInit(0) == 0
{after}
"""

SLURM = {"SLURM_JOB_ID": "17", "SLURM_STEP_ID": "2", "SLURM_PROCID": "5", "SLURM_NTASKS": "8",
         "SLURM_STEP_NUM_TASKS": "8", "SLURM_LOCALID": "1", "SLURM_NODEID": "2",
         "SLURM_STEP_TASKS_PER_NODE": "2(x4)", "SLURMD_NODENAME": "n7"}
OPENMPI = {"OMPI_COMM_WORLD_RANK": "3", "OMPI_COMM_WORLD_SIZE": "8", "OMPI_COMM_WORLD_LOCAL_RANK": "1",
           "OMPI_COMM_WORLD_LOCAL_SIZE": "2", "PMIX_RANK": "3", "PMIX_NAMESPACE": "prterun-a-1"}
HYDRA = {"PMI_RANK": "2", "PMI_SIZE": "4", "MPI_LOCALRANKID": "0", "MPI_LOCALNRANKS": "2"}
MVAPICH = {"MV2_COMM_WORLD_RANK": "2", "MV2_COMM_WORLD_SIZE": "4", "MV2_COMM_WORLD_LOCAL_RANK": "0",
           "MV2_COMM_WORLD_LOCAL_SIZE": "2"}
PMIX = {"PMIX_RANK": "4", "PMIX_NAMESPACE": "prte-1@2"}
TORCHRUN = {"RANK": "6", "WORLD_SIZE": "8", "LOCAL_RANK": "2", "LOCAL_WORLD_SIZE": "4", "GROUP_RANK": "1",
            "TORCHELASTIC_RUN_ID": "none", "TORCHELASTIC_RESTART_COUNT": "0"}

TABLE = Path(__file__).resolve().parents[2] / "preload" / "record" / "ranks.def"
LAUNCHERS = set(re.findall(r"^V\((\w+), ", TABLE.read_text(), re.M))


def metas(folder):
    """META of each process of a run."""
    found = {}
    lines = run([XFERSCOPE, "dump", folder, "-f", "json"]).stdout.decode().splitlines()
    for line in map(json.loads, lines):
        if line["type"] == "file":
            meta = found.setdefault(line["pid"], {})
        elif line["type"] == "meta":
            meta[line["key"]] = line["value"]
    return found


def about_ranks(meta):
    return {key: value for key, value in meta.items() if key.split(".")[0] in ("rank", "job")}


def rank(launcher, number, **more):
    return {"rank": number, "rank.launcher": launcher,
            **{f"rank.{key}": value for key, value in more.items()}}


JOB = {"job.id": "17", "job.step": "2", "job.node": "n7"}
AS_SLURM = {**rank("slurm", "5", size="8", local="1", local_size="2", node="2", world="17.2"), **JOB}
AS_TORCHRUN = rank("torchrun", "6", size="8", local="2", local_size="4", node="1", world="none.0")
AS_OPENMPI = rank("openmpi", "3", size="8", local="1", local_size="2", world="prterun-a-1")


class Ranks(Bench):
    def setUp(self):
        super().setUp()
        for name in LAUNCHERS & os.environ.keys():  # of those who run the tests
            self.addCleanup(os.environ.__setitem__, name, os.environ.pop(name))

    def meta(self, before="", after="", **variables):
        there = set(self.runs_left())
        result = preloaded(sys.executable, "-c", PROGRAM.format(before=before, after=after), cwd=self.folder,
                           **variables)
        self.assertEqual((result.returncode, result.stdout, result.stderr), (0, b"", b""))
        (name,) = set(self.runs_left()) - there
        (meta,) = metas(self.folder / name).values()
        return meta

    def recorded_rank(self, *variables, **program):
        merged = {name: value for one in variables for name, value in one.items()}
        return about_ranks(self.meta(**program, **merged))

    def test_each_launcher(self):
        for variables, expected in (
            (SLURM, AS_SLURM),
            (OPENMPI, AS_OPENMPI),
            (HYDRA, rank("pmi", "2", size="4", local="0", local_size="2")),
            (MVAPICH, rank("mvapich", "2", size="4", local="0", local_size="2")),
            (PMIX, rank("pmix", "4", world="prte-1@2")),
            (TORCHRUN, AS_TORCHRUN),
            ({"RANK": "6", "WORLD_SIZE": "8"}, rank("env", "6", size="8")),
        ):
            with self.subTest(launcher=expected["rank.launcher"]):
                self.assertEqual(self.recorded_rank(variables), expected)

    def test_none(self):
        self.assertEqual(self.recorded_rank(), {})
        self.assertEqual(self.recorded_rank({"RANK": "3"}), {})
        self.assertEqual(self.recorded_rank({"SLURM_JOB_ID": "17", "SLURM_NTASKS": "4", "SLURM_PROCID": "0"}),
                         {"job.id": "17"})

    def test_the_innermost(self):
        self.assertEqual(self.recorded_rank(SLURM, TORCHRUN), {**AS_TORCHRUN, **JOB})
        self.assertEqual(self.recorded_rank(SLURM, OPENMPI), {**AS_OPENMPI, **JOB})
        self.assertEqual(self.recorded_rank(OPENMPI, TORCHRUN), AS_TORCHRUN)

    def test_senseless(self):
        for value in ("x", "-1", "8", "9999999999999999999999", "\x1b[2J", "3\n"):
            with self.subTest(value=value):
                self.assertEqual(self.recorded_rank(OPENMPI, {"OMPI_COMM_WORLD_RANK": value, "PMIX_NAMESPACE": ""}),
                                 {"rank.why": "OMPI_COMM_WORLD_RANK makes no sense"})

    def test_cleaned_before_the_first_call(self):
        for clean in ("os.environ.clear()", "ctypes.CDLL(None).clearenv()",
                      "ctypes.c_void_p.in_dll(ctypes.CDLL(None), 'environ').value = None"):
            with self.subTest(clean=clean):
                self.assertEqual(self.recorded_rank(SLURM, before=clean), AS_SLURM)

    def test_cleaned_under_record(self):
        """The trace lies in the run's directory all the same."""
        program = PROGRAM.format(before="os.environ.clear()", after="")
        result = record(sys.executable, "-c", program, cwd=self.folder, options=["-o", "run", "--no-stacks"])
        self.assertIn(b"1 process", result.stderr)
        self.assertEqual(self.runs_left(), ["run.xft"])
        (meta,) = metas(self.folder / "run.xft").values()
        self.assertEqual(meta["stacks"], "off")
        self.assertIn("run", meta)

    def test_written_over_before_the_first_call(self):
        """As programs do that set their title."""
        before = """
libc = ctypes.CDLL(None)
libc.getenv.restype = ctypes.c_void_p
at = libc.getenv(b"SLURM_PROCID")
ctypes.memset(at, ord("7"), 1)
libc.clearenv()
"""
        self.assertEqual(self.recorded_rank(SLURM, before=before), AS_SLURM)

    def test_set_before_the_first_call(self):
        before = "os.environ.update(RANK='7', WORLD_SIZE='16')"
        self.assertEqual(self.recorded_rank(SLURM, before=before), {**rank("env", "7", size="16"), **JOB})

    def test_set_after_the_first_call(self):
        after = "os.environ.update(RANK='7', WORLD_SIZE='16', CUDA_VISIBLE_DEVICES='0')"
        meta = self.meta(after=after, **SLURM)
        self.assertEqual(about_ranks(meta), AS_SLURM)
        self.assertNotIn("env.CUDA_VISIBLE_DEVICES", meta)

    def test_forked_child(self):
        """A data loader: the same rank, another process."""
        parent = """
child = os.fork()
if child:
    status = os.waitpid(child, 0)[1]
    os._exit(os.waitstatus_to_exitcode(status))
"""
        self.assertEqual(self.recorded_rank(SLURM, before=parent), AS_SLURM)

    @needs("forker")
    def test_family(self):
        env = {"XFERSCOPE_OUTPUT": str(self.folder / "run.xft"), **TORCHRUN}
        result = preloaded("/bin/sh", "-c", f"{PROGRAMS}/forker; RANK=5 {PROGRAMS}/forker copy 1", cwd=self.folder,
                           **env)
        self.assertEqual(result.returncode, 0, result.stderr)
        ranks = [meta.get("rank") for meta in metas(self.folder / "run.xft").values()]
        self.assertGreater(ranks.count("6"), 2)
        self.assertEqual(ranks.count("5"), 1)
        self.assertEqual(set(ranks), {"5", "6"})

    @needs("forker")
    def test_under_record(self):
        """The command between the launcher and the program changes nothing of it."""
        os.environ.update(TORCHRUN)
        self.addCleanup(lambda: [os.environ.pop(name) for name in TORCHRUN])
        record(PROGRAMS / "forker", "copy", "1", cwd=self.folder, options=["-o", "run"])
        (meta,) = metas(self.folder / "run.rank6.xft").values()
        self.assertEqual(about_ranks(meta), AS_TORCHRUN)


# What starts three ranks side by side, as launchers do: environments, and no more.
LAUNCH = """
import os, subprocess, sys
ranks = [subprocess.Popen(sys.argv[1:], env=dict(os.environ, OMPI_COMM_WORLD_RANK=str(n), OMPI_COMM_WORLD_SIZE="3",
                                                 PMIX_NAMESPACE="here")) for n in range(3)]
sys.exit(max(rank.wait() for rank in ranks))
"""
COPIES = ("/bin/sh", "-c", f"{PROGRAMS}/endings return || true")  # whose status is another


@needs("endings")
class Launched(Bench):
    """Ranks under one record, and each under its own."""

    launcher = [sys.executable, "-c", LAUNCH]
    variables = {}
    refusals = (3,)

    def launch(self, *command):
        result = run([*command[:command.index("LAUNCH")], *self.launcher, *command[command.index("LAUNCH") + 1:]],
                     cwd=self.folder, env=environment(**self.variables))
        self.assertEqual(result.returncode, 0, result.stderr)
        return [line for line in result.stderr.decode().splitlines() if line.startswith("xferscope")]

    def check(self, *runs):
        document = json.loads(run([XFERSCOPE, "analyze", *runs, "-f", "json"], cwd=self.folder).stdout)
        self.assertEqual(sorted(one["rank"] for one in document["ranks"]["all"]), [0, 1, 2])
        self.assertEqual(moved(document)["H2D"], (300, 300 * 1024))

    def names(self):
        host = re.sub(r"[^!-~]|[/.]", "_", os.uname().nodename)[:40]
        return [re.fullmatch(rf"{re.escape(host)}\.rank(\d)\.\d+-\d+\.trace", path.name)[1]
                for path in self.folder.glob("*.xft/*")]

    def test_one_record(self):
        lines = self.launch(XFERSCOPE, "record", "-o", "run", "--", "LAUNCH", *COPIES)
        self.assertRegex(lines[3], r"3 processes, \d+ events in run\.xft")
        self.assertEqual(sorted(self.names()), ["0", "1", "2"])
        self.check("run.xft")

    def test_a_record_each(self):
        lines = self.launch("LAUNCH", XFERSCOPE, "record", "-o", "my run.xft", "--", *COPIES)
        self.assertEqual(len(lines), 5, lines)
        self.assertEqual(lines[4], f"xferscope: next: {XFERSCOPE} analyze 'my run.rank'*.xft")
        runs = [f"my run.rank{n}.xft" for n in range(3)]
        self.assertEqual(self.runs_left(), runs)
        self.assertEqual(sorted(self.names()), ["0", "1", "2"])
        self.check(*runs)

    def test_again(self):
        """Each replaces its own, or refuses."""
        command = ("LAUNCH", XFERSCOPE, "record", "--no-summary", "-o", "run")
        tail = ("--", *COPIES)
        self.launch(*command, *tail)
        self.launch(*command, "--force", *tail)
        self.check(*self.runs_left())
        before = self.contents()
        refused = run([*self.launcher, *command[1:], *tail], cwd=self.folder, env=environment(**self.variables))
        self.assertNotEqual(refused.returncode, 0)
        self.assertIn(refused.stderr.count(b"--force replaces it"), self.refusals, refused.stderr)
        self.assertEqual(self.contents(), before)

    def contents(self):
        return {path: path.read_bytes() for path in self.folder.rglob("*") if path.is_file()}

    def test_a_launch_of_one(self):
        env = environment(OMPI_COMM_WORLD_RANK="0", OMPI_COMM_WORLD_SIZE="1")
        run([XFERSCOPE, "record", "-o", "run", "--", *COPIES], cwd=self.folder, env=env)
        self.assertEqual(self.runs_left(), ["run.xft"])


@unittest.skipIf(shutil.which("mpirun") is None, "no Open MPI")
class OpenMpi(Launched):
    launcher = ["mpirun", "--allow-run-as-root", "--oversubscribe", "-n", "3"]
    # Not its own look at the machine, and no more network than it needs among three neighbours.
    variables = {"OMPI_MCA_btl": "self,vader", "OMPI_MCA_plm": "isolated", "OMPI_MCA_oob": "^ud"}
    refusals = (1, 2, 3)  # the first to fail has mpirun end the others


class Host(Bench):
    def metas_of(self, *programs, **variables):
        for program in programs:
            result = preloaded(sys.executable, "-c", PROGRAM.format(before=program, after=""), cwd=self.folder,
                               XFERSCOPE_OUTPUT=str(self.folder / "run.xft"), **variables)
            self.assertEqual((result.returncode, result.stderr), (0, b""))
        return list(metas(self.folder / "run.xft").values())

    def test_boot(self):
        meta, = self.metas_of("")
        self.assertEqual(meta["boot_id"], Path("/proc/sys/kernel/random/boot_id").read_text().strip())
        self.assertEqual(meta["hostname"], os.uname().nodename)

    def test_simulated_clocks_are_nobodys(self):
        for clock in ("virtual", "host"):
            for meta in self.metas_of("", XFERSCOPE_SIMGPU_CLOCK=clock):
                self.assertNotIn("clock", meta)

    def test_gpus_of_two_processes(self):
        """Ordinals are the process's, UUIDs the GPU's."""
        setting = "os.environ['CUDA_VISIBLE_DEVICES'] = {!r}".format
        programs = setting("2,0"), setting(f"{UUID}2,{UUID}3"), "os.environ.pop('CUDA_VISIBLE_DEVICES')"
        found = {meta.get("env.CUDA_VISIBLE_DEVICES"): [value[-1] for key, value in sorted(meta.items())
                                                        if key.startswith("gpu.") and key.endswith(".uuid")]
                 for meta in self.metas_of(*programs, XFERSCOPE_SIMGPU_MACHINE="sim-2socket-4gpu",
                                           CUDA_VISIBLE_DEVICES="1")}
        self.assertEqual(found, {"2,0": ["2", "0"], f"{UUID}2,{UUID}3": ["2", "3"],
                                 None: ["0", "1", "2", "3"]})

    def test_part_of_a_gpu(self):
        """A MIG device's UUID is not the GPU's, and is written as nvidia-smi prints it."""
        part = "MIG-51300000-0000-4000-8000-00000000000a"
        machine = json.loads((SIMGPU / "machines" / "sim-h200.json").read_text())
        machine["machine"]["gpus"][0]["uuid"] = part
        (self.folder / "part.json").write_text(json.dumps(machine))
        meta, = self.metas_of("", XFERSCOPE_SIMGPU_MACHINE=str(self.folder / "part.json"))
        self.assertEqual(meta["gpu.0.uuid"], part)


@needs("zeros", "waits")
class Mixed(Bench):
    """Files of several runs, put together."""

    def recorded(self, name, program="zeros", **settings):
        done = record(PROGRAMS / program, cwd=self.folder, options=["-o", name], env=environment(**settings))
        self.assertEqual(done.returncode, 0, done.stderr)
        (made,) = set(self.folder.glob("*.xft")) - self.made
        self.made.add(made)
        return made

    def setUp(self):
        super().setUp()
        self.made = set()

    def analyze(self, *runs, form="text"):
        done = run([XFERSCOPE, "analyze", "--no-profile", "--format", form, *runs])
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout.decode()

    def test_two_runs(self):
        line = "these files are of 2 runs (zeros, waits): the figures add them up"
        first, second = self.recorded("first"), self.recorded("second", "waits")
        mixed = self.folder / "mixed"
        mixed.mkdir()
        for trace in (*first.iterdir(), *second.iterdir()):
            shutil.copy(trace, mixed)
        for named in ((mixed,), (first, second), (second, first)):
            self.assertIn(line, " ".join(self.analyze(*named).split()))
            self.assertIn(f"**Warning**: {line}", " ".join(self.analyze(*named, form="markdown").split()))
            found = json.loads(self.analyze(*named, form="json"))["run"]
            self.assertEqual((found["runs"], found["mixed"]), (2, line))
        for alone in (first, second):
            found = json.loads(self.analyze(alone, form="json"))["run"]
            self.assertEqual((found["runs"], found["mixed"]), (1, None))
            self.assertNotIn("runs (", self.analyze(alone))

    def test_compared(self):
        """Said of the side that it is of."""
        first, second, third = (self.recorded(name) for name in ("first", "second", "third"))
        mixed = self.folder / "mixed"
        mixed.mkdir()
        for trace in (*first.iterdir(), *second.iterdir()):
            shutil.copy(trace, mixed)
        done = run([XFERSCOPE, "analyze", "--no-profile", "--format", "json", mixed, "--compare", third])
        self.assertEqual(done.returncode, 0, done.stderr)
        (line,) = [line for line in json.loads(done.stdout)["warnings"] if "2 runs" in line]
        self.assertTrue(line.startswith(str(mixed)), line)

    def test_ranks_of_a_launch(self):
        """Each recorded by itself, one after the other: one run all the same."""
        ranks = [self.recorded("run", **{**OPENMPI, "OMPI_COMM_WORLD_RANK": str(n), "PMIX_RANK": str(n)})
                 for n in range(3)]
        found = json.loads(self.analyze(*ranks, form="json"))["run"]
        self.assertEqual((found["runs"], len(found["processes"])), (1, 3))
        other = {**OPENMPI, "PMIX_NAMESPACE": "prterun-a-2"}
        found = json.loads(self.analyze(*ranks, self.recorded("other", **other), form="json"))["run"]
        self.assertEqual(found["runs"], 2)


if __name__ == "__main__":
    unittest.main()
