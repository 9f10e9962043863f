"""The release archive: the same bytes each time, no newer C library than it says, nothing that is looked
for elsewhere, licences of all that it brings; and it runs in a bare system with another C library."""
import re
import shutil
import tarfile
import tempfile
import unittest
from pathlib import Path

from installed import PROGRAM, use
from lab import BUILD, SIMGPU, Bench, environment, run
from trees import Tree, missing

ROOT = Path(__file__).resolve().parents[2]
OLDEST_GLIBC = (2, 34)  # that of Rocky Linux 9
EVERYWHERE = r"(ld-linux-x86-64|lib(c|m|dl|pthread|rt|gcc_s))\.so\.\d+"
RUNS_PROGRAMS = ("base-files", "bash", "coreutils", "libc-bin", "libgcc-s1")
OTHER_RELEASES = {"bookworm": "trixie"}  # with another C library than this machine's


def release(folder):
    # Packed fast: what is compared lies within.
    done = run([ROOT / "tools" / "release", "--build", BUILD, folder], env=environment(XFERSCOPE_RELEASE_XZ="-1"))
    if done.returncode != 0:
        raise AssertionError((done.stdout + done.stderr).decode())
    return next(Path(folder).glob("*.tar.xz")), done.stdout.decode()


def needed(path):
    return re.findall(r"\(NEEDED\).*\[(\S+)\]", run(["readelf", "-d", path]).stdout.decode())


@unittest.skipUnless(shutil.which("patchelf") and shutil.which("dpkg-query"), "no patchelf or no dpkg")
class Release(Bench):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.base = Path(tempfile.mkdtemp(prefix="xferscope-release-"))
        cls.addClassCleanup(shutil.rmtree, cls.base, ignore_errors=True)
        cls.archive, cls.said = release(cls.base / "first")
        with tarfile.open(cls.archive) as tar:
            tar.extractall(cls.base)
        cls.tree = next(path for path in cls.base.glob("xferscope-*"))
        cls.binaries = [p for p in cls.tree.rglob("*") if p.is_file() and p.read_bytes()[:4] == b"\x7fELF"]

    def test_same_bytes(self):
        again, _ = release(self.base / "second")
        self.assertEqual(again.name, self.archive.name)
        self.assertEqual(again.read_bytes(), self.archive.read_bytes())

    def test_c_library(self):
        newest = (0,)
        for path in self.binaries:
            versions = re.findall(r"GLIBC_([0-9.]+)", run(["objdump", "-T", path]).stdout.decode())
            newest = max([newest, *(tuple(map(int, version.split("."))) for version in versions)])
        self.assertLessEqual(newest, OLDEST_GLIBC)
        self.assertIn(f"glibc {'.'.join(map(str, newest))} or newer", self.said)

    def test_libraries(self):
        deps = {path.name for path in (self.tree / "lib/xferscope/deps").iterdir()}
        for path in self.binaries:
            for name in needed(path):
                self.assertTrue(re.fullmatch(EVERYWHERE, name) or name in deps, f"{path.name} needs {name}")
            paths = re.findall(r"\((?:RPATH|RUNPATH)\).*\[(\S+)\]", run(["readelf", "-d", path]).stdout.decode())
            self.assertTrue(all(place.startswith("$ORIGIN") for place in paths), f"{path.name}: {paths}")
        self.assertLessEqual({"libzstd.so.1", "libdw.so.1"}, deps)
        preload = self.tree / "lib/xferscope/libxferscope.so"
        self.assertEqual(needed(preload), ["libc.so.6"])
        self.assertNotIn("PATH)", run(["readelf", "-d", preload]).stdout.decode())

    def test_licences(self):
        licences = self.tree / "share/doc/xferscope/licences"
        packages = dict(re.findall(r"^(\S+): Debian's package (\S+)", (licences / "libraries.txt").read_text(), re.M))
        self.assertEqual(set(packages), {path.name for path in (self.tree / "lib/xferscope/deps").iterdir()})
        for package in packages.values():
            self.assertIn("opyright", (licences / f"{package}.txt").read_text())

    def test_no_path_of_this_machine(self):
        for path in self.tree.rglob("*"):
            if path.is_file() and path not in self.binaries:
                self.assertNotIn(str(ROOT).encode(), path.read_bytes(), path)

    def test_here(self):
        use(self, self.tree, self.folder)

    @unittest.skipIf(missing(), missing())
    def test_with_another_c_library(self):
        release_name = re.search(r"^VERSION_CODENAME=(\S+)", Path("/etc/os-release").read_text(), re.M)[1]
        if release_name not in OTHER_RELEASES:
            self.skipTest(f"no other release than {release_name} is known")
        tree = Tree(type(self), OTHER_RELEASES[release_name], RUNS_PROGRAMS, unpacked=True)
        self.assertNotEqual(tree.run("ldd", "--version").stdout.split(b"\n")[0],
                            run(["ldd", "--version"]).stdout.split(b"\n")[0])
        tree.put_gpu(PROGRAM, SIMGPU)
        shutil.copytree(self.tree, tree.root / "opt" / "xferscope")
        command = "/opt/xferscope/bin/xferscope"
        done = tree.run(command, "doctor")  # without the simulated GPU's folder: all its libraries are its own
        for check in ("library", "zstd", "symbols"):
            self.assertRegex(done.stdout.decode(), rf"(?m)^ok +{check}\b", done.stderr)
        use(self, "/opt/xferscope", "/opt", tree.into, "/opt/simgpu", f"/opt/{PROGRAM.name}")


if __name__ == "__main__":
    unittest.main()
