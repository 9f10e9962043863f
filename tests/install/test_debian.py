"""The Debian package: lintian finds nothing in it, and in a bare system it is installed with what it
says it depends on, used, and removed without a trace."""
import re
import shutil
import unittest
from pathlib import Path

from installed import PROGRAM, use
from lab import BUILD, SIMGPU, Bench, run
from trees import Tree, missing

def package(folder):
    done = run(["cpack", "--config", BUILD / "CPackConfig.cmake", "-G", "DEB", "-B", folder], cwd=BUILD)
    if done.returncode != 0:
        raise AssertionError((done.stdout + done.stderr).decode())
    return next(Path(folder).glob("*.deb"))


class Package(Bench):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        import tempfile
        base = Path(tempfile.mkdtemp(prefix="xferscope-debian-"))
        cls.addClassCleanup(shutil.rmtree, base, ignore_errors=True)
        cls.deb = package(base)

    def field(self, name):
        return run(["dpkg-deb", "--field", self.deb, name]).stdout.decode().strip()

    def contents(self):
        return re.findall(r" \./(\S+)$", run(["dpkg-deb", "--contents", self.deb]).stdout.decode(), re.M)

    def test_what_it_needs(self):
        needs = re.findall(r"(?:^|, )([a-z0-9.+-]+)", self.field("Depends"))
        for name in ("libc6", "libdw1", "libjansson4", "libzstd1"):
            self.assertIn(name, needs)
        self.assertEqual([name for name in needs if re.search("cuda|nvidia|cupti", name)], [])
        self.assertEqual(self.field("Section"), "devel")
        self.assertEqual(self.field("Architecture"), run(["dpkg", "--print-architecture"]).stdout.decode().strip())

    def test_where_things_are(self):
        names = self.contents()
        for name in ("usr/bin/xferscope", "usr/lib/xferscope/libxferscope.so", "usr/share/man/man1/xferscope-record.1.gz",
                     "usr/share/bash-completion/completions/xferscope",
                     "usr/share/zsh/vendor-completions/_xferscope",
                     "usr/share/fish/vendor_completions.d/xferscope.fish", "usr/share/doc/xferscope/copyright",
                     "usr/share/doc/xferscope/changelog.gz", "usr/share/doc/xferscope/CHANGES.md"):
            self.assertIn(name, names)
        self.assertEqual([n for n in names if "/man/" in n and not n.endswith((".gz", "/"))], [])

    @unittest.skipUnless(shutil.which("lintian"), "no lintian")
    def test_lintian(self):
        done = run(["lintian", "--allow-root", "--fail-on", "error,warning", self.deb])
        self.assertEqual((done.returncode, done.stdout.decode()), (0, ""), done.stderr)

    @unittest.skipIf(missing(), missing())
    def test_in_a_bare_system(self):
        release = re.search(r"^VERSION_CODENAME=(\S+)", Path("/etc/os-release").read_text(), re.M)[1]
        needs = re.findall(r"(?:^|, )([a-z0-9.+-]+)", self.field("Depends"))
        tree = Tree(type(self), release, needs)
        before = tree.files()
        tree.put("/opt", self.deb)
        tree.put_gpu(PROGRAM, SIMGPU)
        done = tree.run("dpkg", "--install", f"/opt/{self.deb.name}")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertGreater(len(tree.files() - before), 20)
        use(self, "/usr", "/opt", tree.into, "/opt/simgpu", f"/opt/{PROGRAM.name}")
        done = tree.run("dpkg", "--purge", "xferscope")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(tree.files() ^ before, set())
        self.assertNotIn("xferscope", tree.run("dpkg", "--list").stdout.decode())


if __name__ == "__main__":
    unittest.main()
