"""Reports compared with golden files, byte for byte, in text and JSON: of the runs recorded on a GPU,
and of made traces that reach what the recorded ones do not.

goldens_test.py DRIVER MAKE_TRACE DATA_DIR GOLDEN_DIR. UPDATE_GOLDEN=1 in the environment writes the
golden files anew instead of comparing. A file has a line for each command, and behind it what that
wrote: of another order of rows, or of a run like the first one, only how it differs.
"""

import os
import re
import subprocess
import sys
import tempfile
import unicodedata
import unittest

from golden_text import WIDTH, Frames, difference, layout, parse, reordered, shorter

DRIVER, MAKE, DATA, GOLDEN = sys.argv[1:5]
PROFILES = {"h200-static": "h200.json", "h200-pytorch": "h200.json", "h200-shared-1.0": "h200-1.0.json"}
ORDERS = ("bytes", "count")
NARROW = 80
SCREEN = 34     # lines, with warnings
FOOT = "modelled, the replay is|the set was played|not modelled"
# What rounding leaves of an error that is none: another libm leaves something else.
NOISE = (r'("achievable_error": )\d\.\d+e-1[5-9]', r"\g<1>0.0")
# How well zstd packs is its own affair: sizes, places and what was not worth packing.
PACKED = ((r"\b(bytes|at|stored)=\d+(?= (version|stored|raw)=)", r"\1=N"),
          (r'"(bytes|at|stored_bytes)":\d+(?=,"(version_major|stored_bytes|raw_bytes)")', r'"\1":"N"'),
          (r'(?m) zstd$|,"zstd":(true|false)', ""))


def command(verb, folder, *arguments, columns=120):
    """What the command said, standard error and status included."""
    environment = dict(os.environ, COLUMNS=str(columns), LC_ALL="C.UTF-8", TZ="UTC")
    done = subprocess.run([DRIVER, verb, *arguments], capture_output=True, env=environment,
                          cwd=folder, timeout=120, check=False)
    said = "".join(f"stderr: {line}\n" for line in done.stderr.decode().splitlines())
    status = f"status: {done.returncode}\n" if done.returncode else ""
    return done.stdout.decode(), said + status


def analyze(folder, *arguments, **more):
    return command("analyze", folder, *arguments, **more)


def columns_of(character):
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


class Goldens(unittest.TestCase):
    maxDiff = None

    def golden(self, name, text):
        path = os.path.join(GOLDEN, name)
        if os.environ.get("UPDATE_GOLDEN") == "1":
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
        with open(path, encoding="utf-8") as file:
            self.assertEqual(file.read(), text)

    def fits(self, folder, *arguments):
        """No line is wider than the terminal, whatever the names; the answer is on the first screen."""
        text, _ = analyze(folder, *arguments, columns=NARROW)
        lines = text.splitlines()
        for line in lines:
            self.assertLessEqual(sum(map(columns_of, line)), NARROW, line)
        self.assertLess(min(n for n, line in enumerate(lines) if re.match(FOOT, line)), SCREEN)

    def text(self, folder, run, *options, widths=(120,), orders=ORDERS):
        """The report, at each width, and in the other orders at the last of them."""
        self.fits(folder, run, *options)
        found, whole = "", ""
        for width in widths:
            whole, said = analyze(folder, run, *options, columns=width)
            found += f"$ analyze {' '.join((run, *options))}   # {width} columns\n{said}{whole}"
        for order in orders:
            sorted_so, said = analyze(folder, run, *options, "--sort", order, columns=widths[-1])
            found += f"$ analyze {' '.join((run, *options))} --sort {order}\n{said}"
            found += difference(whole, sorted_so)
        return found

    def json_report(self, folder, *arguments):
        text, said = analyze(folder, *arguments, "--format", "json")
        self.assertEqual(layout(parse(text), 0) + "\n", text)
        return parse(re.sub(*NOISE, text)), said

    def json(self, folder, run, *options, like=(), orders=ORDERS):
        """The report, and in the other orders the numbers of its rows, and what else differs; then runs
        like this one, by what differs."""
        frames = Frames()

        def shown(report):
            return layout(frames.replace(report), WIDTH) + "\n"

        whole, said = self.json_report(folder, run, *options)
        found = f"$ analyze {' '.join((run, *options))}\n{said}{shown(whole)}"
        for order in orders:
            sorted_so, again = self.json_report(folder, run, *options, "--sort", order)
            self.assertEqual(again, said)
            rows, as_sorted = reordered(whole, sorted_so)
            found += f"$ analyze {' '.join((run, *options))} --sort {order}\n"
            found += f"transfers: {' '.join(map(str, rows)) if rows else 'others'}; all else: "
            found += difference(shown(as_sorted), shown(sorted_so))
        for other in like:
            report, said = self.json_report(folder, *other)
            found += f"$ analyze {' '.join(other)}\n{said}{shorter(shown(whole), shown(report))}"
        return found + frames.text()

    # ---- recorded on a GPU ------------------------------------------------------------------

    def test_recorded(self):
        for name, profile in PROFILES.items():
            with self.subTest(name):
                run, with_profile = f"{name}.xft", ("--profile", profile)
                text = self.text(DATA, run, *with_profile, widths=(80, 200))
                self.golden(f"{name}.txt", text + self.text(DATA, run))
                self.golden(f"{name}.json.txt", self.json(DATA, run, *with_profile, like=[(run,)]))

    # ---- made -------------------------------------------------------------------------------

    def make(self, path, scenario, variant=""):
        path = os.path.join(self.folder.name, path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        subprocess.run([MAKE, scenario, path, variant], check=True)

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="xferscope-")
        self.addCleanup(self.folder.cleanup)
        for profile in ("machine", "other", "simulated", "hostile"):
            self.make(f"{profile}.json", "profile", profile)

    def made(self, name, first, *like, json_like=(), **more):
        """Runs in one file, each a path and options: the first whole, others by what differs."""
        whole, _ = analyze(self.folder.name, *first, columns=more.get("widths", (120,))[-1])
        text = self.text(self.folder.name, *first, **more)
        for run in like:
            report, said = analyze(self.folder.name, *run, columns=more.get("widths", (120,))[-1])
            text += f"$ analyze {' '.join(run)}\n{said}{shorter(whole, report)}"
        self.golden(f"{name}.txt", text)
        more.pop("widths", None)
        self.golden(f"{name}.json.txt", self.json(self.folder.name, *first, like=json_like, **more))

    def test_findings(self):
        self.make("findings.trace", "findings")
        run = ("findings.trace", "-p", "machine.json")
        self.made("findings", run, (*run, "--top", "3"), run[:1])
        whole, top = (self.json_report(self.folder.name, *run, "--top", n)[0] for n in ("0", "2"))
        self.assertEqual(top, dict(whole, **{'"transfers"': whole['"transfers"'][:2]}))

    def test_contents(self):
        runs = []
        for variant in ("whole", "sampled", "killed", "simulated", "refused"):
            self.make(f"{variant}.trace", "contents", variant)
            runs.append((f"{variant}.trace", "-p", "machine.json"))
        self.made("contents", *runs, json_like=runs[4:])

    def test_more_contents_than_are_compared(self):
        self.make("many.trace", "many-contents")
        self.golden("many-contents.txt", self.text(self.folder.name, "many.trace", orders=()))

    def test_phases(self):
        self.make("phases.trace", "phases")
        self.make("deep.trace", "phases", "too-deep")
        run = ("phases.trace", "-p", "machine.json")
        self.made("phases", (*run, "-n", "0"), (*run, "-n", "2"), run[:1], widths=(100,))
        self.golden("phases-deep.txt", self.text(self.folder.name, "deep.trace", orders=()))

    def test_managed(self):
        for variant in ("threads", "one-thread", "crowded"):
            self.make(f"{variant}.trace", "managed", variant)
        self.make("two.xft/1-1.trace", "managed", "threads")
        self.make("two.xft/2-2.trace", "managed", "off")
        self.make("three.xft/1-1.trace", "managed", "one-thread")
        self.make("three.xft/2-2.trace", "managed", "refused")
        runs = [("one-thread.trace",), ("threads.trace", "-n", "1"), ("two.xft",), ("three.xft",),
                ("crowded.trace",)]
        self.made("managed", *runs, json_like=runs[3:], widths=(80, 200), orders=())

    def test_several_gpus(self):
        self.make("gpus.trace", "gpus")
        self.made("gpus", ("gpus.trace", "-p", "machine.json"))

    def test_several_processes(self):
        for i in range(8):
            self.make(f"eight.xft/{5000 + i}-1.trace", "process", str(i))
        with open(os.path.join(self.folder.name, "eight.xft/6000-1.trace"), "w", encoding="ascii"):
            pass
        six = tuple(f"eight.xft/{5000 + i}-1.trace" for i in range(6))
        self.made("processes", ("eight.xft",), six)

    def test_many_files_that_say_the_same(self):
        """Some of each kind, and how many more."""
        for i in range(11):
            self.make(f"many.xft/{5000 + i}-1.trace", "process", "3")
            self.make(f"many.xft/{6000 + i}-1.trace", "lossy", "events")
        for i in range(13):
            with open(os.path.join(self.folder.name, f"many.xft/{7000 + i}-1.trace"), "w", encoding="ascii"):
                pass
        whole, _ = analyze(self.folder.name, "many.xft")
        every, _ = analyze(self.folder.name, "many.xft", "-n", "0")
        self.golden("many-files.txt", f"$ analyze many.xft\n{whole}$ analyze many.xft -n 0\n" +
                    difference(whole, every))

    def test_several_hosts(self):
        for i in range(3):
            self.make(f"ranks.xft/{6000 + i}-1.trace", "rank", str(i))
        run = ("ranks.xft",)
        self.made("ranks", run, (*run, "-n", "0"), (*run, "-n", "3"), orders=())

    def test_messages(self):
        for i in range(4):
            self.make(f"exchange.xft/{6000 + i}-1.trace", "exchange", str(i))
        self.make("network.json", "profile", "network")
        run = ("exchange.xft",)
        self.made("messages", run, (*run, "-p", "network.json"), orders=())

    def test_what_is_not_known(self):
        self.make("nameless.trace", "nameless")
        self.make("nothing.trace", "nameless", "nothing")
        self.make("older.trace", "format", "1")
        runs = [("nameless.trace",), ("nothing.trace", "-p", "machine.json"),
                ("older.trace", "-p", "other.json")]
        self.made("nameless", *runs, json_like=runs[1:2], orders=())

    def test_losses(self):
        runs = [("mixed.trace",)]
        self.make("mixed.trace", "mixed")
        for what in ("events", "stacks", "times", "damage"):
            self.make(f"{what}.trace", "lossy", what)
            runs.append((f"{what}.trace",))
        self.made("losses", *runs, json_like=runs[1:], orders=())

    def test_profiles(self):
        for name in ("mixed", "killed", "simulated"):
            self.make(f"{name}.trace", name)
        with open(os.path.join(self.folder.name, "ill.json"), "w", encoding="ascii") as file:
            file.write("{]")
        profiles = ("machine", "other", "simulated", "ill", "missing")
        runs = [("mixed.trace", "-p", f"{profile}.json") for profile in profiles]
        runs.append(("killed.trace", "-p", "machine.json"))
        runs.append(("simulated.trace", "-p", "simulated.json"))
        self.made("profiles", *runs, json_like=runs[1:2] + runs[3:4])

    def test_dump(self):
        self.make("kinds.trace", "kinds")
        text = "".join(command("dump", self.folder.name, "kinds.trace", "-f", form)[0]
                       for form in ("text", "json"))
        for rule in PACKED:
            text = re.sub(*rule, text)
        self.golden("dump-kinds.txt", text)

    def test_hostile(self):
        self.make("hostile.xft/\x1b[2J\n1-1.trace", "hostile")
        self.made("hostile", ("hostile.xft", "-p", "hostile.json"), widths=(400,), orders=())


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
