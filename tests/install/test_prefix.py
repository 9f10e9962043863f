"""The installed tree works wherever it lies: installed, moved and copied, it records, analyses and
probes on the simulated GPU, and has all that is promised: pages, completion, licences."""
import gzip
import json
import re
import shutil
import unittest
from pathlib import Path

from installed import install, use
from lab import BUILD, Bench, run

ROOT = Path(__file__).resolve().parents[2]


class Prefix(Bench):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        import tempfile
        cls.base = Path(tempfile.mkdtemp(prefix="xferscope-install-"))
        cls.addClassCleanup(shutil.rmtree, cls.base, ignore_errors=True)
        cls.prefix = install(cls.base / "prefix")

    def test_what_is_there(self):
        files = {str(p.relative_to(self.prefix)) for p in self.prefix.rglob("*") if p.is_file()}
        doc = "share/doc/xferscope"
        for name in ("bin/xferscope", "lib/xferscope/libxferscope.so", "lib/xferscope/libxferscope-symbols.so",
                     f"{doc}/LICENSE", f"{doc}/CHANGES.md", f"{doc}/README.md", f"{doc}/docs/record.md",
                     f"{doc}/docs/report.schema.json", f"{doc}/licences/xxHash.txt", "share/man/man1/xferscope.1.gz",
                     "share/bash-completion/completions/xferscope", "share/zsh/vendor-completions/_xferscope",
                     "share/fish/vendor_completions.d/xferscope.fish"):
            self.assertIn(name, files)
        for page in (ROOT / "docs").rglob("*.*"):
            if page.suffix != ".pyc":
                self.assertIn(f"{doc}/{page.relative_to(ROOT)}", files)
        for page in (BUILD / "install").glob("*.1.gz"):
            self.assertIn(f"share/man/man1/{page.name}", files)
        known = (r"(bin/xferscope|lib/xferscope/(libxferscope(-symbols)?\.so|xferscope-net|xferscope-team(-mpich)?)|"
                 r"share/(doc/xferscope|man/man1|bash-completion|zsh/vendor-completions|fish/vendor_completions\.d)/.*)")
        self.assertEqual([name for name in sorted(files) if not re.fullmatch(known, name)], [])
        self.assertIn("Yann Collet", (self.prefix / doc / "licences/xxHash.txt").read_text())

    def test_nothing_names_the_build(self):
        """No path of this machine is needed, nor named by pages and scripts."""
        for path in sorted(self.prefix.rglob("*")):
            if path.is_file():
                data = path.read_bytes()
                data = gzip.decompress(data) if path.suffix == ".gz" else data
                if data[:4] == b"\x7fELF":
                    dynamic = run(["readelf", "-d", path]).stdout.decode()
                    self.assertNotRegex(dynamic, r"\((RPATH|RUNPATH)\)", path)
                else:
                    self.assertNotIn(str(BUILD).encode(), data, path)

    def test_where_it_was_installed(self):
        use(self, self.prefix, self.folder)

    def test_copied(self):
        copy = self.folder / "copied"
        shutil.copytree(self.prefix, copy, symlinks=True)
        use(self, copy, self.folder)

    def test_moved(self):
        """The place it was installed in is gone then."""
        first = install(self.folder / "first")
        second = self.folder / "a deeper" / "place"
        second.parent.mkdir()
        first.rename(second)
        done = run([second / "bin" / "xferscope", "record", "--", "true"], cwd=self.folder)
        self.assertEqual(done.returncode, 125)  # LD_PRELOAD takes no spaces: said, not tried
        self.assertIn("cannot hold a path with a space", done.stderr.decode())
        third = self.folder / "third"
        second.rename(third)
        use(self, third, self.folder)

    def test_by_a_link(self):
        link = self.folder / "xferscope"
        link.symlink_to(self.prefix / "bin" / "xferscope")
        done = run([link, "doctor", "--format", "json"], cwd=self.folder)
        library = next(c for c in json.loads(done.stdout)["checks"] if c["check"] == "library")
        self.assertEqual(library["text"], str(self.prefix.resolve() / "lib/xferscope/libxferscope.so"))

    def test_without_its_library(self):
        copy = self.folder / "copied"
        shutil.copytree(self.prefix, copy)
        shutil.rmtree(copy / "lib")
        done = run([copy / "bin" / "xferscope", "record", "--", "true"], cwd=self.folder)
        self.assertEqual(done.returncode, 125)
        self.assertRegex(done.stderr.decode(), r"lib/libxferscope\.so: No such file or directory")

    def test_the_build_folder_copied(self):
        copy = self.folder / "build"
        for name in ("bin/xferscope", "lib/libxferscope.so", "lib/libxferscope-symbols.so"):
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(BUILD / name, copy / name)
        use(self, copy, self.folder)


if __name__ == "__main__":
    unittest.main()
