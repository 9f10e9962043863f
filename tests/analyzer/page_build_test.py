"""The page of the HTML report is made anew whenever something changes that it is made of, in a build
folder that exists: our script, the frame, the kinds of findings.

usage: page_build_test.py CMAKE GENERATOR SOURCES NODE_MODULES NODE"""

import shutil
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

CMAKE, GENERATOR, SOURCES, MODULES, NODE = sys.argv[1:6]

PROJECT = """
cmake_minimum_required(VERSION 3.24)
project(page C)
set(XFERSCOPE_NODE_PROGRAM "{node}")
function(xferscope_npm_install name folder modules lacks)
  set(${{modules}} "{modules}" PARENT_SCOPE)
  set(${{lacks}} "" PARENT_SCOPE)
endfunction()
function(xferscope_left_out what)
  message(FATAL_ERROR "${{what}}")
endfunction()
include_directories("${{CMAKE_SOURCE_DIR}}")
add_subdirectory(analyzer/report/html)
"""


class PageBuild(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="xferscope-page-")
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name, "with a blank")
        for part in ("analyzer/report/html", "analyzer/findings", "cmake"):
            shutil.copytree(Path(SOURCES, part), self.root / part)
        (self.root / "CMakeLists.txt").write_text(PROJECT.format(node=NODE, modules=MODULES), encoding="utf-8")
        self.run_cmake("-S", self.root, "-B", self.root / "build", "-G", GENERATOR)

    @staticmethod
    def run_cmake(*words):
        done = subprocess.run([CMAKE, *map(str, words)], capture_output=True, text=True, check=False)
        if done.returncode:
            raise AssertionError(done.stdout + done.stderr)

    def built(self):
        """The page, when it was made, and its C source, which the command has."""
        self.run_cmake("--build", self.root / "build", "--target", "xfa_page")
        made = self.root / "build/analyzer/report/html"
        return (made / "page.html").read_text(encoding="utf-8"), (made / "page.html").stat().st_mtime_ns, \
            (made / "page.c").read_bytes()

    def change(self, name, old, new):
        time.sleep(1.1)  # make looks at whole seconds on some file systems
        file = self.root / name
        text = file.read_text(encoding="utf-8")
        self.assertIn(old, text)
        file.write_text(text.replace(old, new, 1), encoding="utf-8")

    def test_what_it_is_made_of(self):
        page, at, source = self.built()
        self.assertEqual(self.built()[1], at)  # nothing changed
        changes = (("analyzer/findings/kinds.def", "copies from or to pageable", "a title that is new, pageable"),
                   ("analyzer/report/html/page/src/page.html", "<body>", "<body><!-- new frame -->"),
                   ("analyzer/report/html/page/src/notes.js", "Nothing that was to be recorded is.", "New script."))
        for name, old, new in changes:
            wanted = new.removeprefix("<body>")
            self.assertFalse(wanted in page, name)
            self.change(name, old, new)
            page, _, newer = self.built()
            self.assertTrue(wanted in page, name)
            self.assertTrue(newer != source, name)
            source = newer


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
