"""NVTX ranges from an unmodified program to the report, and what the program sees of it."""
import unittest

from lab import (
    LIBRARY,
    PROGRAMS,
    XFERSCOPE,
    Bench,
    environment,
    needs,
    preloaded,
    record,
    report,
    run,
    sanitizer_runtime,
)

KIB = 1024
# path, of, times, H2D transfers and bytes, D2H transfers and bytes
WANTED = {
    ("whole run",): ("process", 1, (11, 6 * 64 * KIB + 3 * KIB + 4096 + 512), (3, 192 * KIB)),
    ("train", "step", "läden"): ("thread", 3, (6, 6 * 64 * KIB), (0, 0)),
    ("train", "step"): ("thread", 3, (3, 3 * KIB), (0, 0)),
    ("train", "step", "solver:solve"): ("thread", 3, (0, 0), (3, 192 * KIB)),
    ("train",): ("thread", 1, (1, 128), (0, 0)),
    ("worker",): ("thread", 1, (1, 4096), (0, 0)),
    (): ("thread", 0, (2, 512 + 64), (0, 0)),
}


def moved(phase, direction):
    figures = phase["directions"].get(direction, {"transfers": 0, "bytes": 0})
    return figures["transfers"], figures["bytes"]


def phases(document):
    found = {}
    for phase in document["phases"]["ranges"]:
        path = tuple(
            f"{part['domain']}:{part['name']}" if part["domain"] else part["name"]
            for part in phase["path"]
        )
        found[path] = (phase["of"], phase["times"], moved(phase, "H2D"), moved(phase, "D2H"))
    return found


def meta(trace):
    lines = run([XFERSCOPE, "dump", trace, "--limit", "1"]).stdout.decode().splitlines()
    pairs = (line[5:].split("=", 1) for line in lines if line.startswith("meta "))
    return {key: value for key, value in pairs}


class Phases(Bench):
    def check(self, program):
        bare = run([PROGRAMS / program], cwd=self.folder)
        result = record(PROGRAMS / program, cwd=self.folder, options=("-o", program))
        trace = self.folder / f"{program}.xft"
        self.assertEqual(result.stdout, bare.stdout)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(meta(trace).get("nvtx"), "on")
        document = report(trace)
        self.assertEqual(phases(document), WANTED)
        self.assertEqual(document["phases"]["ends_without_begin"], 1)
        self.assertEqual(document["phases"]["beyond_limits"], 0)

    @needs("nvtx_phases")
    def test_ranges(self):
        self.check("nvtx_phases")

    @needs("nvtx_phases_nvidia")
    def test_ranges_by_nvidias_headers(self):
        self.check("nvtx_phases_nvidia")


@unittest.skipIf(sanitizer_runtime(), "a forked child of a sanitised process")
@needs("nvtx_early")
class Early(Bench):
    """Ranges that were open before the first CUDA call of their process."""

    def test_early_ranges(self):
        result = record(PROGRAMS / "nvtx_early", cwd=self.folder, options=("-o", "run"))
        self.assertEqual((result.returncode, result.stdout), (0, b"done\n"), result.stderr)
        self.assertEqual(len(self.traces("run.xft")), 2)
        self.assertEqual(
            phases(report(self.folder / "run.xft")),
            {
                ("main",): ("thread", 2, (2, 64 + 16), (0, 0)),
                ("late",): ("thread", 1, (1, 8), (0, 0)),
                ("other thread",): ("thread", 1, (1, 32), (0, 0)),
                (): ("thread", 0, (2, 1 + 2), (0, 0)),
            },
        )


@needs("nvtx_deep")
class Deep(Bench):
    def test_deeper_than_is_kept(self):
        result = record(PROGRAMS / "nvtx_deep", cwd=self.folder, options=("-o", "run"))
        self.assertEqual((result.returncode, result.stdout), (0, b"done\n"), result.stderr)
        document = report(self.folder / "run.xft")
        outer, deep = 10 * ("deep",), 53 * ("deep",)
        moves = {path: h2d for path, (_, _, h2d, _) in phases(document).items() if h2d[0]}
        self.assertEqual(
            moves,
            {
                outer + ("solver:solve",) + deep: (3, 1 + 2 + 4),
                outer + ("solver:solve",): (1, 8),
                (): (1, 16),
            },
        )
        del document["phases"]["ranges"]
        self.assertEqual(
            document["phases"],
            {"ends_without_begin": 1, "begins_without_end": 0, "beyond_limits": 2},
        )


@needs("nvtx_phases")
class Attached(Bench):
    """Who gets the ranges, and what the trace says about it."""

    def recorded(self, **extra):
        result = preloaded(
            PROGRAMS / "nvtx_phases", cwd=self.folder, XFERSCOPE_OUTPUT="run.xft", **extra
        )
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(result.stdout, b"pushed -2 popped -2\n")
        document = report(self.folder / "run.xft")
        self.assertEqual(document["run"]["directions"]["H2D"]["transfers"], 13)
        return document["phases"]["ranges"], meta(self.folder / "run.xft")

    def test_plain_preload_changes_no_environment(self):
        ranges, said = self.recorded()
        self.assertEqual(ranges, [])
        self.assertEqual(said["nvtx"], "off")
        self.assertIn("NVTX_INJECTION64_PATH is not set", said["nvtx.why"])

    def test_preload_with_the_variable(self):
        ranges, said = self.recorded(NVTX_INJECTION64_PATH=str(LIBRARY))
        self.assertEqual(len(ranges), len(WANTED))
        self.assertEqual(said["nvtx"], "on")

    def test_switched_off(self):
        ranges, said = self.recorded(NVTX_INJECTION64_PATH=str(LIBRARY), XFERSCOPE_NVTX="0")
        self.assertEqual(ranges, [])
        self.assertEqual(said["nvtx.why"], "XFERSCOPE_NVTX=0")

    def test_another_tool_keeps_its_place(self):
        """record does not touch a variable that the user has set."""
        env = environment(NVTX_INJECTION64_PATH="/nowhere/libtool.so")
        result = record(
            "/bin/sh", "-c", "echo $NVTX_INJECTION64_PATH", cwd=self.folder, env=env
        )
        self.assertEqual(result.stdout, b"/nowhere/libtool.so\n")
        ranges, said = self.recorded(NVTX_INJECTION64_PATH="/nowhere/libtool.so")
        self.assertEqual(ranges, [])
        self.assertIn("another tool", said["nvtx.why"])

    def test_without_the_preload_nothing_attaches(self):
        """The variable alone, as a child that dropped LD_PRELOAD has it."""
        env = environment(NVTX_INJECTION64_PATH=str(LIBRARY), XFERSCOPE_OUTPUT="run.xft")
        result = run([PROGRAMS / "nvtx_phases"], cwd=self.folder, env=env)
        self.assertEqual((result.returncode, result.stdout), (0, b"pushed -2 popped -2\n"))
        self.assertEqual(self.runs_left(), [])

    @unittest.skipIf(sanitizer_runtime(), "the sanitizer wants its environment")
    def test_children_with_another_environment(self):
        """A child whose parent builds its environment anew is attached as well."""
        child = f"env -i PATH=/usr/bin:/bin LD_LIBRARY_PATH=$LD_LIBRARY_PATH {PROGRAMS}/nvtx_phases"
        result = record("/bin/sh", "-c", child, cwd=self.folder, options=("-o", "run"))
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(phases(report(self.folder / "run.xft")), WANTED)


if __name__ == "__main__":
    unittest.main()
