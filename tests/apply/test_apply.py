"""Programs with the advice carried out on them, on the simulated GPU: what they print and how they end
is the same as alone, whatever is done about their copies; and what is done is what is said."""
import json
import re
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

from lab import BUILD, SIMGPU, XFERSCOPE, Bench, environment, run, sanitizer_runtime

PROGRAMS = BUILD / "bin" / "apply"
ROOT = Path(__file__).resolve().parents[2]
ATTACK = Path(__file__).resolve().parent / "attack"
# Every program, with its arguments.
CASES = [("staged", "1"), ("order",), ("kinds",), ("errors",), ("faults", "mend"), ("faults", "die"), ("threads",),
         ("forks",), ("contexts",), ("exits", "exit"), ("exits", "first"), ("exits", "quick"), ("captures",),
         ("gpus",), ("locked",), ("locked", "inherited"), ("locked", "threads"), ("sandboxed", "before"), ("sandboxed", "after"), ("deep",)]
SURROUNDINGS = ("sources", "replaced", "urgent", "hooked", "huge", "filtered", "tight", "apart")
ALL = {"XFERSCOPE_APPLY_TRIALS": "0", "XFERSCOPE_APPLY_LEAST": "1"}
LINE = re.compile(r"^xferscope apply: staging (H2D|D2H) (.*): (?:([\d.]+) (\w+) of )?(\d+) (?:calls carried out|as)")


def report_of(stderr):
    return [line for line in stderr.decode().splitlines() if line.startswith("xferscope apply: ")]


def carried_out(stderr):
    return [line for line in report_of(stderr) if "calls carried out" in line]


def slower(node, times):
    """All times of a part of a profile, so many times as long."""
    for key, value in node.items() if isinstance(node, dict) else enumerate(node):
        if isinstance(value, (dict, list)):
            slower(value, times)
        elif isinstance(value, (int, float)) and str(key).endswith(("_ns", "per_byte")):
            node[key] = value * times


class Applied(Bench):
    def alone(self, *command, **settings):
        program, *arguments = command
        return run([PROGRAMS / program, *arguments], cwd=self.folder, env=environment(**settings))

    def applied(self, *command, options=(), **settings):
        program, *arguments = command
        return run([XFERSCOPE, "apply", *options, "--", PROGRAMS / program, *arguments], cwd=self.folder,
                   env=environment(**settings))

    def compare(self, *command, options=(), also=None, **settings):
        bare = self.alone(*command, **settings)
        other = self.applied(*command, options=options, **settings, **(also or {}))
        self.assertEqual(other.stdout, bare.stdout, (command, settings, other.stderr))
        self.assertEqual(other.returncode, bare.returncode, (command, settings, other.stderr))
        self.assertNotIn(b"different", other.stdout, command) if command[0] in ("staged", "kinds") else None
        return other


class TestSame(Applied):
    def test_every_program(self):
        for command in CASES:
            with self.subTest(command):
                other = self.compare(*command)
                if "before" not in command:
                    self.assertTrue(carried_out(other.stderr), other.stderr)


class TestAll(Applied):
    def test_all_that_can_be(self):
        for command in CASES:
            with self.subTest(command):
                self.compare(*command, also=ALL)


class TestLazy(Applied):
    def test_work_that_waits_for_a_wait(self):
        for command in CASES:
            if command[0] != "exits":
                with self.subTest(command):
                    self.compare(*command, XFERSCOPE_SIMGPU_LAZY="1", also={"XFERSCOPE_APPLY_TRIALS": "0"})


class TestBeside(Applied):
    def test_four_gpus(self):
        self.compare("gpus", XFERSCOPE_SIMGPU_MACHINE="sim-2socket-4gpu")
        self.compare("gpus", XFERSCOPE_SIMGPU_MACHINE="sim-2socket-4gpu", also=ALL)

    def test_beside_recording(self):
        for command in (("staged", "1"), ("order",), ("threads",)):
            bare = self.alone(*command)
            both = run([XFERSCOPE, "record", "-q", "--no-summary", "-o", "both.xft", "--force", "--", PROGRAMS / command[0],
                        *command[1:]], cwd=self.folder, env=environment(XFERSCOPE_APPLY="on"))
            self.assertEqual((both.stdout, both.returncode), (bare.stdout, bare.returncode), both.stderr)
        report = run([XFERSCOPE, "analyze", "both.xft", "--no-profile", "--format", "json"], cwd=self.folder,
                     env=environment())
        # Its copies through our memory are not the program's.
        bytes_of = {row["direction"]: row["bytes"] for row in json.loads(report.stdout)["transfers"]}
        self.assertEqual(set(bytes_of), {"H2D", "D2H"})
        copies = sum(row["transfers"] for row in json.loads(report.stdout)["transfers"])
        self.assertEqual(copies, 2 * 6 + 3 * 4 * 6 * 2)


class TestPeers(Applied):
    """Four GPUs, of which two pairs can have peer access."""
    WHATS = ("copies", "asks", "late", "together", "threads", "resets", "early", "captured", "wrong")
    FOUR = {"XFERSCOPE_SIMGPU_MACHINE": "sim-2socket-4gpu"}

    def applied(self, *command, options=(), **settings):
        only = [] if "--only" in options else ["--only", "all"]
        return super().applied(*command, options=[*only, *options], **settings)

    def lines(self, done):
        return [line for line in report_of(done.stderr) if " peers P2P " in line]

    def test_by_default(self):
        done = super().applied("peers", "copies", **self.FOUR, XFERSCOPE_APPLY_TRIALS="0")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertNotEqual(self.lines(done), [])

    def test_same(self):
        for what in self.WHATS:
            bare = self.alone("peers", what, **self.FOUR)
            self.assertIn(b" 0 different", bare.stdout)
            for settings in ({}, {"XFERSCOPE_APPLY_TRIALS": "0"},
                             {"XFERSCOPE_SIMGPU_LAZY": "1", "XFERSCOPE_APPLY_TRIALS": "0"}):
                with self.subTest(what, settings=settings):
                    other = self.applied("peers", what, **self.FOUR, **settings)
                    self.assertEqual((other.stdout, other.returncode), (bare.stdout, bare.returncode), other.stderr)

    def test_two_gpus_of_four(self):
        visible = {**self.FOUR, "CUDA_VISIBLE_DEVICES": "2,3"}
        for what in ("copies", "late", "threads"):
            self.compare("peers", what, **visible)
            self.compare("peers", what, **visible, also={"XFERSCOPE_APPLY_TRIALS": "0"})

    def test_it_gains(self):
        done = self.applied("peers", "copies", **self.FOUR)
        gains = [line for line in self.lines(done) if "saved" in line]
        self.assertTrue(gains, done.stderr)
        for line in gains:
            now, before = map(float, re.search(r"\(([\d.]+) GB/s instead of ([\d.]+)\)", line).groups())
            self.assertGreater(now, 4 * before)

    def test_check(self):
        done = self.applied("peers", "copies", options=["--check"], **self.FOUR)
        lines = [line for line in self.lines(done) if "carried out" in line]
        self.assertTrue(lines, done.stderr)
        for line in lines:
            self.assertRegex(line, r"; [1-9]\d* compared, 0 different$")

    def test_off(self):
        done = self.applied("peers", "copies", options=["--only", "staging"], **self.FOUR)
        self.assertEqual(self.lines(done), [])
        done = self.applied("peers", "copies", options=["--only", "peers"], **self.FOUR)
        sites = {re.search(r"(peers\+0x[0-9a-f]+)", line)[1] for line in self.lines(done)}
        self.assertTrue(sites)
        done = self.applied("peers", "copies", options=["--off", ",".join(sites)], **self.FOUR)
        self.assertFalse([line for line in self.lines(done) if "carried out" in line], done.stderr)

    def test_memory_that_another_gpu_copies_to(self):
        """Without access freeing it waits for the copy; with access that we enabled, too."""
        for lazy in ({}, {"XFERSCOPE_SIMGPU_LAZY": "1"}):
            done = self.applied("peers", "freed", **self.FOUR, **lazy, XFERSCOPE_APPLY_TRIALS="0")
            self.assertTrue([line for line in self.lines(done) if "carried out" in line], done.stderr)
            self.assertIn(b"behind it: cudaSuccess", done.stdout)
            self.assertIn(b" 0 different", done.stdout)

    def test_a_gpu_that_may_be_at_work(self):
        for what in ("half", "unwaited"):
            for trials in ({}, {"XFERSCOPE_APPLY_TRIALS": "0"}):
                done = self.compare("peers", what, **self.FOUR, also=trials)
                self.assertTrue(self.lines(done), done.stderr)
                self.assertFalse([line for line in self.lines(done) if "carried out" in line], done.stderr)

    def test_gpus_that_bring_other_bytes(self):
        """Peer access that is given, and is wrong: found out before a copy of the program's uses it."""
        for trials in ({}, {"XFERSCOPE_APPLY_TRIALS": "0"}):
            done = self.compare("peers", "copies", **self.FOUR, XFERSCOPE_SIMGPU_PEERS_WRONG="1", also=trials)
            self.assertIn(b" 0 different", done.stdout)
            self.assertFalse([line for line in self.lines(done) if "carried out" in line], done.stderr)

    def test_calls_that_fail(self):
        bare = self.alone("peers", "copies", **self.FOUR)
        for failure in ("cuCtxEnablePeerAccess:1:711", "cuCtxEnablePeerAccess:2:2", "cuDeviceCanAccessPeer:1:101",
                        "cuEventElapsedTime:1:999", "cuEventElapsedTime:8:999", "cuCtxGetId:9:201",
                        "cuPointerGetAttributes:9:1", "cuStreamGetCtx:3:400"):
            with self.subTest(failure):
                for trials in ("0", "1"):
                    other = self.applied("peers", "copies", options=["--only", "peers"], **self.FOUR,
                                         XFERSCOPE_SIMGPU_FAIL=failure, XFERSCOPE_APPLY_TRIALS=trials)
                    self.assertEqual((other.stdout, other.returncode), (bare.stdout, bare.returncode), other.stderr)

    def test_what_does_not_gain_is_given_back(self):
        profile = json.loads((SIMGPU / "machines" / "sim-2socket-4gpu.json").read_text())
        for path in profile["paths"]:
            if path["name"].startswith("copy/peer/"):
                slower(path, 40)
        machine = self.folder / "slow.json"
        machine.write_text(json.dumps(profile))
        done = self.compare("peers", "late", XFERSCOPE_SIMGPU_MACHINE=str(machine))
        lines = [line for line in self.lines(done) if "carried out" in line]
        self.assertTrue(lines, done.stderr)
        for line in lines:  # its trials, and no more
            self.assertLessEqual(float(re.search(r": ([\d.]+) MiB of", line)[1]), 64, line)
            self.assertIn("lost", line)


class TestPipeline(Applied):
    """GPUs that cannot have peer access: by the machine, and since all of them are forbidden it."""
    WHATS = ("all", "freed", "beside", "forked", "apart", "held")
    APART = {"XFERSCOPE_SIMGPU_MACHINE": "sim-2socket-4gpu", "XFERSCOPE_SIMGPU_NO_PEERS": "1"}
    FAR = {"XFERSCOPE_SIMGPU_MACHINE": "sim-2socket-4gpu", "CUDA_VISIBLE_DEVICES": "0,2"}
    NOW = {"XFERSCOPE_APPLY_TRIALS": "0"}

    def applied(self, *command, options=(), **settings):
        only = [] if "--only" in options else ["--only", "pipeline"]
        return super().applied(*command, options=[*only, *options], **settings)

    def lines(self, done, words="carried out"):
        return [line for line in report_of(done.stderr) if " pipeline P2P " in line and words in line]

    def test_not_by_default(self):
        done = super().applied("piped", **self.APART, **self.NOW)
        self.assertEqual((done.returncode, self.lines(done)), (0, []), done.stderr)

    def test_same(self):
        for what in self.WHATS:
            for lazy in ({}, {"XFERSCOPE_SIMGPU_LAZY": "1"}):
                bare = self.alone("piped", what, **self.APART, **lazy)
                self.assertIn(b" 0 different", bare.stdout)
                for trials in ({}, self.NOW):
                    with self.subTest(what, lazy=lazy, trials=trials):
                        other = self.applied("piped", what, **self.APART, **lazy, **trials)
                        self.assertEqual((other.stdout, other.returncode), (bare.stdout, bare.returncode), other.stderr)
                        if trials:
                            self.assertTrue(self.lines(other), other.stderr)

    def test_beside_peer_access(self):
        """GPUs 0 and 1, 2 and 3 have access; 0 and 2 have not."""
        for what in TestPeers.WHATS:
            self.compare("peers", what, options=["--only", "all"], **TestPeers.FOUR, also=self.NOW)
            self.compare("peers", what, **self.APART, also=self.NOW)
        done = self.compare("piped", options=["--only", "peers,pipeline"], **TestPeers.FOUR, also=self.NOW)
        self.assertEqual(self.lines(done), [])
        done = self.compare("piped", options=["--only", "peers,pipeline"], **self.FAR, also=self.NOW)
        self.assertTrue(self.lines(done), done.stderr)

    def test_it_gains(self):
        done = self.applied("piped", "forked", **self.APART)
        gains = self.lines(done, "saved")
        self.assertTrue(gains, done.stderr)
        for line in gains:
            now, before = map(float, re.search(r"\(([\d.]+) GB/s instead of ([\d.]+)\)", line).groups())
            self.assertGreater(now, 1.15 * before, line)

    def test_what_does_not_gain_is_left(self):
        profile = json.loads((SIMGPU / "machines" / "sim-2socket-4gpu.json").read_text())
        for path in profile["paths"]:
            if path["name"].startswith("copy/registered/h2d/"):
                slower(path, 4)
        machine = self.folder / "slow.json"
        machine.write_text(json.dumps(profile))
        done = self.compare("piped", "forked", **{**self.APART, "XFERSCOPE_SIMGPU_MACHINE": str(machine)})
        self.assertTrue(self.lines(done), done.stderr)
        for line in self.lines(done):
            self.assertIn("it does not gain", line)

    def test_check(self):
        done = self.applied("piped", options=["--check"], **self.APART, **self.NOW)
        self.assertTrue(self.lines(done), done.stderr)
        for line in self.lines(done):
            self.assertRegex(line, r"; [1-9]\d* compared, 0 different$")

    def test_off(self):
        done = self.applied("piped", **self.APART, **self.NOW)
        sites = {re.search(r"(piped\+0x[0-9a-f]+)", line)[1] for line in self.lines(done)}
        self.assertGreater(len(sites), 2)
        done = self.applied("piped", options=["--off", ",".join(sites)], **self.APART, **self.NOW)
        self.assertEqual(self.lines(done), [], done.stderr)

    def test_behind_work(self):
        """Copies of the stream that is held stand behind it, as many as a driver's queue should be given; those of
        another stream do not."""
        done = self.compare("piped", "held", **self.APART, also=self.NOW)
        by_function = {}
        for line in self.lines(done, ""):
            name = line.split(" pipeline P2P ")[1].split()[0]
            by_function.setdefault(name, []).append(line.split(": ", 2)[2])
        self.assertEqual(sorted(by_function["held"]), ["16 as the program asked"] +
                         ["288 MiB of 16 calls carried out, never compared"] * 2, done.stderr)
        self.assertIn("2 as the program asked", by_function["held_and_ended"], done.stderr)
        most, of = (float(re.search(pattern, " ".join(by_function["copy"]))[1])
                    for pattern in (r"([\d.]+) MiB of", r"of (\d+) calls"))
        self.assertLess(most, of * 36, done.stderr)

    def test_bounded(self):
        for size, there in (("4M", False), ("8M", True), ("40M", True)):
            done = self.compare("piped", options=["--memory", size], **self.APART, also=self.NOW)
            self.assertEqual(bool(self.lines(done)), there, done.stderr)
            if there:
                most = float(re.search(r"at most ([\d.]+) MiB of page-locked", done.stderr.decode())[1])
                self.assertLessEqual(most, float(size[:-1]))

    def test_calls_that_fail(self):
        bare = self.alone("piped", **self.APART)
        for failure in ("cuStreamCreate:5:2", "cuStreamCreate:6:2", "cuMemHostRegister_v2:1:2", "cuEventCreate:1:2",
                        "cuEventCreate:12:2", "cuStreamQuery:3:700", "cuMemcpyDtoHAsync_v2:20:700",
                        "cuMemcpyHtoDAsync_v2:9:700", "cuEventElapsedTime:2:999", "cuCtxGetId:9:201",
                        "cuCtxPushCurrent_v2:20:201", "cuPointerGetAttributes:9:1", "cuStreamGetCtx:3:400"):
            # where the program does not make the call itself
            alone = self.alone("piped", **self.APART, XFERSCOPE_SIMGPU_FAIL=failure)
            for trials in ({}, self.NOW) if alone.stdout == bare.stdout else ():
                with self.subTest(failure, trials=trials):
                    other = self.applied("piped", **self.APART, XFERSCOPE_SIMGPU_FAIL=failure, **trials)
                    self.assertEqual((other.stdout, other.returncode), (bare.stdout, bare.returncode), other.stderr)


class TestRelay(Applied):
    """Uploads by the links of two GPUs, where the machine's profile has measured that they pay."""
    PAIRS = {"XFERSCOPE_SIMGPU_MACHINE": "sim-2socket-4gpu"}
    NOW = {"XFERSCOPE_APPLY_TRIALS": "0"}

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.keep = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.keep.cleanup)
        cls.profile = Path(cls.keep.name) / "pairs.json"
        done = run([XFERSCOPE, "probe", "--quick", "--quiet", "--no-verify", "--filter", "^relayed/|^copy/pinned/h2d/(node0-)?gpu",
                    "--sizes", "8M:32M", "-o", cls.profile], cwd=cls.keep.name,
                   env=environment(**cls.PAIRS))
        assert done.returncode == 0, done.stderr

    def applied(self, *command, options=(), **settings):
        profile = [] if "--no-profile" in options else ["--profile", self.profile]
        return super().applied(*command, options=["--only", "relay", *profile, *options], **settings)

    def lines(self, done, words="carried out"):
        return [line for line in report_of(done.stderr) if " relay H2D " in line and words in line]

    def test_same(self):
        for what in ("all", "apart", "without", "resets"):
            for lazy in ({}, {"XFERSCOPE_SIMGPU_LAZY": "1"}):
                done = self.compare("relayed", what, **self.PAIRS, **lazy, also=self.NOW)
                self.assertIn(b" 0 different", done.stdout)
                self.assertEqual(bool(self.lines(done)), what in ("all", "resets"), done.stderr)
                self.assertFalse([line for line in self.lines(done) if "beside_work" in line], done.stderr)

    def test_it_gains(self):
        done = self.compare("relayed", "many", options=["--check"], **self.PAIRS)
        gains = self.lines(done, "saved")
        self.assertEqual(len(gains), 2, done.stderr)
        for line in gains:
            now, before = map(float, re.search(r"\(([\d.]+) GB/s instead of ([\d.]+)\)", line).groups())
            self.assertGreater(now, 1.5 * before, line)
            self.assertRegex(line, r"; [1-9]\d* compared, 0 different$")

    def test_where_it_was_not_measured(self):
        for options in (["--no-profile"], ["--profile", SIMGPU / "machines" / "sim-2socket-4gpu.json"]):
            done = self.compare("relayed", "all", options=options, **self.PAIRS, also=self.NOW)
            self.assertEqual(self.lines(done, ""), [], done.stderr)

    def test_gpus_of_other_numbers(self):
        """A profile's GPUs are known by their UUIDs."""
        done = self.compare("relayed", "all", **self.PAIRS, CUDA_VISIBLE_DEVICES="3,2", also=self.NOW)
        self.assertTrue(self.lines(done), done.stderr)
        done = self.compare("relayed", "without", **self.PAIRS, CUDA_VISIBLE_DEVICES="1,2", also=self.NOW)
        self.assertEqual(self.lines(done, ""), [], done.stderr)

    def test_calls_that_fail(self):
        bare = self.alone("relayed", "all", **self.PAIRS)
        for failure in ("cuStreamCreate:3:2", "cuStreamCreate:4:2", "cuMemAlloc_v2:3:2",
                        "cuMemGetInfo_v2:1:999", "cuDeviceGetUuid:1:999", "cuMemcpyDtoDAsync_v2:2:700",
                        "cuCtxPushCurrent_v2:9:201", "cuCtxGetId:9:201"):
            for trials in ({}, self.NOW):
                with self.subTest(failure, trials=trials):
                    other = self.applied("relayed", "all", **self.PAIRS, XFERSCOPE_SIMGPU_FAIL=failure, **trials)
                    self.assertEqual((other.stdout, other.returncode), (bare.stdout, bare.returncode), other.stderr)


class TestLocked(Applied):
    """Page-locked memory that is freed and allocated again: two allocations are registered, the others use their memory."""
    TWO = {"XFERSCOPE_SIMGPU_FAIL": "cuMemHostRegister_v2:3:2", "XFERSCOPE_APPLY_TRIALS": "0"}

    def done(self, *options, **settings):
        other = self.applied("locked", options=["--only", "locking", *options], **settings)
        self.assertEqual((other.returncode, other.stdout.count(b"new memory has 0, copies same")), (0, 14), other.stdout)
        return sum(float(size) for size in re.findall(r"locking .*: ([\d.]+) MiB of", other.stderr.decode()))

    def test_used_again(self):
        self.assertGreater(self.done(**self.TWO), 13 * 40)

    def test_bounded(self):
        self.assertLess(self.done("--memory", "64M", **self.TWO), 3 * 40)

    def test_calls_that_fail(self):
        for failure in ("cuMemHostUnregister:1:1", "cuCtxSynchronize:1:1", "cuCtxGetId:3:201", "cuPointerGetAttributes:2:1"):
            with self.subTest(failure):
                bare = self.alone("locked", "threads")
                other = self.applied("locked", "threads", options=["--only", "locking"], XFERSCOPE_SIMGPU_FAIL=failure,
                                     XFERSCOPE_APPLY_TRIALS="0")
                if "Unregister" not in failure:  # that is what freeing it returns
                    self.assertEqual((other.stdout, other.returncode), (bare.stdout, bare.returncode), other.stderr)
                self.assertNotIn(b"wrong 1", other.stdout)

    def test_little_memory(self):
        """Pages that the kernel would not find are not made: that ends processes, and the driver's call returns an error."""
        little = {"LD_PRELOAD": str(BUILD / "lib" / "libapply_little_memory.so")}
        self.assertIn(b" locking ", self.applied("locked").stderr)
        self.assertNotRegex(self.compare("locked", also=little).stderr, rb" locking .* of \d+ calls carried out")


class TestFailures(Applied):
    """What the driver refuses to our attempts is not the program's error."""

    def test_own_calls_that_fail(self):
        for failure in ("cuMemHostRegister_v2:1:2", "cuEventCreate:1:2", "cuEventCreate:4:2", "cuEventRecord:1:400",
                        "cuEventRecord:9:999", "cuEventSynchronize:1:1", "cuEventSynchronize:9:1", "cuEventQuery:3:999",
                        "cuEventDestroy_v2:1:1", "cuMemHostUnregister:1:1", "cuCtxGetId:1:201", "cuStreamGetCtx:1:400",
                        "cuStreamIsCapturing:1:906", "cuPointerGetAttributes:1:1", "cuCtxGetDevice:1:201"):
            command = ("contexts",) if "Destroy" in failure or "Unregister" in failure or "Ctx" in failure else ("staged", "1")
            with self.subTest(failure=failure):
                bare = self.alone(*command)
                other = self.applied(*command, XFERSCOPE_SIMGPU_FAIL=failure, XFERSCOPE_APPLY_TRIALS="0")
                self.assertEqual((other.stdout, other.returncode), (bare.stdout, bare.returncode), other.stderr)

    def test_the_programs_own_failures(self):
        # The program's calls fail from some call on: with our calls among them not at the same one, but as they do.
        for failure in ("cuMemcpyHtoD_v2:3:700", "cuMemcpyDtoH_v2:4:719", "cuMemAlloc_v2:2:2"):
            with self.subTest(failure):
                self.compare("errors", XFERSCOPE_SIMGPU_FAIL=failure)

    def test_memory_that_cannot_be_locked(self):
        other = self.applied("staged", "1", XFERSCOPE_SIMGPU_FAIL="cuMemHostRegister_v2:1:2")
        self.assertIn("without memory that could be page-locked", other.stderr.decode())
        self.assertFalse(carried_out(other.stderr))


class TestAttacks(Applied):
    """tests/apply/attack, one form of most attacks, once."""

    def attack(self, is_chosen):
        listed = subprocess.run([ATTACK, "--list"], capture_output=True, text=True, check=True).stdout.splitlines()
        names = [name for name in listed if is_chosen(name)]
        done = subprocess.run([ATTACK, BUILD, "--forms", "all", "--only", ",".join(names)], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn(f"{len(names)} attacks", done.stdout)
        self.assertNotIn("not compared", done.stdout)

    def test_attacks(self):
        self.attack(lambda name: name.split(":")[0] not in (*SURROUNDINGS, "limited") or
                    name in ("limited:space", "limited:seccomp late"))

    def test_drawn_programs(self):
        done = subprocess.run([ATTACK.parent / "random", BUILD, "--seed", "7", "--count", "6"], capture_output=True, text=True,
                              check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("6 with something carried out, 0 different", done.stdout)

    def test_uploads_in_a_stream_that_waits(self):
        """An upload that the driver would not wait with has no place in the ring while its stream waits for the host."""
        done = self.compare("mixed", "held", XFERSCOPE_SIMGPU_LAZY="1", also=ALL)
        self.assertIn("large copies left alone: 9 beside another one", done.stderr.decode())


class TestSurroundings(Applied):
    """The same of what is around a copy: its memory, its threads, the process and the system."""

    def test_surroundings(self):
        TestAttacks.attack(self, lambda name: name.split(":")[0] in SURROUNDINGS)


class TestBounds(Applied):
    def resources(self, *arguments, options=(), **settings):
        done = self.applied("resources", *arguments, options=options, **settings)
        self.assertEqual(done.returncode, 0, done.stderr)
        return [int(n) for n in re.findall(rb"\d+", done.stdout)], done

    def test_nothing_to_gain(self):
        for what in ("pinned", "once"):
            (threads, kib), done = self.resources(what, options=["--only", "staging"])
            self.assertEqual((threads, kib), (1, 0), done.stderr)
            self.assertIn("no thread and no memory was taken", done.stderr.decode())
            self.assertEqual(run([PROGRAMS / "resources", what], env=environment()).stdout, done.stdout)

    def test_off(self):
        for settings in ({"XFERSCOPE_APPLY": "off"}, {}):
            done = run([PROGRAMS / "resources"], env=environment(LD_PRELOAD=str(BUILD / "lib" / "libxferscope.so"),
                                                                 XFERSCOPE_ENABLE="0", **settings))
            self.assertTrue(done.stdout.startswith(b"threads 1,"), done.stdout)

    def test_memory(self):
        (_, kib), done = self.resources(options=["--memory", "8M"])
        self.assertIn("8 MiB of page-locked memory", done.stderr.decode())
        (_, more), _ = self.resources()
        self.assertGreater(more, kib)
        _, none = self.resources(options=["--memory", "100K"])
        self.assertFalse(carried_out(none.stderr), none.stderr)

    def test_threads(self):
        (threads, _), done = self.resources(options=["--threads", "1"])
        self.assertLessEqual(threads, 2)
        self.assertIn("at most 1 threads", done.stderr.decode())

    def test_one_processor(self):
        done = run(["taskset", "-c", "0", XFERSCOPE, "apply", "--", PROGRAMS / "resources"], env=environment())
        self.assertFalse(carried_out(done.stderr), done.stderr)

    def test_address_space(self):
        # A limit that our memory would bring the program near to.
        for command in (("staged", "1"), ("threads",)):
            limited = ["prlimit", f"--as={1 << 30}", "--"]
            bare = run([*limited, PROGRAMS / command[0], *command[1:]], env=environment())
            other = run([XFERSCOPE, "apply", "--", *limited, PROGRAMS / command[0], *command[1:]], env=environment())
            self.assertEqual((other.stdout, other.returncode), (bare.stdout, bare.returncode), other.stderr)


class TestTrials(Applied):
    def machine(self, change):
        """A simulated machine whose tables are changed."""
        profile = json.loads((SIMGPU / "machines" / "sim-h200.json").read_text())
        change(profile)
        path = self.folder / "changed.json"
        path.write_text(json.dumps(profile))
        return str(path)

    def test_what_does_not_gain_is_left(self):
        def change(profile):
            for path in profile["paths"]:
                if "/registered/" in path["name"]:
                    slower(path, 20)

        done = self.applied("staged", "3", XFERSCOPE_SIMGPU_MACHINE=self.machine(change))
        self.assertEqual(done.stdout, b"last error 0\n")
        lines = [line for line in report_of(done.stderr) if " staging " in line]
        self.assertTrue(lines)
        for line in lines:
            self.assertIn("does not gain", line)

    def test_what_gains_goes_on(self):
        done = self.applied("staged", "4")
        for line in carried_out(done.stderr):
            self.assertIn("saved", line)
            self.assertNotIn("does not gain", line)

    def test_large_ones_are_timed_whole(self):
        """Where pieces of 1 MiB, of which the parts of their trials are, take twice as long, those of whole copies do not."""
        def change(profile):
            for path in profile["paths"]:
                if "/registered/" in path["name"]:
                    for point in path["points"]:
                        if point["bytes"] <= 1 << 20:
                            slower(point, 2)

        def speeds(**env):
            done = self.applied("staged", "4", "large", XFERSCOPE_SIMGPU_CLOCK="virtual", **env)
            return [float(speed) for line in carried_out(done.stderr) for speed in re.findall(r"\(([\d.]+) GB/s", line)]
        usual, changed = speeds(), speeds(XFERSCOPE_SIMGPU_MACHINE=self.machine(change))
        self.assertTrue(usual and len(usual) == len(changed), (usual, changed))
        for before, now in zip(sorted(usual), sorted(changed)):
            self.assertGreater(now, 0.7 * before)

    def test_check(self):
        for command in (("staged", "1"), ("order",)):
            done = self.applied(*command, options=["--check"])
            lines = carried_out(done.stderr)
            self.assertTrue(lines)
            for line in lines:
                self.assertRegex(line, r"; [1-9]\d* compared, 0 different$")

    def test_sites_and_classes_off(self):
        done = self.applied("order")
        site = re.search(r"by_events \(order.c:\d+\) (order\+0x[0-9a-f]+)", done.stderr.decode())[1]
        other = self.applied("order", options=["--off", site])
        lines = [line for line in report_of(other.stderr) if site in line]
        self.assertTrue(lines and all("as the program asked" in line for line in lines), lines)
        self.assertTrue([line for line in carried_out(other.stderr) if site not in line])
        wrong = self.applied("order", options=["--only", "stagin"])
        self.assertEqual(wrong.returncode, 125)
        self.assertIn("there is no class 'stagin'", wrong.stderr.decode())


class TestCommand(Applied):
    def test_profile(self):
        profile = BUILD.parent  # of no use: a folder is not a profile
        data = ROOT / "tests" / "data" / "h200.json"
        done = self.applied("order", options=["--profile", data])
        self.assertEqual(done.stdout, self.alone("order").stdout)
        for options, settings, least in ((["--profile", data], {}, "1048576"), ([], {"XFERSCOPE_PROFILE": str(data)}, "1048576"),
                                         (["--no-profile"], {"XFERSCOPE_PROFILE": str(data)}, ""),
                                         (["--profile", data], {"XFERSCOPE_APPLY_LEAST": "2M"}, "2M"), ([], {}, "")):
            done = run([XFERSCOPE, "apply", *options, "--", "sh", "-c", "echo $XFERSCOPE_APPLY_LEAST:$XFERSCOPE_APPLY_THREADS"],
                       cwd=self.folder, env=environment(**settings))
            self.assertEqual(done.stdout.decode().strip(), f"{least}:{'16' if least else ''}", (options, settings, done.stderr))
        done = self.applied("order", options=["--profile", profile])
        self.assertEqual(done.returncode, 125)
        done = self.applied("order", XFERSCOPE_PROFILE=str(profile))
        self.assertEqual(done.stdout, self.alone("order").stdout)
        self.assertIn("it is not used", done.stderr.decode())

    def test_kept_figures(self):
        """What apply takes from a profile is kept by its contents; a file that is not as it was written is
        said in a line and written anew."""
        profile, cache = self.folder / "h.json", self.folder / "cache"
        data = json.loads((ROOT / "tests" / "data" / "h200.json").read_text())

        def said(text):
            profile.write_text(text)
            done = run([XFERSCOPE, "apply", "-q", "--profile", profile, "--", "sh", "-c",
                        "echo $XFERSCOPE_APPLY_LEAST:$XFERSCOPE_APPLY_THREADS"],
                       cwd=self.folder, env=environment(XDG_CACHE_HOME=str(cache)))
            return done.stdout.decode().strip(), done.stderr.decode()

        text = json.dumps(data)
        self.assertEqual(said(text), ("1048576:16", ""))
        (kept,) = (cache / "xferscope").iterdir()
        good = kept.read_text()
        kept.write_text(good.replace("16 1048576", "7 2097152"))
        self.assertEqual(said(text), ("2097152:7", ""))  # it is read
        self.assertEqual(said(json.dumps(data, indent=3)), ("1048576:16", ""))  # not for other contents
        head, of, figures, _ = kept.read_text().split("\n", 3)
        self.assertEqual(said(text), ("1048576:16", ""))
        good = kept.read_text()
        head, of, figures, rest = good.split("\n", 3)
        for bad in ("", "x" * 9000, head + "\n", "\n".join((head, of, "1000 1048576", rest)),
                    "\n".join((head, of, "16 1048575", rest)), "\n".join((head, of, "16 67108865", rest)),
                    "\n".join((head, of, "-1 1048576", rest)), "\n".join((head, of, "16 99999999999999999999", rest)),
                    "\n".join((head, of, figures, "a b\n")), "\n".join((head, of, figures, "a" * 4096 + "\n")),
                    good + "more", good + "\0", good[:-1]):
            kept.write_text(bad)
            figures_, errors = said(text)
            self.assertEqual(figures_, "1048576:16", bad)
            self.assertRegex(errors, r"^xferscope apply: .*: not as it was written; it is not used.*\n$", bad)
            self.assertEqual(kept.read_text(), good, bad)
        kept.write_text(good.replace("figures 1", "figures 0"))  # of another version: no word about it
        self.assertEqual((said(text), kept.read_text()), (("1048576:16", ""), good))
        kept.unlink()
        kept.mkdir()
        self.assertEqual(said(text)[0], "1048576:16")

    def test_status_and_silence(self):
        done = self.applied("exits", "exit", options=["-q"])
        self.assertEqual((done.returncode, done.stderr), (5, b""))
        done = run([XFERSCOPE, "apply", "--", "/no/such/program"], env=environment())
        self.assertEqual(done.returncode, 127)
        self.assertEqual(run([XFERSCOPE, "apply"], env=environment()).returncode, 125)

    def test_no_files(self):
        self.applied("staged", "1")
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_children(self):
        """A program that clears its children's environment has them applied, too."""
        for clearing in ("-i", "-u LD_PRELOAD"):
            script = f"env {clearing} LD_LIBRARY_PATH={SIMGPU} {PROGRAMS}/staged 1"
            done = run([XFERSCOPE, "apply", "--", "sh", "-c", script], cwd=self.folder, env=environment())
            self.assertEqual(done.stdout, b"last error 0\n")
            self.assertTrue(carried_out(done.stderr), done.stderr)


if __name__ == "__main__":
    if sanitizer_runtime():
        print("not with sanitizers: their runtime changes what programs map")
    elif not shutil.which("taskset"):
        print("needs taskset")
    else:
        unittest.main()
