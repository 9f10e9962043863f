"""The first screen: what `analyze` shows on a terminal, what --full, pipes and the other formats add to
it, and --open.

screen_test.py DRIVER MAKE_TRACE DATA_DIR GOLDEN_DIR.
"""

import fcntl
import json
import os
import pathlib
import pty
import re
import struct
import subprocess
import sys
import termios
import unittest

from lab import DRIVER, Lab

DATA, GOLDEN = map(pathlib.Path, sys.argv[3:5])
STATIC = (str(DATA / "h200-static.xft"), "--profile", str(DATA / "h200.json"))
EXAMPLES = DATA / "examples"
MACHINE = ("--profile", str(EXAMPLES / "machine.json"))
TRAIN = (str(EXAMPLES / "pytorch_train.xft"), *MACHINE)
NOTHING = (str(EXAMPLES / "jax_fit.xft"), *MACHINE)
LINES = 30
HEADLINE = "209 ms -> 119 ms with 1 change (43 % less; 66.6 to 159 ms)"
WORDS = ("best set", "replayed unchanged", "recording cost", "Lo + k G")


class Screen(Lab):
    def terminal(self, *arguments, columns=80, status=0, **settings):
        """What the command shows on a terminal without colours; a setting None is not set."""
        master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
        settings = {"TERM": "xterm", "NO_COLOR": "1", "COLUMNS": None, "LESS": None, **settings}
        environment = {key: value for key, value in {**os.environ, **settings}.items() if value is not None}
        with subprocess.Popen([DRIVER, "analyze", *arguments], stdout=slave, stderr=slave, env=environment,
                              cwd=self.folder.name) as child:
            os.close(slave)
            found = b""
            try:
                while piece := os.read(master, 65536):
                    found += piece
            except OSError:  # the other end is closed
                pass
            self.assertEqual(child.wait(), status, found)
        os.close(master)
        return found.decode().replace("\r\n", "\n")

    def piped(self, *arguments, columns=80):
        done = self.drive("analyze", *arguments, settings={"COLUMNS": str(columns)})
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        return done.stdout.decode()

    def program(self, name, text):
        """A program in a folder of its own, for PATH."""
        path = pathlib.Path(self.path("bin")) / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(0o755)
        return f"{path.parent}:{os.environ['PATH']}"

    # ---- one figure, of the part that the GPUs work in -------------------------------------------

    def test_headline_is_of_the_phase(self):
        for more in ((), ("--phase", "train")):
            shown = self.terminal(*TRAIN, *more).splitlines()
            self.assertEqual(shown[1:3], ["  209 ms of 4.73 s (phase train) on vm, NVIDIA H200", HEADLINE])
            line = HEADLINE + ", of 4.73 s (phase train)"
            markdown = self.piped(*TRAIN, *more, "-f", "markdown")
            self.assertTrue(markdown.startswith("### xferscope: 209 ms -> 119 ms (43 % less) with 1 change\n"))
            self.assertIn(f"\n{line.replace('>', '&#62;')}\n", markdown)
            self.assertIn(f'content="{line.replace(">", "&#62;")}"', self.piped(*TRAIN, *more, "-f", "html"))

    def test_shares_are_of_the_phase_that_is_asked_for(self):
        """The one finding's share is the headline's; without a phase, or a time of it, it is of the run."""
        for more, share, of in (((), "2.1 %", "the run"),
                                (("--phase", "train"), "43 % of phase train", "phase train"),
                                (("--phase", "tra*"), "2.1 %", "the run")):
            self.assertIn(f"saves 97.8 ms of the run ({share}),", self.piped(*TRAIN, *more, "--full"))
            markdown = self.piped(*TRAIN, *more, "-f", "markdown")
            self.assertIn(f"Saves 97.8 ms of the run ({share}),", markdown)
            self.assertIn("| # | saves | alone | where |", markdown)  # the title's share is the only one there
            report = json.loads(self.piped(*TRAIN, *more, "-f", "json"))
            saving, phases = report["findings"][0]["saving_s"], report["whatif"]["phases"]
            whole, saved = report["whatif"]["alone_s"], saving["likely"]
            for phase in phases:
                if f"phase {phase['name']}" == of:  # it is the whole set
                    whole, saved = phase["alone_s"], phase["alone_s"] - phase["with_set_s"]
            self.assertEqual(saving["share_of"], of)
            self.assertAlmostEqual(saving["share"], saved / whole, 6)

    def test_what_the_gpu_did_is_of_the_phase(self):
        """Not of the start of Python, which is 95 % of the time from the first work to the last wait."""
        for more in ((), ("--phase", "train")):
            shown = " ".join(self.terminal(*TRAIN, *more).split())
            self.assertIn(" of 209 ms the GPU computes 21 %, waits for copies 46 %, idles in the host's waits 4.6 %, "
                          "waits for launches 4.6 %, waits for Python 24 % ", shown)
        shown = " ".join(self.terminal(*TRAIN, "--phase", "tra*").split())  # no phase's name
        self.assertIn("waits for Python", shown)

    def test_percentages_have_one_base(self):
        """All of the first screen are of the time that it begins with; what is of another has a unit of its own."""
        for run in (STATIC, TRAIN, NOTHING, (STATIC[0], "--no-profile"), (*TRAIN, "--phase", "tra*")):
            shown = " ".join(self.terminal(*run, columns=100).split())
            of = re.search(r" ([\d.]+ [mu]?s)(?: of [\d.]+ [mu]?s \([^)]*\))? on vm, NVIDIA H200 ", shown)[1]
            less, gpus = re.findall(r"\([\d.]+ % less;", shown), re.search(r" of ([\d.]+ [mu]?s) the GPU ((?:\w[\w ']* [\d.]+ %(?:, )?)+)", shown)
            self.assertEqual(gpus[1], of)
            self.assertAlmostEqual(sum(map(float, re.findall(r"([\d.]+) %", gpus[2]))), 100, delta=1.5)
            self.assertEqual(shown.count("%"), len(less) + gpus[2].count("%"))

    def test_headline_is_of_the_work_for_gpus(self):
        shown = self.terminal(*STATIC).splitlines()
        self.assertIn("141 ms of 310 ms (first work for a GPU to last wait)", " ".join(shown[:3]))
        self.assertIn("141 ms -> 96.6 ms with changes 1 and 2 (32 % less; 66.2 to 112 ms)", shown)

    def test_words_of_the_model_are_explained_in_the_full_report(self):
        for run in (STATIC, TRAIN):
            screen, full = self.terminal(*run), self.piped(*run)
            words = full[full.index("\nWords "):]
            for word in WORDS:
                self.assertNotIn(word, screen)
                self.assertEqual(words.count(word), 1, word)
            self.assertNotIn("lost", screen)
            self.assertRegex(words, r"\n  units +sizes in powers of 1024 .*GB/s in 10\^9 bytes/s")

    # ---- one screen ------------------------------------------------------------------------------

    def test_one_screen(self):
        for run in (STATIC, TRAIN, NOTHING, (STATIC[0], "--no-profile"), (TRAIN[0], "--no-profile"),
                    (str(DATA / "h200-shared-1.0.xft"), "--no-profile")):
            for columns in (80, 60, 200):
                lines = self.terminal(*run, columns=columns).splitlines()
                asked = 4 if any(line.startswith("?") for line in lines) else 0
                self.assertLessEqual(len(lines), (LINES if columns >= 80 else LINES + 8) + asked)
                self.assertLessEqual(max(map(len, lines)), columns)
                self.assertRegex(lines[-1], r"more: --full.*  -f html --open")

    def test_nothing_is_shortened_elsewhere(self):
        piped = self.piped(*STATIC)
        self.assertIn("\nThe run\n", piped)
        self.assertNotIn("more: --full", piped)
        self.assertEqual(self.piped(*STATIC, "--full"), piped)
        self.assertEqual(self.terminal(*STATIC, "--full", PAGER="cat"), piped)
        for rows in (("-n", "20"), ("--sort", "lost")):
            self.assertEqual(self.terminal(*STATIC, *rows, PAGER=""), piped)
        self.assertNotIn("\nThe run\n", self.terminal(*STATIC))

    def test_pager(self):
        piped = self.piped(*STATIC)
        path = self.program("less", 'echo "$LESS $*"; cat')
        self.assertEqual(self.terminal(*STATIC, "--full", PAGER=None, PATH=path), "FRX -FRX\n" + piped)
        self.assertEqual(self.terminal(*STATIC, "--full", PAGER="less", PATH=path, LESS="S"), "S \n" + piped)
        self.assertEqual(self.terminal(*STATIC, "--full", PAGER="head -n 1"), piped.split("\n", 1)[0] + "\n")
        self.assertEqual(self.terminal(*STATIC, "--full", PAGER="exit 3;"), "")
        self.assertTrue(self.terminal(*STATIC, "--full", PAGER="no-such-pager").endswith(piped))
        self.assertIn("more: --full", self.terminal(*STATIC, PAGER="exit 3;"))

    # ---- rows ------------------------------------------------------------------------------------

    def test_no_two_rows_read_the_same(self):
        rows = re.findall(r"^\d  \S.*(?:\n   (?:\d|copies).*)?", self.piped(*STATIC, "-n", "0"), re.M)
        self.assertEqual(len(rows), 5)
        for row in rows:
            self.assertRegex(row.replace("\n  ", ""), r"(H2D|D2H), \d+ copies, \d+ [KM]iB$")
        self.assertEqual(len({re.sub(r"^\d|[\d.-]+ ms", "", row) for row in rows}), 5)

    def test_what_to_do_is_in_the_programs_words(self):
        """The first finding's in full, others' where there is room, so that the screen stays one."""
        shown = " ".join(self.terminal(*TRAIN).split())
        self.assertIn("do: keep the host tensor in pinned memory (DataLoader(..., pin_memory=True) or "
                      "tensor.pin_memory()) and copy it with .to(device, non_blocking=True)", shown)
        for columns, second in ((200, "page-lock the host memory once"), (60, "pinned, independent parts on 2")):
            done = re.findall(r"   do: (.*)", self.terminal(*STATIC, columns=columns))
            self.assertTrue(done[0].startswith("pack the pieces into one pinned buffer and"), done)
            self.assertTrue(done[1].startswith(second), done)
            self.assertEqual(len(done), 2)  # what is not in the set is not said to be done

    def test_the_best_set_comes_first(self):
        """In the order in which its members are made, with what each adds; then what is instead of one of them."""
        findings = [one for one in json.loads(self.piped(*STATIC, "-f", "json"))["findings"] if not one["saving_s"]["idle"]]
        places = [one["saving_s"]["order"] for one in findings]
        members = [place for place in places if place]
        self.assertEqual(places, [*range(1, len(members) + 1)] + [None] * (len(findings) - len(members)))
        self.assertTrue(2 <= len(members) < len(findings))
        alone = [one["saving_s"]["likely"] for one in findings[len(members):]]
        self.assertEqual(alone, sorted(alone, reverse=True))
        self.assertGreater(alone[0], findings[0]["saving_s"]["likely"])  # else its place would say nothing
        shown = self.terminal(*STATIC, columns=200)
        leads = re.findall(r"^(\d)  (instead of \d: |needless after [\d to and]+: )?([a-z-]+)  ([\d.]+ ms)( more)?", shown, re.M)
        self.assertEqual([lead[2] for lead in leads], [one["kind"] for one in findings[:3]])
        self.assertEqual([bool(lead[1]) for lead in leads], [not place for place in places[:3]])
        for number, (_, role, _, said, more) in enumerate(leads):
            saving = findings[number]["saving_s"]
            self.assertEqual(bool(more), bool(saving["order"] and saving["order"] > 1))
            expected = saving["added"] if saving["order"] else saving["likely"]
            self.assertAlmostEqual(float(said.split()[0]) / 1e3 / expected, 1, 2)
            self.assertEqual(role, f"instead of {saving['instead_of']}: " if saving["instead_of"] else "")
        saved = sum(one["saving_s"]["added"] for one in findings if one["saving_s"]["order"])
        whole = re.search(r"^([\d.]+) ms -> ([\d.]+) ms with changes 1 and 2 ", shown, re.M)
        self.assertAlmostEqual(float(whole[1]) - float(whole[2]), 1e3 * saved, 0)  # the members' figures add up to it

    def test_without_a_profile_nothing_is_promised(self):
        shown = self.terminal(STATIC[0], "--no-profile")
        self.assertIn("would save is not known without a machine profile", " ".join(shown.split()))
        self.assertNotIn("->", shown)
        self.assertNotIn("possible here", shown)

    def test_without_a_profile_the_phase_leads(self):
        """That has most of the GPU's work, however long the process took to start; page and screen agree."""
        shown = self.terminal(TRAIN[0], "--no-profile").splitlines()
        self.assertEqual(shown[1], "  210 ms of 4.73 s (phase train) on vm, NVIDIA H200")
        self.assertIn("computes 21 %, waits for copies 46 %", " ".join(shown))
        self.assertIn('"focus":{"phase":"train"', self.piped(TRAIN[0], "--no-profile", "-f", "html"))

    def test_nothing_moved(self):
        self.make("nameless", "nothing.trace", "nothing")
        shown = self.terminal(self.path("nothing.trace"))
        self.assertIn("\nNothing was moved: no transfer was seen.\n", shown)
        self.assertIn("Nothing was moved", self.piped(self.path("nothing.trace"), "-f", "markdown"))

    def test_nothing_to_change(self):
        shown = self.terminal(*NOTHING)
        self.assertIn("\nNothing is worth changing for certain", shown)
        self.assertIn("\n?  15.8 ms, up to 69.1 ms, if no kernel changes what", shown)
        self.assertNotIn("do: ", shown)

    def test_no_bound_is_a_negative_time(self):
        """In no format."""
        below = re.compile(r"(between|to|\[|\()\s*-\d[\d.]* [mun]?s\b|\d--\d")
        for report in GOLDEN.glob("*.txt"):
            # A comparison shows changes, which have a sign.
            if not re.search(r"json|dump|compare", report.name):
                self.assertNotRegex(report.read_text(encoding="utf-8"), below, report.name)

    # ---- the page --------------------------------------------------------------------------------

    def test_page_is_not_for_a_terminal(self):
        for to in ((), ("-o", "-")):
            shown = self.terminal(*STATIC, "-f", "html", *to, status=2)
            self.assertEqual(shown.count("\n"), 1)
            self.assertRegex(shown, "-o FILE.*--open")

    def test_open(self):
        opened = self.path("opened")
        path = self.program("xdg-open", f'echo "$1" >> {opened}')
        shown = self.terminal(*STATIC, "-f", "html", "--open", PATH=path, TMPDIR=self.folder.name)
        page = pathlib.Path(shown.strip())
        self.assertEqual(page.parent, pathlib.Path(self.folder.name))
        self.assertIn("</html>", page.read_text(encoding="utf-8"))
        self.assertEqual(self.terminal(*STATIC, "-f", "html", "--open", "-o", "page.html", PATH=path), "")
        self.assertEqual(pathlib.Path(opened).read_text(encoding="utf-8").split(), [str(page), "page.html"])
        compared = ("--compare", TRAIN[0], TRAIN[0], *MACHINE, "-f", "html", "--open")
        shown = self.terminal(*compared, PATH=path, TMPDIR=self.folder.name)
        page = shown.strip()
        self.assertIn("</html>", pathlib.Path(page).read_text(encoding="utf-8"))
        self.assertEqual(self.terminal(*compared, "-o", "compared.html", PATH=path), "")
        self.assertEqual(pathlib.Path(opened).read_text(encoding="utf-8").split()[2:], [page, "compared.html"])
        self.program("xdg-open", "exit 1")
        shown = self.terminal(*STATIC, "-f", "html", "--open", "-o", "page.html", PATH=path)
        self.assertIn("xdg-open could not show page.html", shown)
        self.assertIn("needs --format html", self.terminal(*STATIC, "--open", status=2))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
