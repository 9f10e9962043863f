"""Reports held against golden files, byte for byte, in text and JSON: of the runs recorded on a GPU,
and of made traces that reach what the recorded ones do not.

goldens_test.py DRIVER MAKE_TRACE DATA_DIR GOLDEN_DIR. UPDATE_GOLDEN=1 in the environment writes the
golden files anew instead of comparing. A file has a line for each command, and behind it what that
wrote: of an order of rows, or of another width, only how it differs from the command before.
"""

import os
import subprocess
import sys
import tempfile
import unittest

from golden_text import WIDTH, Frames, difference, layout, parse, reordered

DRIVER, MAKE, DATA, GOLDEN = sys.argv[1:5]
PROFILES = {"h200-static": "h200.json", "h200-pytorch": "h200.json", "h200-shared-1.0": "h200-1.0.json"}
ORDERS = ("bytes", "count")


def analyze(folder, *arguments, columns=120):
    """What the command said, standard error and status included."""
    environment = dict(os.environ, COLUMNS=str(columns), LC_ALL="C.UTF-8", TZ="UTC")
    done = subprocess.run([DRIVER, "analyze", *arguments], capture_output=True, env=environment,
                          cwd=folder, timeout=120, check=False)
    said = "".join(f"stderr: {line}\n" for line in done.stderr.decode().splitlines())
    status = f"status: {done.returncode}\n" if done.returncode else ""
    return done.stdout.decode(), said + status


class Goldens(unittest.TestCase):
    maxDiff = None

    def golden(self, name, text):
        path = os.path.join(GOLDEN, name)
        if os.environ.get("UPDATE_GOLDEN") == "1":
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
        with open(path, encoding="utf-8") as file:
            self.assertEqual(file.read(), text)

    def text(self, folder, run, *options, widths=(120,), orders=ORDERS):
        """The report, at each width, and in the other orders at the last of them."""
        found, whole = "", ""
        for width in widths:
            whole, said = analyze(folder, run, *options, columns=width)
            found += f"$ analyze {' '.join((run, *options))}   # {width} columns\n{said}{whole}"
        for order in orders:
            sorted_so, said = analyze(folder, run, *options, "--sort", order, columns=widths[-1])
            found += f"$ analyze {' '.join((run, *options))} --sort {order}\n{said}"
            found += difference(whole, sorted_so)
        return found

    def json(self, folder, frames, run, *options, orders=ORDERS):
        """The report, and in the other orders the numbers of its rows, and what else differs."""
        text, said = analyze(folder, run, *options, "--format", "json")
        whole = parse(text)
        self.assertEqual(layout(whole, 0) + "\n", text)
        found = f"$ analyze {' '.join((run, *options))}\n{said}{layout(frames.replace(whole), WIDTH)}\n"
        for order in orders:
            text, again = analyze(folder, run, *options, "--format", "json", "--sort", order)
            self.assertEqual(again, said)
            sorted_so = parse(text)
            self.assertEqual(layout(sorted_so, 0) + "\n", text)
            rows, as_sorted = reordered(whole, sorted_so)
            shown = (layout(frames.replace(report), WIDTH) for report in (as_sorted, sorted_so))
            found += f"$ analyze {' '.join((run, *options))} --sort {order}\n"
            found += f"transfers: {' '.join(map(str, rows)) if rows else 'others'}; all else: {difference(*shown)}"
        return found

    # ---- recorded on a GPU ------------------------------------------------------------------

    def test_recorded(self):
        for name, profile in PROFILES.items():
            with self.subTest(name):
                run, with_profile = f"{name}.xft", ("--profile", profile)
                text = self.text(DATA, run, *with_profile, widths=(80, 200))
                self.golden(f"{name}.txt", text + self.text(DATA, run))
                frames = Frames()
                report = self.json(DATA, frames, run, *with_profile) + self.json(DATA, frames, run)
                self.golden(f"{name}.json.txt", report + frames.text())


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
