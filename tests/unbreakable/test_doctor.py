"""xferscope doctor on machines that lack this and that."""
import json
import os
import re
import shutil
import unittest
from pathlib import Path

from illness import ILL, SIMGPU
from lab import BUILD, LIBRARY, Bench, XFERSCOPE, environment, run

CHECKS = [
    "library", "zstd", "symbols", "settings", "preload", "memlock", "output", "clock",
    "container", "python", "NVTX", "tools", "ncu", "NUMA", "shm", "driver", "GPUs", "NVML", "CUPTI", "permission",
]
# The same on every machine with the simulated GPU.
GOLDEN = {
    "library": ("ok", "BUILD/lib/libxferscope.so"),
    "zstd": ("ok", "libzstd.so.1: traces are compressed"),
    "symbols": (
        "ok", "libxferscope-symbols.so: names and lines are found when a program ends (with libdw)",
    ),
    "settings": ("ok", "the environment sets nothing"),
    "driver": ("ok", "BUILD/lib/simgpu/libcuda.so.1, CUDA N"),
    "GPUs": ("warn", "1 simulated (Simulated H200): figures are the model's, not this machine's"),
    "NVTX": ("ok", "no other tool takes NVTX ranges: record attaches itself"),
    "tools": ("ok", "no other tool is injected into CUDA programs"),
    "NVML": ("ok", "not needed for a simulated GPU"),
    "permission": ("ok", "not needed for a simulated GPU"),
}


def scrub(text):
    return re.sub(r"CUDA [0-9.]+", "CUDA N", text.replace(str(BUILD), "BUILD"))


class Doctor(Bench):
    def look(self, status, command=XFERSCOPE, **extra):
        env = environment(**extra)
        env.pop("XFERSCOPE_CHECKS", None)  # what the tests themselves set
        result = run([command, "doctor", "--format", "json"], cwd=self.folder, env=env)
        self.assertEqual(result.returncode, status, result.stdout + result.stderr)
        self.assertEqual(result.stderr, b"")
        document = json.loads(result.stdout)
        verdicts = [check["verdict"] for check in document["checks"]]
        for verdict in ("ok", "warn", "fail"):
            self.assertEqual(document[verdict], verdicts.count(verdict))
        return {check["check"]: (check["verdict"], check["text"]) for check in document["checks"]}

    def test_simulated(self):
        checks = self.look(0)
        self.assertEqual(list(checks), CHECKS)
        for name, wanted in GOLDEN.items():
            self.assertEqual((checks[name][0], scrub(checks[name][1])), wanted)
        self.assertTrue(checks["output"][1].startswith(str(self.folder.resolve())))
        self.assertEqual(list(self.folder.iterdir()), [], "it leaves no file")

    def test_text_says_the_same(self):
        result = run([XFERSCOPE, "doctor"], cwd=self.folder)
        lines = result.stdout.decode().splitlines()
        self.assertEqual([line[6:20].strip() for line in lines[:-2]], CHECKS)
        self.assertRegex(lines[-1], r"^\d+ ok, \d+ to know of, 0 failed$")

    def test_no_driver(self):
        if any((folder / "libcuda.so.1").exists() for folder in map(Path, (
                "/usr/lib/x86_64-linux-gnu", "/usr/lib64", "/usr/local/cuda/compat"))):
            self.skipTest("this machine has a driver")
        checks = self.look(1, LD_LIBRARY_PATH="")
        self.assertEqual(checks["driver"][0], "fail")
        self.assertEqual(checks["GPUs"][0], "fail")

    def test_broken_driver(self):
        (self.folder / "libcuda.so.1").symlink_to(ILL / "fake_zstd" / "libzstd.so.1")
        checks = self.look(1, LD_LIBRARY_PATH=str(self.folder))
        self.assertIn("does not tell its version", checks["driver"][1])

    def installed(self):
        """A copy of the command with nothing but its library beside it: no lib/deps."""
        for name in ("bin", "lib"):
            (self.folder / name).mkdir()
        shutil.copy(XFERSCOPE, self.folder / "bin")
        for library in (LIBRARY, LIBRARY.with_name("libxferscope-symbols.so")):
            (self.folder / "lib" / library.name).symlink_to(library)
        return self.folder / "bin" / "xferscope"

    def test_library_that_is_none(self):
        name = "libxferscope-symbols.so"
        (self.folder / name).write_bytes(b"")
        command = self.installed()
        (self.folder / "lib" / name).unlink()
        checks = self.look(0, command=command, LD_LIBRARY_PATH=f"{self.folder}:{SIMGPU}")
        self.assertEqual(checks["symbols"][0], "warn")
        self.assertIn("file too short", checks["symbols"][1])
        # one in lib/deps takes its place, as for the recorder
        (self.folder / "lib" / "deps").mkdir()
        (self.folder / "lib" / "deps" / name).symlink_to(LIBRARY.with_name(name))
        checks = self.look(0, command=command, LD_LIBRARY_PATH=f"{self.folder}:{SIMGPU}")
        self.assertEqual(checks["symbols"], ("ok", GOLDEN["symbols"][1]))

    def test_output(self):
        (self.folder / "file").write_text("")
        for output, said in (("file/run.xft", "Not a directory"), ("none/run.xft", "No such file"),
                             ("/proc/run.xft", "/proc")):
            checks = self.look(1, XFERSCOPE_OUTPUT=output)
            self.assertEqual(checks["output"][0], "fail", output)
            self.assertIn(said, checks["output"][1])

    def test_settings(self):
        checks = self.look(0, XFERSCOPE_OTUPUT="x")
        self.assertEqual(checks["settings"][0], "warn")
        self.assertIn("XFERSCOPE_OTUPUT", checks["settings"][1])
        checks = self.look(0, XFERSCOPE_ENABLE="0")
        self.assertEqual(checks["settings"][0], "warn")
        checks = self.look(0, XFERSCOPE_PROFILE="none.json")
        self.assertEqual(checks["settings"], ("warn", "XFERSCOPE_PROFILE=none.json: No such file or directory"))
        (self.folder / "machine.json").write_text("{}")
        checks = self.look(0, XFERSCOPE_PROFILE=str(self.folder / "machine.json"))
        self.assertEqual(checks["settings"][0], "ok")
        checks = self.look(0, XFERSCOPE_STACKS="a\nb")
        self.assertNotIn("\n", checks["settings"][1])

    @unittest.skipIf(os.environ.get("XFERSCOPE_ASAN_RUNTIME"), "the sanitizer is preloaded itself")
    def test_preload(self):
        checks = self.look(0, LD_PRELOAD=str(ILL / "fake_zstd" / "libzstd.so.1"))
        self.assertEqual(checks["preload"][0], "warn")
        self.assertIn("libzstd.so.1", checks["preload"][1])

    def test_other_tools(self):
        checks = self.look(0, NVTX_INJECTION64_PATH="/other/tool.so")
        self.assertEqual(checks["NVTX"][0], "warn")
        checks = self.look(0, CUDA_INJECTION64_PATH="/other/tool.so")
        self.assertEqual(checks["tools"][0], "warn")
        self.assertIn("/other/tool.so", checks["tools"][1])

    def test_ncu(self):
        """In which order it works with record, where it is found and where it runs."""
        self.assertEqual(self.look(0, PATH="/nowhere")["ncu"], ("ok", "no ncu on the path"))
        (self.folder / "ncu").write_text("")
        (self.folder / "ncu").chmod(0o755)
        verdict, said = self.look(0, PATH=str(self.folder))["ncu"]
        self.assertEqual(verdict, "ok")
        self.assertTrue(said.startswith(str((self.folder / "ncu").resolve())), said)
        self.assertIn("ncu --target-processes all xferscope record PROGRAM works", said)
        for sign in ("NV_NSIGHT_INJECTION_PORT_BASE", "NV_NSIGHT_INJECTION_TRANSPORT_TYPE",
                     "NV_COMPUTE_PROFILER_PERFWORKS_DIR"):
            verdict, said = self.look(0, PATH="/nowhere", **{sign: "1"})["ncu"]
            self.assertEqual(verdict, "warn", sign)
            self.assertIn("Nsight Compute runs this", said)

    def test_python(self):
        wanted = {"python3.9": "warn", "python3.12": "ok", "python3.13": "ok", "python3.99": "warn"}
        for name, verdict in wanted.items():
            with self.subTest(name):
                folder = self.folder / f"bin-{name}"
                folder.mkdir()
                (folder / name).write_text("")
                (folder / name).chmod(0o755)
                (folder / "python3").symlink_to(name)
                checks = self.look(0, PATH=str(folder))
                self.assertEqual(checks["python"][0], verdict)
                self.assertIn(name, checks["python"][1])
        self.assertEqual(self.look(0, PATH="/nowhere")["python"], ("ok", "no python3 on the path"))

    @unittest.skipUnless((SIMGPU / "libcupti.so.13").exists(), "no simulated CUPTI")
    def test_cupti(self):
        """The one beside the driver is found, and is free; one that is none is passed over."""
        checks = self.look(0)
        self.assertEqual(checks["CUPTI"][0], "ok")
        self.assertRegex(checks["CUPTI"][1], r"libcupti\.so\.1\d \(API \d+\), free$")

    def test_usage(self):
        for words in (["--format", "xml"], ["--format"], ["--no"], ["more"]):
            result = run([XFERSCOPE, "doctor", *words], cwd=self.folder)
            self.assertEqual((result.returncode, result.stdout), (2, b""))
            self.assertEqual(len(result.stderr.splitlines()), 1)


if __name__ == "__main__":
    unittest.main()
