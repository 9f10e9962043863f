"""What the simulated libraries export, and whether the documentation knows the settings."""
import re
import subprocess
import sys
import unittest
from pathlib import Path

ROOT, LIBRARIES, INIT = (Path(argument) for argument in sys.argv[1:4])
REAL = Path(sys.argv[4])
SIMGPU = ROOT / "tools" / "simgpu"


def exported(library):
    lines = subprocess.run(["nm", "-D", "--defined-only", library], capture_output=True, check=True,
                           text=True).stdout.splitlines()
    return {line.split()[2] for line in lines if line.split()[1] in "TW"}


def newer_than_the_toolkit():
    """The driver's functions that came after the toolkit that is installed."""
    version = int(re.search(r"define CUDA_VERSION (\d+)", (REAL / "include" / "cuda.h").read_text())[1])
    rows = re.findall(r"^SIM_FUNCTION\(\w+, (\w+), (\d+),", (SIMGPU / "driver/functions.def").read_text(), re.M)
    return {symbol for symbol, since in rows if int(since) > version}


class House(unittest.TestCase):
    def test_driver_exports_its_list(self):
        listed = set(re.findall(r"SIM_FUNCTION\(\w+, (\w+),", (SIMGPU / "driver/functions.def").read_text()))
        extras = set(re.findall(r"\b(xferscope_simgpu_\w+)\(", (SIMGPU / "simgpu.h").read_text()))
        extras.discard("xferscope_simgpu_twin")  # a type
        self.assertGreater(len(listed), 300)
        self.assertEqual(exported(LIBRARIES / "libcuda.so.1"), listed | extras)

    def test_driver_names_are_real(self):
        stub = REAL / "lib64" / "stubs" / "libcuda.so"
        if not stub.exists():
            self.skipTest("no CUDA toolkit")
        ours = {n for n in exported(LIBRARIES / "libcuda.so.1") if n.startswith("cu")}
        self.assertEqual(ours - exported(stub) - newer_than_the_toolkit(), set())

    def test_runtime_names_are_real(self):
        real = REAL / "lib64" / "libcudart.so.13"
        ours = exported(LIBRARIES / "libcudart.so.13")
        self.assertGreater(len(ours), 200)
        if not real.exists():
            self.skipTest("no CUDA 13 toolkit")
        newer = {f"cuda{name.removeprefix('cu')}@@libcudart.so.13" for name in newer_than_the_toolkit()}
        self.assertEqual(ours - exported(real) - newer, set())

    def test_settings_are_documented(self):
        settings = re.findall(r'X\("(XFERSCOPE_SIMGPU_\w+)", \w+, \w+, "([^"]*)"',
                              (SIMGPU / "gpu/machine.h").read_text())
        page = (ROOT / "docs" / "simgpu.md").read_text()
        rows = dict(re.findall(r"^\| `(XFERSCOPE_SIMGPU_\w+)` \| `?([^`|]*?)`? \|", page, re.M))
        self.assertGreater(len(settings), 4)
        self.assertEqual(dict(settings), rows)

    def test_bad_settings_are_one_line(self):
        for variable, value, part in (
            ("MACHINE", "/no/such/file.json", "/no/such/file.json"),
            ("MACHINE", "no-such-machine", "no-such-machine.json"),
            ("CLOCK", "sundial", "virtual, host or real"),
            ("CALL_NS", "-1", "whole number"),
        ):
            env = {"LD_LIBRARY_PATH": str(LIBRARIES), "XFERSCOPE_SIMGPU_" + variable: value}
            got = subprocess.run([INIT], env=env, capture_output=True, text=True)
            self.assertEqual(got.stdout, "100\n")
            self.assertEqual(len(got.stderr.splitlines()), 1, got.stderr)
            self.assertIn(part, got.stderr)

    def visible(self, devices):
        env = {"LD_LIBRARY_PATH": str(LIBRARIES), "XFERSCOPE_SIMGPU_MACHINE": "sim-2socket-4gpu"}
        if devices is not None:
            env["CUDA_VISIBLE_DEVICES"] = devices
        got = subprocess.run([INIT], env=env, capture_output=True, text=True)
        self.assertEqual(got.stderr, "")
        return got.stdout.strip()

    def test_visible_devices(self):
        uuid = "GPU-51300000-0000-4000-8000-00000000000"
        for devices, seen in (
            (None, "0 0 1 2 3"), ("0,1,2,3", "0 0 1 2 3"), ("2,0", "0 2 0"), ("3", "0 3"),
            ("1,7,2", "0 1"), ("1,-1,2", "0 1"), ("2,2,1", "0 2"), ("1,two", "0 1"),
            (f"{uuid}3,{uuid}1", "0 3 1"), (f"{uuid}2,0", "0 2 0"),
            ("", "100"), ("-1", "100"), ("4", "100"), ("GPU-5", "100"), ("GPU-6", "100"),
        ):
            with self.subTest(devices=devices):
                self.assertEqual(self.visible(devices), seen)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
