"""What of a report is shown, and how: analyze --site, --kind, --rank, --phase, for every format and for
--per-transfer, compared with the whole report; colours on a terminal.

view_test.py DRIVER MAKE_TRACE SCHEMA DATA_DIR
"""

import fcntl
import fnmatch
import json
import os
import pty
import re
import struct
import subprocess
import sys
import tempfile
import termios
import unittest

import jsonschema

DRIVER, MAKE, SCHEMA, DATA = sys.argv[1:5]
PYTORCH = (os.path.join(DATA, "h200-pytorch.xft"), "-p", os.path.join(DATA, "h200.json"))
STATIC = (os.path.join(DATA, "h200-static.xft"), "-p", os.path.join(DATA, "h200.json"))


def analyze(*arguments, **more):
    environment = dict(os.environ, COLUMNS="80", **more)
    return subprocess.run([DRIVER, "analyze", *arguments], capture_output=True, env=environment,
                          timeout=120, check=False, text=True)


class Filters(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="xferscope-")
        self.addCleanup(self.folder.cleanup)

    def make(self, path, *scenario):
        path = os.path.join(self.folder.name, path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        subprocess.run([MAKE, scenario[0], path, *scenario[1:]], check=True)
        return path

    def report(self, *arguments):
        done = analyze(*arguments, "-f", "json")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        report = json.loads(done.stdout)
        with open(SCHEMA, encoding="ascii") as file:
            jsonschema.Draft202012Validator(json.load(file)).validate(report)
        return report

    def listed(self, *arguments):
        done = analyze(*arguments, "-f", "json", "--per-transfer")
        self.assertEqual(done.returncode, 0, done.stderr)
        return [json.loads(line) for line in done.stdout.splitlines()]

    def check(self, run, options, row, finding):
        """Of the whole report those rows and findings are shown of which that is true, as they are; all
        else stays. The list has the transfers of these rows."""
        whole, part = self.report(*run), self.report(*run, *options)
        rows = [one for one in whole["transfers"] if row(one)]
        findings = [one for one in whole["findings"] if finding(one)]
        said = part.pop("filter")
        self.assertEqual((part["transfers"], part["findings"]), (rows, findings), options)
        self.assertTrue(rows and len(rows) < len(whole["transfers"]), options)
        self.assertEqual({key: part[key] for key in whole if key not in ("transfers", "findings")},
                         {key: whole[key] for key in whole if key not in ("transfers", "findings")})
        self.assertEqual((said["transfers"], said["of_transfers"]), (len(rows), len(whole["transfers"])))
        self.assertEqual((said["findings"], said["nothing"]),
                         (sum(not one["saving_s"]["idle"] for one in findings), None))
        if "--kind" not in options or "-" not in options[options.index("--kind") + 1]:
            self.assertEqual(len(self.listed(*run, *options)), sum(one["transfers"] for one in rows))
        text = analyze(*run, *options).stdout
        self.assertIn(f"{' '.join(options)}: {len(rows)} of {len(whole['transfers'])}",
                      " ".join(text.split()))
        shown = text[text.index("\nTransfers, by"):]
        for one in whole["transfers"]:
            if not row(one) and not any(one["site"]["text"] == other["site"]["text"] for other in rows):
                self.assertNotIn(one["site"]["text"], shown)

    def test_site(self):
        def has(pattern):
            return lambda one: pattern in one["site"]["text"]

        def found(match):
            return lambda one: any(match(site["text"]) for site in one["sites"])

        self.check(STATIC, ("--site", "upload"), has("upload"), found(lambda text: "upload" in text))
        self.check(STATIC, ("--site", "unoptimised.cu:98"), has(":98)"), found(lambda text: ":98)" in text))
        self.check(PYTORCH, ("--site", "load_con*"), has("load_con"), found(lambda text: "load_con" in text))
        self.check(PYTORCH, ("--site", "train.py:6[12]"), lambda one: one["site"]["line"] in (61, 62),
                   found(lambda text: fnmatch.fnmatch(text, "*:6[12])")))

    def test_kind_of_transfer(self):
        def site(one, match):
            return any(match(s["direction"]) for s in one["sites"])

        self.check(STATIC, ("--kind", "d2h"), lambda one: one["direction"] == "D2H",
                   lambda one: site(one, lambda d: d == "D2H"))
        self.check(PYTORCH, ("--kind", "pinned"), lambda one: "pinned" in (one["src_memory"], one["dst_memory"]),
                   lambda one: False)

    def test_kind_of_finding(self):
        self.check(STATIC, ("--kind", "small-transfers"), lambda one: "upload_gains" in one["site"]["text"],
                   lambda one: one["kind"] == "small-transfers")

    def test_both(self):
        self.check(STATIC, ("--site", "load", "--kind", "H2D"),
                   lambda one: "load" in one["site"]["text"] and one["direction"] == "H2D",
                   lambda one: any("load" in s["text"] and s["direction"] == "H2D" for s in one["sites"]))

    def test_rank(self):
        for i in range(6):
            self.make(f"ranks.xft/{6000 + i}-1.trace", "rank", f"{i}:{i + 2}")
        run = (os.path.join(self.folder.name, "ranks.xft"),)
        every = self.listed(*run)
        ranks = sorted({line["rank"] for line in every})
        self.assertGreater(len(ranks), 3)
        for option, chosen in ((f"{ranks[1]}", {ranks[1]}), (f"{ranks[0]},{ranks[2]}-{ranks[3]}",
                                                             {r for r in ranks if r == ranks[0]
                                                              or ranks[2] <= r <= ranks[3]})):
            lines = [line for line in every if line["rank"] in chosen]
            self.assertEqual(self.listed(*run, "--rank", option), lines)
            report = self.report(*run, "--rank", option)
            self.assertEqual(sum(row["transfers"] for row in report["transfers"]), len(lines))
            self.assertEqual(sum(row["bytes"] for row in report["transfers"]),
                             sum(line["bytes"] for line in lines))
            self.assertEqual(report["whatif"], self.report(*run)["whatif"])

    def test_phase(self):
        run = (self.make("phases.trace", "phases"),)
        whole = self.report(*run)
        names = {part["name"] for phase in whole["phases"]["ranges"] for part in phase["path"] if part["name"]}
        for name in names:
            within = sum(phase["transfers"] for phase in whole["phases"]["ranges"]
                         if any(part["name"] == name for part in phase["path"]) and phase["of"] == "thread")
            shared = any(phase["of"] == "process" and phase["path"][0]["name"] == name
                         for phase in whole["phases"]["ranges"])
            lines = self.listed(*run, "--phase", name)
            report = self.report(*run, "--phase", name)
            self.assertEqual(sum(row["transfers"] for row in report["transfers"]), len(lines), name)
            if not shared:
                self.assertEqual(len(lines), within, name)
        self.assertGreater(len(names), 3)

    def test_nothing(self):
        """One line that names what there is, and no failure."""
        phases = (self.make("phases.trace", "phases"),)
        for run, options, line in (
                (STATIC, ("--site", "uplaod_gains"), "--site uplaod_gains; call sites are: upload_gains"),
                (STATIC, ("--kind", "managed"), "--kind managed; there are: "),
                (STATIC, ("--rank", "7"), "--rank 7; no process of the run is known by a rank"),
                (STATIC, ("--phase", "x"), "--phase x; the program has no ranges (NVTX)"),
                (phases, ("--phase", "lod"), "--phase lod; ranges are: load, "),
                (STATIC, ("--site", "gains", "--kind", "D2H"), "each of these alone matches something")):
            done = analyze(*run, *options)
            self.assertEqual((done.returncode, done.stderr), (0, ""), options)
            text = " ".join(done.stdout.split())
            self.assertTrue(text.startswith("nothing matches ") and line in text, text)
            nothing = self.report(*run, *options)
            self.assertEqual((nothing["filter"]["nothing"], nothing["transfers"], nothing["findings"]),
                             (text, [], []))
            done = analyze(*run, *options, "--per-transfer")
            self.assertEqual((done.returncode, done.stderr.count("\n")), (0, 1))
            said = done.stderr.removeprefix("xferscope analyze: ").rstrip("\n")  # it looks for no findings
            self.assertTrue(text.startswith(said) and (text == said or "--kind" in options), (text, said))

    def test_kinds_of_the_run(self):
        """All that there are, of transfers and of findings."""
        run = (self.make("phases.trace", "phases"), "-p", self.make("machine.json", "profile"))
        said = self.report(*run, "--kind", "P2P")["filter"]["nothing"]
        report = self.report(*run)
        kinds = {row[key] for row in report["transfers"] for key in ("direction", "src_memory", "dst_memory")}
        kinds |= {finding["kind"] for finding in report["findings"]}
        self.assertEqual(set(said.split("there are: ")[1].split(", ")), kinds)

    def test_bad_values(self):
        for options, why in ((("--kind", "h2x"), "no such kind of transfer or of finding: h2x (near it: H2D"),
                             (("--kind", "small-tranfers"), "(near it: small-transfers; all are"),
                             (("--kind", "foo"), "foo (there are H2D, D2H, D2D, P2P, H2H, pageable, pinned, "),
                             (("--rank", "a"), "--rank takes ranks"), (("--rank", "3-1"), "--rank takes"),
                             (("--rank", "1,,2"), "--rank takes"), (("--rank", "-1"), "--rank takes"),
                             (("--rank", "1-4294967296"), "--rank takes"), (("--site", ""), "need a value"),
                             (("--per-transfer", "--kind", "round-trip"), "looks for no findings"),
                             (("--color", "blue"), "--color is auto, always or never, not: blue")):
            done = analyze(*STATIC, *options)
            self.assertEqual((done.returncode, done.stdout), (2, ""), options)
            self.assertEqual(len(done.stderr.splitlines()), 1)
            self.assertIn(why, done.stderr)


class Colours(unittest.TestCase):
    def on_terminal(self, *options, columns=80, **more):
        """What a terminal of so many columns gets."""
        master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        environment = dict(os.environ, **{"TERM": "xterm", "PAGER": "cat", **more})
        if "NO_COLOR" not in more:
            environment.pop("NO_COLOR", None)
        with subprocess.Popen([DRIVER, "analyze", *STATIC, "--full", *options], stdout=slave, env=environment) as child:
            os.close(slave)
            found = b""
            try:
                while piece := os.read(master, 65536):
                    found += piece
            except OSError:
                pass
            self.assertEqual(child.wait(), 0)
        os.close(master)
        return found.decode().replace("\r\n", "\n")

    def test_colours(self):
        plain = analyze(*STATIC).stdout
        self.assertNotIn("\x1b", plain)
        coloured = self.on_terminal()
        self.assertIn("\x1b[1m", coloured)
        self.assertEqual(fnmatch.filter([coloured], "*\x1b?32m*with changes 1 and 2 *"), [coloured])
        for off in ({"NO_COLOR": "1"}, {"TERM": "dumb"}, {"TERM": ""}):
            self.assertEqual(self.on_terminal(**off), plain, off)
        self.assertEqual(self.on_terminal("--color", "never"), plain)
        self.assertIn("\x1b[1m", self.on_terminal(NO_COLOR=""))
        always = analyze(*STATIC, "--color=always", NO_COLOR="1").stdout
        self.assertIn("\x1b[1m", always)
        self.assertEqual(self.without(always), plain)
        self.assertEqual(self.without(coloured), plain)
        self.assertNotIn("\x1b", analyze(*STATIC, "--color=always", "-f", "json").stdout)

    @staticmethod
    def without(text):
        return re.sub("\x1b\\[[0-9;]*m", "", text)

    def test_width_into_a_pager(self):
        """Standard output is none, but standard error is."""
        master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 90, 0, 0))
        environment = {key: value for key, value in os.environ.items() if key != "COLUMNS"}
        done = subprocess.run([DRIVER, "analyze", *STATIC], stdout=subprocess.PIPE, stderr=slave,
                              env=environment, check=True, text=True)
        os.close(slave)
        os.close(master)
        self.assertIn(max(map(len, done.stdout.splitlines())), range(85, 91))
        self.assertNotIn("\x1b", done.stdout)

    def test_width_of_the_terminal(self):
        wide = self.on_terminal(columns=200)
        self.assertGreater(max(map(len, wide.splitlines())), 120)
        self.assertLessEqual(max(map(len, self.without(wide).splitlines())), 200)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
