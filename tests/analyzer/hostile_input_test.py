"""The subcommands analyze and dump with files that ask for more than they hold, and with text that wants
to get at the terminal.

hostile_input_test.py DRIVER MAKE_TRACE SCHEMA
"""

import json
import os
import resource
import subprocess
import sys
import unicodedata
import unittest

from commands_lab import SANITIZED, Commands
from lab import DRIVER


class HostileInput(Commands):
    # ---- files that ask for more than they hold ----------------------------------------------

    def test_attacks(self):
        """Memory and time that would be gone at once, were the file taken at its word. The limits are
        many times of what it takes."""
        def limit():
            resource.setrlimit(resource.RLIMIT_CPU, (60, 60))
            if not SANITIZED:
                resource.setrlimit(resource.RLIMIT_DATA, (512 << 20, 512 << 20))

        for name in ("many-rows", "device-copies", "managed", "classes", "lanes", "backwards",
                     "overlapping", "packed-stacks", "packed-events", "packed-index", "packed-meta",
                     "packed-modules", "one-address", "scattered"):
            trace = self.make("attack", name + ".trace", name + ":8192")
            for command in ("analyze", "dump"):
                with self.subTest((name, command)), open(self.path("out"), "wb") as out:
                    done = subprocess.run([DRIVER, command, trace, *(("-n", "9") if command == "dump" else ())],
                                          stdout=out, stderr=subprocess.PIPE, preexec_fn=limit)
                    self.assertIn(done.returncode, (0, 3), done.stderr)
                    self.assertEqual(len(done.stderr.splitlines()), done.returncode == 3)

    def test_terabytes_of_holes(self):
        os.mkdir(self.path("holes.xft"))
        os.mkdir(self.path("holes.xft/folder.trace"))
        for how in range(4):
            self.make("sparse", f"holes.xft/{how}.trace", str(how))
        for command in ("analyze", "dump"):
            done = subprocess.run([DRIVER, command, self.path("holes.xft")], capture_output=True,
                                  preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (60, 60)))
            self.assertEqual((done.returncode, len(done.stderr.splitlines())), (3, 3), done.stderr)

    # ---- text that wants to get at the terminal -----------------------------------------------

    def tame(self, result, wrapped=False):
        """UTF-8, lines that are the command's own, and nothing that has no looks."""
        text = result.out + "\n".join(result.lines)  # decoded: it was UTF-8
        hidden = {c for c in text if unicodedata.category(c) in ("Cc", "Cf", "Zl", "Zp") and c != "\n"}
        self.assertEqual(hidden, set())
        if not wrapped:  # the cells of a table may be
            self.assertEqual([line for line in text.split("\n") if line.startswith("FAKE")], [])
        return text

    def test_hostile_text_is_shown(self):
        os.mkdir(self.path("evil\x1b[2J.xft"))
        trace = self.make("hostile", "evil\x1b[2J.xft/\u202e1\n-1.trace")
        profile = self.make("profile", "evil\u202e.json", "hostile")
        shown = "<U+001B>[2J<U+000A>FAKE<U+000D><U+0009><U+007F><U+009B>31m<U+202E><U+202D><U+2066>"
        for width in ("60", "1000"):
            report = self.run_driver("analyze", os.path.dirname(trace), "-p", profile, COLUMNS=width)
            self.assertEqual(report.status, 0, report.lines)
            text = self.tame(report, wrapped=True)
        for name in ("value", "./train", "--steps", "cudaMemcpy", "upload", "train.c", "main", "train",
                     "domain", "range", "kernel"):
            self.assertIn(name + shown, text)
        self.assertIn("testhost<U+202E>", text)
        self.assertIn("evil<U+001B>[2J.xft", text)
        self.assertIn("<U+202E>1<U+000A>-1.trace", text)
        self.assertIn("<0xFF><0xC0><0xAF>", text)
        dump = self.run_driver("dump", trace)
        self.assertEqual(dump.status, 0, dump.lines)
        for name in ("extra", "value", "cudaMemcpy", "upload", "domain", "range", "kernel"):
            self.assertIn(name + shown, self.tame(dump))

    def test_hostile_text_in_messages(self):
        os.mkdir(self.path("evil\u202e.xft"))
        bad = self.path("evil\u202e.xft/\x1b[2J\nFAKE.trace")
        with open(bad, "wb") as file:
            file.write(b"no trace" * 1000)
        for command in ("analyze", "dump"):
            for arguments in ((bad,), (os.path.dirname(bad),), (bad + "-",), (bad, "--\x1b\n")):
                result = self.run_driver(command, *arguments)
                self.assertIn(result.status, (1, 2))
                self.assertEqual(len(result.lines), 1, result.lines)
                self.tame(result)
        with open(self.path("evil\u202e.json"), "w") as file:
            file.write("{]")
        trace = self.make("mixed", "mixed.trace")
        result = self.run_driver("analyze", trace, "-p", self.path("evil\u202e.json"))
        self.assertEqual((result.status, len(result.lines)), (3, 1))
        self.tame(result)

    def test_hostile_text_in_json(self):
        trace = self.make("hostile", "evil\u202e.trace")
        profile = self.make("profile", "machine.json", "hostile")
        kept = (b"\x1b[2J\nFAKE\r\t\x7f\xc2\x9b31m\xe2\x80\xae\xe2\x80\xad\xe2\x81\xa6\xe2\x81\xa9"
                b"\xe2\x80\x8b\xe2\x80\xa8\xe2\x80\xa9\xef\xbb\xbf\xef\xbf\xb9\xf3\xa0\x81\x81\xc2\xad"
                b"\xe2\x81\xa0").decode() + 3 * "\ufffd"
        report = self.report(trace, "-p", profile)
        self.assertEqual(report["run"]["trace"], trace)
        self.assertEqual(report["run"]["command"], ["./train" + kept, "--steps" + kept])
        self.assertEqual(report["run"]["gpus"][0]["name"], "value" + kept)
        self.assertIn("upload" + kept, [row["site"]["function"] for row in report["transfers"]])
        self.assertIn("range" + kept, [r["path"][-1]["name"] for r in report["phases"]["ranges"] if r["path"]])
        dumped = self.run_driver("dump", trace, "-f", "json")
        lines = [json.loads(line) for line in dumped.out.split("\n")[:-1]]
        self.assertIn(("extra" + kept[:-3], "value" + kept), [(l.get("key"), l.get("value")) for l in lines])
        for result in (dumped, self.run_driver("analyze", trace, "-p", profile, "-f", "json")):
            self.tame(result)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
