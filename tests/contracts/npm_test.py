"""What cmake/Npm.cmake does with npm there, failing, too old or not wanted; and what is in lock files.

npm_test.py CMAKE ROOT
"""

import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

CMAKE, ROOT = sys.argv[1], Path(sys.argv[2])

PROJECT = """cmake_minimum_required(VERSION 3.24)
project(sample LANGUAGES NONE)
include("{root}/cmake/Npm.cmake")
xferscope_npm_install(page "${{CMAKE_SOURCE_DIR}}/page" modules lacks)
message(STATUS "modules=${{modules}} lacks=${{lacks}}.")
"""
NPM = """#!/bin/sh
echo "$@" >>"{log}"
[ -e "{folder}/broken" ] && {{ echo "npm error code ECONNREFUSED" >&2; exit 1; }}
mkdir -p node_modules/there
"""
NODE = """#!/bin/sh
echo {version}
"""


class Npm(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="xferscope-")
        self.addCleanup(self.folder.cleanup)
        self.at = Path(self.folder.name)
        (self.at / "page").mkdir()
        (self.at / "page/package.json").write_text("{}")
        (self.at / "page/package-lock.json").write_text("{}")
        (self.at / "CMakeLists.txt").write_text(PROJECT.format(root=ROOT))
        self.program("npm", NPM.format(log=self.at / "log", folder=self.at))
        self.program("node", NODE.format(version="v20.1.0"))

    def program(self, name, text):
        (self.at / name).write_text(text)
        (self.at / name).chmod(0o755)

    def configure(self, *options):
        done = subprocess.run(
            [CMAKE, "-S", self.at, "-B", self.at / "build", f"-DXFERSCOPE_NPM_PROGRAM={self.at / 'npm'}",
             f"-DXFERSCOPE_NODE_PROGRAM={self.at / 'node'}", *options],
            capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)  # whatever npm does, the build goes on
        line = next(line for line in done.stdout.splitlines() if "modules=" in line)
        return line.split("modules=")[1].split(" lacks=")

    def calls(self):
        log = self.at / "log"
        return log.read_text().splitlines() if log.exists() else []

    def test_installed_once(self):
        modules, lacks = self.configure()
        self.assertEqual(lacks, ".")
        self.assertEqual(Path(modules), self.at / "build/npm/page/node_modules")
        self.assertTrue(Path(modules, "there").is_dir())
        self.assertEqual(self.configure()[0], modules)
        self.assertEqual(len(self.calls()), 1)
        self.assertTrue(self.calls()[0].startswith("ci --ignore-scripts"))
        (self.at / "page/package-lock.json").write_text("{ }")
        self.assertEqual(self.configure()[0], modules)
        self.assertEqual(len(self.calls()), 2)
        self.assertEqual(sorted(os.listdir(self.at / "page")), ["package-lock.json", "package.json"])

    def test_failing(self):
        (self.at / "broken").touch()
        self.assertEqual(self.configure(), ["", "npm ci failed, and is tried again when CMake runs again."])
        (self.at / "broken").unlink()
        self.assertEqual(self.configure()[1], ".")

    def test_not_to_be_had(self):
        self.assertEqual(self.configure("-DXFERSCOPE_NPM=OFF"), ["", "XFERSCOPE_NPM is off."])
        self.assertEqual(self.configure("-DXFERSCOPE_NPM=ON", "-DXFERSCOPE_NPM_PROGRAM="),
                         ["", "no npm."])
        self.program("node", NODE.format(version="v12.22.9"))
        self.assertEqual(self.configure(), ["", "node is older than 18."])
        self.assertEqual(self.calls(), [])


class Locks(unittest.TestCase):
    """Exact versions, a checksum for each, and no word of where they come from."""

    def test_lock_files(self):
        locks = [path for path in ROOT.rglob("package-lock.json")
                 if "node_modules" not in path.parts and not path.relative_to(ROOT).parts[0].startswith("build")]
        self.assertTrue(locks)
        for path in locks:
            with self.subTest(path.relative_to(ROOT)):
                lock = json.loads(path.read_text())
                wanted = json.loads((path.parent / "package.json").read_text())
                for name, package in lock["packages"].items():
                    self.assertNotIn("resolved", package, name)
                    self.assertTrue(name == "" or package["integrity"].startswith("sha512-"), name)
                for section in ("dependencies", "devDependencies"):
                    for name, version in wanted.get(section, {}).items():
                        self.assertRegex(version, r"^\d+\.\d+\.\d+$", name)
                        self.assertEqual(lock["packages"][f"node_modules/{name}"]["version"], version)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
