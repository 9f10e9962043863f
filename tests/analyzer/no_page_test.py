"""analyze --format html where the build has no page: one line, status 2, nothing written.

no_page_test.py DRIVER MAKE_TRACE
"""

import os
import subprocess
import sys
import tempfile
import unittest

DRIVER, MAKE = sys.argv[1:3]


class NoPage(unittest.TestCase):
    def test_is_said(self):
        with tempfile.TemporaryDirectory(prefix="xferscope-") as folder:
            subprocess.run([MAKE, "mixed", "a.trace"], cwd=folder, check=True)
            done = subprocess.run([DRIVER, "analyze", "a.trace", "-f", "html", "-o", "page.html"], cwd=folder,
                                  capture_output=True, check=False)
            self.assertEqual(done.returncode, 2)
            self.assertEqual(done.stdout, b"")
            said = done.stderr.decode()
            self.assertEqual(said.count("\n"), 1)
            self.assertIn("--format html: this build has no HTML report", said)
            self.assertEqual(os.listdir(folder), ["a.trace"])
            for format in ("text", "json"):
                subprocess.run([DRIVER, "analyze", "a.trace", "-f", format], cwd=folder, check=True,
                               stdout=subprocess.DEVNULL)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
