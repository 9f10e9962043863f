"""The subcommands analyze and dump, from outside: output, exit status, bad input.

commands_test.py DRIVER MAKE_TRACE SCHEMA GOLDEN_DIR. UPDATE_GOLDEN=1 in the environment writes
the golden files anew instead of comparing.
"""

import json
import os
import pty
import re
import resource
import shutil
import subprocess
import sys
import time
import unittest

from commands_lab import SANITIZED, Commands
from lab import DRIVER

GOLDEN = sys.argv[4]
# Rules for golden files: how well zstd packs is its own affair.
PACKED_SIZES = (r"\b(bytes|at|stored)=\d+(?= (version|stored|raw)=)", r"\1=N")
PACKED = (r"(?m) zstd$", "")


class CommandsTest(Commands):
    def golden(self, name, text, rules=()):
        for rule in rules:
            text = re.sub(*rule, text)
        path = os.path.join(GOLDEN, name)
        if os.environ.get("UPDATE_GOLDEN") == "1":
            with open(path, "w") as file:
                file.write(text)
        with open(path) as file:
            self.assertEqual(text, file.read())

    # ---- reports ----------------------------------------------------------------------------

    def test_text(self):
        self.make("mixed", "mixed.trace")
        self.make("profile", "machine.json")
        result = self.run_driver("analyze", "mixed.trace", "--profile", "machine.json")
        self.assertEqual((result.status, result.lines), (0, []))
        self.golden("mixed.txt", result.out)

    def test_text_without_profile(self):
        self.make("mixed", "mixed.trace")
        result = self.run_driver("analyze", "mixed.trace", "--sort", "bytes", "--top", "2")
        self.assertEqual((result.status, result.lines), (0, []))
        self.golden("mixed-no-profile.txt", result.out)

    def test_text_simulated(self):
        self.make("simulated", "simulated.trace")
        self.make("profile", "machine.json", "simulated")
        result = self.run_driver("analyze", "simulated.trace", "-p", "machine.json")
        self.assertEqual(result.status, 0)
        self.golden("simulated.txt", result.out)

    def test_dump(self):
        self.make("mixed", "mixed.trace")
        result = self.run_driver("dump", "mixed.trace", "--limit", "12")
        self.assertEqual((result.status, result.lines), (0, []))
        self.golden("mixed-dump.txt", result.out, [PACKED_SIZES, PACKED])

    def test_dump_index_and_arguments(self):
        self.make("indexed", "indexed.trace")
        text = self.run_driver("dump", "indexed.trace")
        self.assertEqual((text.status, text.lines), (0, []))
        lines = text.out.splitlines()
        at = [int(line.split("at=")[1].split()[0]) - 40 for line in lines if line.startswith("segment events")]
        self.assertEqual(
            [line for line in lines if line.startswith(("index", "arguments"))],
            [
                f"index at={at[0]} lane=3 first_seq=0 rows=1 first_ns=1000000000 last_ns=1000000000",
                f"index at={at[1]} lane=4 first_seq=0 rows=5 first_ns=1000000000 last_ns=1000000000",
                "arguments 7 count=2 0x7f0000001000 0xffffffffffffffff",
                "arguments 9 count=0",
            ],
        )
        self.assertEqual([line.split()[1] for line in lines if line.startswith("segment")][-4:],
                         ["arguments", "events", "events", "index"])
        result = self.run_driver("dump", "indexed.trace", "--format", "json")
        found = [json.loads(line) for line in result.out.splitlines()]
        self.assertEqual(
            [line for line in found if line["type"] == "index"],
            [{"type": "index", "at": at[0], "lane": 3, "first_seq": 0, "rows": 1,
              "first_ns": 1000000000, "last_ns": 1000000000},
             {"type": "index", "at": at[1], "lane": 4, "first_seq": 0, "rows": 5,
              "first_ns": 1000000000, "last_ns": 1000000000}])
        self.assertEqual(
            [line for line in found if line["type"] == "arguments"],
            [{"type": "arguments", "id": 7, "pointers": ["0x7f0000001000", "0xffffffffffffffff"]},
             {"type": "arguments", "id": 9, "pointers": []}])

    def test_dump_json(self):
        trace = self.make("killed", "killed.trace")
        result = self.run_driver("dump", trace, "--format", "json")
        self.assertEqual(result.status, 0)
        lines = [json.loads(line) for line in result.out.splitlines()]
        kinds = [line["type"] for line in lines]
        self.assertEqual((kinds[0], kinds[-1]), ("file", "lost"))
        self.assertIsNone(lines[-1]["line"])
        events = [line for line in lines if line["type"] == "event"]
        names = {(event["lane"], event["seq"]) for event in events}
        self.assertEqual(len(names), len(events))
        only = self.run_driver("dump", trace, "-f", "json", "-k", "transfer,alloc")
        shown = [json.loads(line) for line in only.out.splitlines()]
        wanted = [event for event in events if event["kind"] in ("transfer", "alloc")]
        self.assertEqual([line for line in shown if line["type"] == "event"], wanted)
        self.assertEqual(len(wanted), 8 + 100 + 16 + 3 + 1)

    def test_json(self):
        trace = self.make("mixed", "mixed.trace")
        profile = self.make("profile", "machine.json")
        report = self.report(trace, "--profile", profile)
        self.assertEqual(
            list(report), ["schema", "run", "machine", "transfers", "phases", "managed", "waits", "ranks",
             "whatif", "findings"]
        )
        self.assertEqual(report["run"]["command"], ["./train", "--steps", "3"])
        self.assertEqual(report["run"]["directions"]["H2D"]["transfers"], 25)
        self.assertIs(report["machine"]["matches"], True)
        worst = report["transfers"][0]
        self.assertEqual((worst["site"]["function"], worst["site"]["line"]), ("upload", 42))
        self.assertEqual(len(worst["site"]["stack"]), 4)
        self.assertEqual(worst["basis"]["achieved"], "host")
        self.assertEqual(worst["timed"], {
            "device": 0, "host": 8, "unknown": 0, "achieved_s": 0.0096,
            "achievable_s": worst["timed"]["achievable_s"], "blocked_s": 0.0096,
        })
        untimed = report["transfers"][-1]
        self.assertIsNone(untimed["achieved_gbps"])
        self.assertIsNone(untimed["lost_s"])
        # What is not known comes behind what is, and last what another finding does as well.
        first = [finding["run_saving_s"] for finding in report["findings"]
                 if finding["run_saving_s"] is not None and not finding["saving_s"]["idle"]]
        self.assertGreater(len(first), 1)
        self.assertEqual(first, sorted(first, reverse=True))

    def test_json_without_profile(self):
        report = self.report(self.make("mixed", "mixed.trace"))
        self.assertIsNone(report["machine"]["profile"])
        self.assertIsNone(report["machine"]["matches"])
        for row in report["transfers"]:
            self.assertIsNone(row["achievable_gbps"])
            self.assertIsNone(row["lost_s"])

    def test_json_simulated(self):
        report = self.report(self.make("simulated", "simulated.trace"))
        self.assertIs(report["run"]["simulated"], True)

    def test_killed_process_counts_the_same(self):
        whole = self.report(self.make("mixed", "mixed.trace"))
        killed = self.report(self.make("killed", "killed.trace"))
        self.assertEqual(whole["transfers"], killed["transfers"])
        self.assertIs(killed["run"]["processes"][0]["finished"], False)

    def test_names_of_a_killed_process(self):
        report = self.report(self.make("unresolved", "here.trace"))
        site = report["transfers"][0]["site"]
        self.assertEqual(site["function"], "scenario_profile")
        self.assertTrue(site["file"].endswith("scenario.c"))
        report = self.report(self.make("unresolved", "rebuilt.trace", "rebuilt"))
        site = report["transfers"][0]["site"]
        self.assertIsNone(site["function"])
        self.assertRegex(site["text"], r"analyzer_make_trace\+0x[0-9a-f]+")

    def test_run_of_two_processes(self):
        os.mkdir(self.path("two.xft"))
        self.make("mixed", "two.xft/1-1.trace")
        self.make("killed", "two.xft/2-2.trace")
        with open(self.path("two.xft/README"), "w") as file:
            file.write("not a trace")
        one = self.report(self.make("mixed", "mixed.trace"))
        two = self.report(self.path("two.xft"))
        self.assertEqual(len(two["run"]["processes"]), 2)
        self.assertEqual(len(two["transfers"]), len(one["transfers"]))
        for a, b in zip(one["transfers"], two["transfers"]):
            self.assertEqual((2 * a["transfers"], 2 * a["bytes"]), (b["transfers"], b["bytes"]))

    def test_output_file(self):
        trace = self.make("mixed", "mixed.trace")
        result = self.run_driver("analyze", trace, "-f", "json", "-o", self.path("report.json"))
        self.assertEqual((result.status, result.out), (0, ""))
        with open(self.path("report.json")) as file:
            json.load(file)
        self.assertEqual(sorted(os.listdir(self.folder.name)), ["mixed.trace", "report.json"])

    def test_absurd_times_and_sizes(self):
        """Among them memory that moves and was never allocated (a managed variable): a finding of no calls."""
        for variant in ("", "late", "early"):
            trace = self.make("absurd", "absurd.trace", variant)
            report = self.report(trace)
            self.assertIn(0, [finding["transfers"] for finding in report["findings"]], variant)
            self.assertEqual(self.run_driver("analyze", trace).status, 0)

    def test_what_is_read_is_not_replaced(self):
        os.mkdir(self.path("run.xft"))
        trace = self.make("mixed", "run.xft/1-1.trace")
        other = self.make("mixed", "other.trace")
        profile = self.make("profile", "machine.json")
        os.symlink("run.xft/1-1.trace", self.path("link"))
        kept = [open(name, "rb").read() for name in (trace, other, profile)]
        for command, *arguments in (
                ("analyze", trace, "-o", trace), ("analyze", "run.xft", "-o", "run.xft/1-1.trace"),
                ("analyze", "link", "-o", "run.xft/../run.xft/1-1.trace"), ("analyze", trace, "-o", "link"),
                ("analyze", trace, "-p", profile, "-o", profile), ("analyze", trace, "--per-transfer", "-o", trace),
                ("analyze", "--compare", other, trace, "-o", trace), ("dump", trace, "-o", trace),
                ("dump", "run.xft", "-o", trace), ("export", trace, "-f", "csv", "-o", trace),
                ("export", other, "run.xft", "-f", "sqlite", "-o", trace),
                ("export", trace, "-p", profile, "-f", "jsonl", "-o", profile)):
            result = self.run_driver(command, *arguments)
            self.assertEqual((result.status, result.out, len(result.lines)), (2, "", 1), (command, arguments))
            self.assertIn("--output would replace what is read", result.lines[0])
        for command, *arguments in (("analyze", trace, "--no-profile", "-f", "json"), ("dump", trace),
                                    ("export", trace, "--no-profile", "-f", "csv")):
            result = self.run_driver(command, *arguments, "-o", profile)
            self.assertEqual((result.status, result.out, len(result.lines)), (4, "", 1), (command, arguments))
            self.assertIn("a machine profile is not replaced", result.lines[0])
        self.assertEqual([open(name, "rb").read() for name in (trace, other, profile)], kept)
        for name in ("other.trace", "run.xft/report.txt", "new.trace"):
            self.assertEqual(self.run_driver("analyze", trace, "-o", name).status, 0, name)

    # ---- what cannot be done is said --------------------------------------------------------

    def refused(self, status, words, *arguments):
        for command in ("analyze", "dump"):
            result = self.run_driver(command, *arguments)
            self.assertEqual((result.status, result.out), (status, ""), (command, arguments))
            self.assertEqual(len(result.lines), 1, result.lines)
            self.assertIn(words, result.lines[0])

    def test_bad_traces(self):
        def write(name, content):
            with open(self.path(name), "wb") as file:
                file.write(content)
            return self.path(name)

        with open(self.make("mixed", "mixed.trace"), "rb") as file:
            sound = file.read()
        os.mkdir(self.path("empty.xft"))
        table = [
            ("No such file", self.path("missing.xft")),
            ("no .trace file", self.path("empty.xft")),
            ("empty", write("empty.trace", b"")),
            ("not a trace", write("text.trace", b"hello\n" * 2000)),
            ("not a trace", write("zeros.trace", bytes(10000))),
            ("not a trace", write("short.trace", b"XFER")),
            ("truncated", write("header.trace", sound[:50])),
            ("version 2", self.make("newer", "newer.trace")),
            ("not a regular file", "/dev/zero"),
        ]
        for words, path in table:
            with self.subTest(path):
                self.refused(1, words, path)

    def damaged(self, content, words):
        with open(self.path("damaged.trace"), "wb") as file:
            file.write(content)
        report = self.report(self.path("damaged.trace"), status=3)
        result = self.run_driver("analyze", self.path("damaged.trace"))
        self.assertEqual((result.status, len(result.lines)), (3, 1))
        self.assertIn(words, result.lines[0])
        self.assertIn(words, report["run"]["processes"][0]["losses"]["line"])
        self.assertIn("LOST", result.out)
        result = self.run_driver("dump", self.path("damaged.trace"))
        self.assertEqual((result.status, len(result.lines)), (3, 1))
        self.assertIn(words, result.lines[0])
        return report

    def test_damaged_traces(self):
        with open(self.make("mixed", "mixed.trace"), "rb") as file:
            sound = file.read()
        report = self.damaged(sound[:-100], "ends inside a segment")
        self.assertGreater(len(report["transfers"]), 0)
        middle = len(sound) // 2 + 1000
        self.damaged(sound[:middle] + b"\xff" * 8 + sound[middle + 8:], "skipped")
        report = self.damaged(b"\0" * 8 + sound[8:], "header is damaged")
        self.assertEqual(report["run"]["directions"]["H2D"]["transfers"], 25)
        self.assertIsNone(report["run"]["wall_s"])

    def test_what_an_old_format_lacks(self):
        """Said in the report, in text and JSON; of today's there is nothing to say."""
        recorded = os.path.join(os.path.dirname(__file__), "..", "data", "h200-shared-1.0.xft")
        result = self.run_driver("analyze", recorded, "--format", "json")
        run = json.loads(result.out)["run"]
        self.assertEqual((run["format"], len(run["lacks"])), ("1.0", 2))
        text = self.run_driver("analyze", recorded).out
        self.assertIn("format       1.0, without " + run["lacks"][0], text)
        self.assertIn("             without " + run["lacks"][1], text)
        trace = self.make("mixed", "mixed.trace")
        run = json.loads(self.run_driver("analyze", trace, "--format", "json").out)["run"]
        self.assertEqual((run["format"], run["lacks"]), ("1.3", []))
        self.assertNotIn("  format  ", self.run_driver("analyze", trace).out)

    def test_counted_losses(self):
        """What the recorder, or who completed the file, has counted: in each format, status 3."""
        table = [
            ("events", "7 events the recorder could not store", {"events_not_stored": 7}),
            ("stacks", "8 events without their call stack", {"stacks_not_stored": 8}),
            ("times", "9 device times dropped by the timing source", {"device_times_dropped": 9}),
            ("arguments", "11 launches without their arguments", {"arguments_not_stored": 11}),
            ("damage", "1 damaged place skipped, 4000 bytes unreadable, 10 malformed events",
             {"damaged_places": 1, "damaged_bytes": 4000, "malformed_events": 10}),
        ]
        for what, words, counts in table:
            with self.subTest(what):
                trace = self.make("lossy", f"{what}.trace", what)
                losses = self.report(trace, status=3)["run"]["processes"][0]["losses"]
                self.assertEqual(losses["line"], words)
                for key, value in losses.items():
                    if isinstance(value, int):
                        self.assertEqual(value, counts.get(key, 0), key)
                result = self.run_driver("analyze", trace)
                self.assertEqual((result.status, len(result.lines)), (3, 1))
                self.assertIn(words, result.lines[0])
                self.assertRegex(result.out, "LOST[^\n]*" + words.split(",")[0])
                for form in ("text", "json"):
                    result = self.run_driver("dump", trace, "-f", form)
                    self.assertEqual((result.status, len(result.lines)), (3, 1))
                    self.assertIn(words, result.lines[0])
                    last = result.out.splitlines()[-1]
                    said = json.loads(last)["line"] if form == "json" else last[len("lost "):]
                    self.assertEqual(said, words)

    def test_one_bad_file_of_a_run(self):
        os.mkdir(self.path("two.xft"))
        self.make("mixed", "two.xft/1-1.trace")
        with open(self.path("two.xft/2-2.trace"), "wb"):
            pass
        report = self.report(self.path("two.xft"), status=3)
        self.assertEqual(len(report["run"]["unreadable"]), 1)
        self.assertEqual(report["run"]["directions"]["H2D"]["transfers"], 25)

    def test_bad_profiles(self):
        trace = self.make("mixed", "mixed.trace")
        for name, content in [("text", "hello"), ("empty", ""), ("other", "{}"), ("list", "[1]")]:
            with self.subTest(name):
                path = self.path(name + ".json")
                with open(path, "w") as file:
                    file.write(content)
                report = self.report(trace, "--profile", path, status=3)
                self.assertEqual(len(report["machine"]["warnings"]), 1)
                self.assertIsNone(report["machine"]["profile"])
                for row in report["transfers"]:
                    self.assertIsNone(row["achievable_gbps"])
        report = self.report(trace, "--profile", self.path("missing.json"), status=3)
        self.assertIn("missing.json", report["machine"]["warnings"][0])

    def test_profile_of_another_machine(self):
        trace = self.make("mixed", "mixed.trace")
        profile = self.make("profile", "other.json", "other")
        report = self.report(trace, "--profile", profile)
        self.assertIs(report["machine"]["matches"], False)
        self.assertEqual(len(report["machine"]["warnings"]), 1)
        self.assertIs(report["transfers"][0]["basis"]["other_machine"], True)
        result = self.run_driver("analyze", trace, "-p", profile)
        self.assertEqual(len(result.lines), 1)
        self.assertIn("another machine", result.lines[0])
        self.assertIn("ACHIEVABLE*", result.out)

    def test_trace_without_its_beginning_is_of_no_other_machine(self):
        """Nobody knows whether its GPU was a simulated one."""
        self.make("nameless", "nameless.trace")
        self.make("profile", "simulated.json", "simulated")
        result = self.run_driver("analyze", "nameless.trace", "-p", "simulated.json")
        self.assertNotIn("another machine", result.out + " ".join(result.lines))
        self.assertIn("the trace does not say whether it is the machine of the run", " ".join(result.out.split()))

    def test_several_runs(self):
        first, second = self.make("mixed", "mixed.trace"), self.make("killed", "killed.trace")
        os.mkdir(self.path("run.xft"))
        shutil.copy(first, self.path("run.xft/1.trace"))
        one = self.report(first)
        both = self.report(self.path("run.xft"), second)
        self.assertEqual([p["file"] for p in both["run"]["processes"]], ["1.trace", "killed.trace"])
        self.assertEqual(len(both["transfers"]), len(one["transfers"]))
        for row, alone in zip(both["transfers"], one["transfers"]):
            self.assertEqual(row["transfers"], 2 * alone["transfers"])
        missing = self.run_driver("analyze", first, self.path("missing.xft"))
        self.assertEqual((missing.status, len(missing.lines)), (3, 1))
        self.assertIn("missing.xft", missing.lines[0])
        again = self.run_driver("analyze", self.path("run.xft"), self.path("run.xft/1.trace"), "-f", "json")
        self.assertEqual((again.status, len(again.lines)), (0, 1))
        self.assertIn("1.trace: given twice; it is read once", again.lines[0])
        self.assertEqual(len(json.loads(again.out)["run"]["processes"]), 1)

    def test_usage(self):
        trace = self.make("mixed", "mixed.trace")
        self.refused(2, "which trace?")
        result = self.run_driver("dump", trace, trace)
        self.assertEqual((result.status, result.out, len(result.lines)), (2, "", 1))
        self.assertIn("one trace", result.lines[0])
        self.refused(2, "unknown option: --nonsense", trace, "--nonsense")
        self.refused(2, "no such format: xml", trace, "--format", "xml")
        self.refused(2, "lacks its value", trace, "--format")
        for wrong in (("--top", "-1"), ("--top", "x"), ("--sort", "colour")):
            result = self.run_driver("analyze", trace, *wrong)
            self.assertEqual((result.status, len(result.lines)), (2, 1))
        for wrong in (("--top", " -1"), ("--top", "+1"), ("--top", ""), ("--top", "99999999999999999999"),
                      ("--profile", ""), ("--output", ""), ("--sort", ""), ("--format", "")):
            result = self.run_driver("analyze", trace, *wrong)
            self.assertEqual((result.status, len(result.lines), result.out), (2, 1, ""), wrong)
        for wrong in (("--kind", "transfer,nonsense"), ("--kind", ""), ("--kind", ","),
                      ("--kind", "transfer,"), ("--kind", "transfer,,alloc"), ("--limit", "-1"),
                      ("--limit", " -1"), ("--limit", ""), ("--output", ""), ("--format", "")):
            result = self.run_driver("dump", trace, *wrong)
            self.assertEqual((result.status, len(result.lines), result.out), (2, 1, ""), wrong)
        self.assertIn("event: nonsense;", self.run_driver("dump", trace, "-k", "nonsense,sync").lines[0])
        said = self.run_driver("analyze", trace, "--assume", "rond-trip@a.cu=yes").lines
        self.assertEqual([line.count("did you mean round-trip?") for line in said], [1])
        self.assertNotIn("did you mean", self.run_driver("analyze", trace, "--assume", "weather=yes").out)
        for command in ("analyze", "dump"):
            result = self.run_driver(command, "")
            self.assertEqual((result.status, len(result.lines)), (2, 1))
        for command in ("analyze", "dump"):
            result = self.run_driver(command, "--help")
            self.assertEqual((result.status, result.lines), (0, []))
            self.assertIn("usage: xferscope " + command, result.out)
            for paragraph in result.out.split("\n\n"):
                self.filled([line for line in paragraph.splitlines() if not line.startswith(" ")])

    def test_progress_leaves_nothing_on_the_terminal(self):
        """However long it took: what was written there is erased; and of complaints nothing is."""
        trace = self.make("many", "many.trace", "150000" if SANITIZED else "1000000")
        for paths, kept in ((["many.trace"], ""), ([trace, "missing.trace"], "missing.trace: ")):
            terminal, stderr = pty.openpty()
            with os.fdopen(terminal, "rb", buffering=0) as shown:
                done = subprocess.run([DRIVER, "analyze", *paths], stdout=subprocess.PIPE, stderr=stderr,
                                      cwd=self.folder.name, timeout=300, check=False)
                os.write(stderr, b"the end")
                said = b""
                while not said.endswith(b"the end"):
                    said += os.read(shown.fileno(), 65536)
                os.close(stderr)
            self.assertIn(b"Findings", done.stdout)
            lines = said.decode().replace("\r\n", "\n").split("\n")
            left = [re.sub(r".*\r\x1b\[K", "", line) for line in lines]
            self.assertEqual(left[-1], "the end")
            self.assertEqual(len(left), 2 if kept else 1, left)
            self.assertIn(kept, left[0])

    def filled(self, lines):
        """Broken where the next word does not fit, and nowhere else."""
        width = max(map(len, lines), default=0)
        self.assertLessEqual(width, 96)
        for line, following in zip(lines, lines[1:]):
            self.assertGreater(len(f"{line} {following.split()[0]}"), width, line)

    def test_output_that_cannot_be_written(self):
        trace = self.make("mixed", "mixed.trace")
        for command in ("analyze", "dump"):
            for path in ("/dev/full", self.path("no/such/folder/report")):
                result = self.run_driver(command, trace, "-o", path)
                self.assertEqual((result.status, len(result.lines)), (4, 1))
                self.assertIn("cannot write", result.lines[0])
            with open("/dev/full", "w") as full:
                done = subprocess.run([DRIVER, command, trace], stdout=full, stderr=subprocess.PIPE)
            self.assertEqual(done.returncode, 4)

    def test_output_through_a_link(self):
        """The link stays, a read-only file as well, and the mode is kept."""
        trace = self.make("mixed", "mixed.trace")
        target, link = self.path("target"), self.path("link")
        for command in ("analyze", "dump"):
            with open(target, "w") as file:
                file.write("old")
            os.chmod(target, 0o620)
            os.symlink("target", link)
            self.assertEqual(self.run_driver(command, trace, "-o", link).status, 0)
            self.assertTrue(os.path.islink(link))
            self.assertEqual(os.stat(target).st_mode & 0o777, 0o620)
            with open(target) as file:
                self.assertEqual(file.read(), self.run_driver(command, trace).out)
            os.chmod(target, 0o440)
            before = os.stat(target)
            for name in (link, target):
                result = self.run_driver(command, trace, "-o", name)
                self.assertEqual((result.status, len(result.lines)), (4, 1))
                self.assertIn("read-only", result.lines[0])
            self.assertEqual(os.stat(target).st_mtime_ns, before.st_mtime_ns)
            self.assertEqual(sorted(os.listdir(self.folder.name)), ["link", "mixed.trace", "target"])
            os.unlink(link)
            os.unlink(target)

    def test_pipes_are_not_waited_for(self):
        trace, pipe = self.make("mixed", "mixed.trace"), self.path("pipe")
        os.mkfifo(pipe)
        os.mkdir(self.path("run.xft"))
        os.mkfifo(self.path("run.xft/1-1.trace"))
        result = self.run_driver("analyze", trace, "-p", pipe)
        self.assertEqual((result.status, len(result.lines)), (3, 1))
        self.assertIn("not a regular file", result.lines[0])
        for command in ("analyze", "dump"):
            for name in (pipe, self.path("run.xft")):
                result = self.run_driver(command, name)
                self.assertEqual((result.status, len(result.lines)), (1, 1), (command, name))
                self.assertIn("not a regular file", result.lines[0])

    # ---- a million transfers ----------------------------------------------------------------

    def test_million(self):
        count = 100000 if SANITIZED else 1000000
        trace = self.make("many", "many.trace", str(count))
        profile = self.make("profile", "machine.json")
        start = time.monotonic()
        report = self.report(trace, "-p", profile)
        seconds = time.monotonic() - start
        directions = report["run"]["directions"]
        self.assertEqual(sum(d["transfers"] for d in directions.values()), count)
        self.assertEqual(sum(row["timed"]["device"] for row in report["transfers"]), count)
        self.assertEqual(len(report["transfers"]), 20)
        peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024
        print(f"{count} transfers, {os.path.getsize(trace)} bytes: {seconds:.2f} s, {peak} MiB")
        if not SANITIZED:
            self.assertLess(peak, 200)
        # Calls that do not fit are put into a file, or found by walking over the run again: nothing else changes.
        analyze = ("analyze", trace, "-p", profile, "-f", "json", "--memory")
        kept = self.run_driver(*analyze, "512M").out
        self.assertEqual(self.run_driver(*analyze, "1M").out, kept)
        self.assertEqual(self.run_driver(*analyze, "1").out, kept)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
