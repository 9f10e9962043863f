"""Lines of source in the trace: those around call sites of Python and of C, as they were when the run was
recorded; none of files that changed since, and none where that is asked for."""
import os
import shutil
import subprocess
import sys
import unittest

from lab import SIMGPU, XFERSCOPE, Bench, environment, preloaded, record, report, run

SCRIPT = """\
import ctypes, os, sys
cuda, place, data = ctypes.CDLL("libcudart.so.13"), ctypes.c_void_p(), bytes(1 << 20)
assert cuda.cudaMalloc(ctypes.byref(place), len(data)) == 0

def upload(): # <&>
\tcuda.cudaMemcpy(place, data, ctypes.c_size_t(len(data)), 1)

for _ in range(4):
    upload()
if len(sys.argv) > 1:
    os.utime(__file__, (4e9, 4e9)) # as if it were edited later
"""
AROUND = {"line": 5, "lines": ["def upload(): # <&>", SCRIPT.splitlines()[5], "", "for _ in range(4):"]}

PROGRAM = """\
#include <stdlib.h>
int cudaMalloc(void **place, size_t bytes);
int cudaMemcpy(void *to, const void *from, size_t bytes, int direction);
int main(void)
{
    void *place = NULL, *data = calloc(1, 1 << 20);
    int failed = cudaMalloc(&place, 1 << 20);
    for (int i = 0; i < 4; i++)
        failed += cudaMemcpy(place, data, 1 << 20, 1);
    return failed;
}
"""


class Sources(Bench):
    def recorded(self, *command, options=(), **settings):
        result = record(*command, cwd=self.folder, options=["-o", "run", "--force", *options],
                        env=environment(XFERSCOPE_CONTENT="off", **settings))
        self.assertEqual(result.returncode, 0, result.stderr)

    def sources(self):
        """Of the first site of each finding about pageable memory."""
        findings = report(self.folder / "run.xft")["findings"]
        found = [finding["sites"][0] for finding in findings if finding["kind"] == "pageable-host-memory"]
        self.assertEqual(len(found), 1)
        return found[0]["line"], found[0]["source"]

    def script(self):
        (self.folder / "upload.py").write_text(SCRIPT)
        return sys.executable, "upload.py"

    def test_python(self):
        self.recorded(*self.script())
        (self.folder / "upload.py").unlink()  # the trace has them
        self.assertEqual(self.sources(), (6, AROUND))
        text = run([XFERSCOPE, "analyze", self.folder / "run.xft", "--full"]).stdout.decode()
        self.assertIn("\n       >     6 |     cuda.cudaMemcpy(place, data,", text)
        self.assertIn("\n             5 | def upload(): # <&>\n", text)

    def screen(self, columns):
        """The line of the first screen that says where."""
        shown = run([XFERSCOPE, "analyze", self.folder / "run.xft", "--brief"], env=environment(COLUMNS=str(columns)))
        lines = shown.stdout.decode().splitlines()
        self.assertLessEqual(max(map(len, lines)), columns)
        at = next(i for i, line in enumerate(lines) if "pageable-host-memory" in line)
        return next(line for line in lines[at + 1:] if "upload" in line)

    def test_first_screen(self):
        """The line of source beside its place, which is shortened first; then both."""
        self.recorded(*self.script())
        code = "cuda.cudaMemcpy(place, data, ctypes.c_size_t(len(data)), 1)"
        self.assertEqual(self.screen(120), f"   upload (upload.py:6), cudaMemcpy    {code}")
        self.assertEqual(self.screen(80), f"   upload.py:6    {code}")
        self.assertRegex(self.screen(60), r"^   upload\.py:6    cuda\.cudaMemcpy\(.*\.\.\..*\), 1\)$")
        self.recorded(*self.script(), options=["--no-sources"])
        self.assertEqual(self.screen(80), "   upload (upload.py:6), cudaMemcpy")

    def test_changed_since(self):
        self.recorded(*self.script(), "edit")
        self.assertEqual(self.sources(), (6, None))

    def test_not_asked_for(self):
        for options, settings in ((["--no-sources"], {}), ([], {"XFERSCOPE_SOURCES": "0"})):
            with self.subTest(options=options):
                self.recorded(*self.script(), options=options, **settings)
                self.assertEqual(self.sources(), (6, None))

    def test_without_record(self):
        """The program's process reads none."""
        result = preloaded(*self.script(), cwd=self.folder, XFERSCOPE_OUTPUT=str(self.folder / "run.xft"))
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(self.sources(), (6, None))

    def test_bound(self):
        """Of a script with more lines that copy, 256 KiB are kept."""
        copy = "    cuda.cudaMemcpy(place, data, ctypes.c_size_t(1), 1); cuda.cudaMemcpy(place, data, ctypes.c_size_t(1), 1)\n"
        head = SCRIPT.split("def")[0].replace("1 << 20", "1")
        (self.folder / "upload.py").write_text(head + "def all():\n" + copy * 3000 + "all()\n")
        self.recorded(sys.executable, "upload.py")
        lines = run([XFERSCOPE, "dump", self.folder / "run.xft"]).stdout.decode().splitlines()
        raw = [int(word.split("=")[1]) for line in lines if line.startswith("segment sources")
               for word in line.split() if word.startswith("raw=")]
        self.assertEqual(len(raw), 1)
        self.assertLessEqual(raw[0], 256 << 10)
        self.assertGreater(raw[0], 250 << 10)

    @unittest.skipUnless(shutil.which("cc"), "no C compiler")
    def test_code(self):
        (self.folder / "upload.c").write_text(PROGRAM)
        build = ["cc", "-g", "-o", "upload", str(self.folder / "upload.c"), f"-L{SIMGPU}", "-lcudart"]
        subprocess.run(build, cwd=self.folder, check=True)
        self.recorded(self.folder / "upload")
        self.assertEqual(self.sources(), (9, {"line": 7, "lines": PROGRAM.splitlines()[6:11]}))
        os.utime(self.folder / "upload.c", (4e9, 4e9))  # edited, not built again
        self.recorded(self.folder / "upload")
        self.assertEqual(self.sources(), (9, None))


if __name__ == "__main__":
    unittest.main()
