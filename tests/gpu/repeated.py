"""A program whose main() is repeated in one process (repeated.c), and what it said in each round."""
import argparse
import contextlib
import functools
import os
import re
import shlex
import signal
import subprocess
import tempfile
from pathlib import Path

MARK = re.compile(r"\n\x1erepeated (-?\d+)\n")
OURS = re.compile(r"^xferscope.*\n?", re.MULTILINE)


class Run:
    """One process: `status` (None: ended after the limit), `out` and `err` by round (what follows the last round is the last
    of them), `statuses` and `seconds` of each whole round, `without` (whether all was passed on in it, where it was by
    turns), and `said`, what xferscope itself said."""

    def __init__(self, status, out, err, rounds):
        self.status, self.out = status, MARK.split(out)[::2]
        self.statuses, self.seconds = [each[0] for each in rounds], [each[1] / 1e9 for each in rounds]
        self.without = [bool(each[2]) for each in rounds if len(each) > 2]
        self.said = "".join(OURS.findall(err))
        self.err = MARK.split(OURS.sub("", err))[::2]


def library(build):
    return build.resolve() / "lib" / "librepeated.so"


@functools.lru_cache(maxsize=None)
def files_of(folder):
    """What stood there before the first run."""
    return [path.resolve() for path in folder.iterdir()]


@contextlib.contextmanager
def own_folder(folder):
    """A folder with links to what `folder` had at first: files that a program writes are not read by another that runs beside it."""
    with tempfile.TemporaryDirectory() as own:
        for path in files_of(folder):
            (Path(own) / path.name).symlink_to(path)
        yield own


def run(command, folder, limit, before=(), env=(), rounds=1, repeater=None):
    """Runs `command` (as a shell takes it) behind the words `before`; with `repeater` (repeated.c's library) its main() `rounds` times.
    It runs in a folder of its own, with what `folder` has. A Python script repeats by itself (repeated_steps.py)."""
    words, settings = shlex.split(command), {**os.environ, **dict(env)}
    with own_folder(folder) as own, tempfile.NamedTemporaryFile() as times:
        if repeater:
            settings.update(REPEATED_PROGRAM=words[0], REPEATED_ROUNDS=str(rounds), REPEATED_TIMES=times.name)
            if words[0] != "python3":
                settings.update(LD_PRELOAD=str(repeater))
        process = subprocess.Popen([*before, *words], cwd=own, env=settings, start_new_session=True, text=True,
                                   errors="replace", stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        try:
            out, err = process.communicate(timeout=limit)
            status = process.returncode
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            out, err = process.communicate()
            status = None
        lines = Path(times.name).read_text().splitlines()
    return Run(status, out, err, [tuple(map(int, line.split())) for line in lines])


def rounds_for(first, longest, most):
    """How many rounds of a program fit into `longest` seconds, `first` being a Run of two; 1 where it cannot be repeated."""
    if first.status or len(first.seconds) < 2:
        return 1
    return max(2, min(most, int(longest / max(first.seconds[1], 1e-6))))


def parser(description, rounds, limit):
    """What the scripts that run foreign programs so have in common; the defaults of two of them are the caller's
    (`rounds` None: it has no --repeat)."""
    made = argparse.ArgumentParser(description=description.splitlines()[0])
    made.add_argument("build", type=Path)
    made.add_argument("out", type=Path)
    made.add_argument("commands", type=Path)
    if rounds:
        made.add_argument("--repeat", type=int, default=rounds, metavar="N", help="times that main() runs in a process")
    made.add_argument("--longest", type=float, default=3, metavar="S", help="for these times together")
    made.add_argument("--seconds", type=float, default=3600)
    made.add_argument("--limit", type=float, default=limit, metavar="S", help="for each process")
    made.add_argument("--first", type=float, default=8, metavar="S", help="longest first run of a program that is tried")
    return made


def parsed(made):
    """Its arguments, with `tool` of that build; `out` is there."""
    arguments = made.parse_args()
    arguments.tool = str(arguments.build.resolve() / "bin" / "xferscope")
    arguments.out.mkdir(parents=True, exist_ok=True)
    return arguments
