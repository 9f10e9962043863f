#!/usr/bin/env python3
"""Runs programs bare, recorded with next to nothing, and recorded by default, in turn.

usage: tests/gpu/programs.py BUILD OUT COMMANDS [options]

COMMANDS is a file with one program a line: a name, a colon, a command as a shell takes it; the part of the
name before a slash is its collection. Empty lines and #comments are left out. Commands run in the folder of
COMMANDS. Each is run once to begin with, several at a time (--screen): one that fails or takes longer than
--limit is left out, with the reason. The others then run in rounds, one at a time, the shorter ones first
(with --screen 0 all of them, as COMMANDS has them), and no more once a run failed or took too long, each by
these ways (--ways; one may stand there twice; of rounds that differ, a slash between them):

  bare      as it is: the time of the whole process is measured
  light     without stacks, device times, kernels and arguments, so that CUPTI is not there; what remains,
            some 100 ns a call, the trace itself tells and the replay takes out: the unrecorded span
  recorded  xferscope record with its default settings
  budget    the same with --budget 2
  host      the same with --timing host: no records of CUPTI's
  applied   xferscope apply: nothing is recorded
  applied-light   the light way, with the advice carried out at the same time

What is applied is tuned by the profile of XFERSCOPE_PROFILE, as always.

Rounds end after --rounds, or after --seconds in the middle of one (with a slash between them: each round's
own; the next begins with the first program again). OUT/runs.tsv has a line for each run (name,
way, number, seconds of the whole process, exit status, trace, the program's own figure), written as it ends; OUT/programs.json has the
programs with why any was left out. programs_table.py and programs_cost.py make the tables of it. The own
figure is the number in --figure's first group, of the last line of output that matches: what the program
says that its region took.

Exit status: 0 measured; 1 nothing was; 2 wrong usage.
"""
import argparse
import concurrent.futures
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

LIGHT = {"XFERSCOPE_TIMING": "host", "XFERSCOPE_KERNELS": "0", "XFERSCOPE_STACKS": "0",
         "XFERSCOPE_ARGUMENTS": "0", "XFERSCOPE_MANAGED": "0", "XFERSCOPE_NVTX": "0"}
OPTIONS = {"light": [], "recorded": [], "budget": ["--budget", "2"], "host": ["--timing", "host"], "applied-light": []}
ALONE = ("bare", "applied")  # nothing is recorded
WAYS = "bare,light,recorded"  # when none are named
AFTER_SCREEN_S = 5  # more than --limit, of one that kept to it
KEYS = ("name", "way", "number", "seconds", "status", "trace", "figure")  # of a line of runs.tsv
LINE = re.compile(r"([^\s:]+):\s+(\S.*)")


def runs_of(out):
    """The runs so far, each line's words by KEYS; for the scripts that make tables of them."""
    lines = [line.rstrip("\n").split("\t") for line in (out / "runs.tsv").open()]
    return [dict(zip(KEYS, line)) for line in lines if len(line) == len(KEYS)]


def table_parser(doc):
    """Of a script that makes a table of the runs."""
    parser = argparse.ArgumentParser(description=doc.splitlines()[0])
    parser.add_argument("build", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("profile", type=lambda path: str(Path(path).resolve()))
    parser.add_argument("--page", type=Path, metavar="FILE")
    return parser


def tool_of(arguments):
    return str(arguments.build.resolve() / "bin" / "xferscope")


def write_table(arguments, head, rows, lines):
    """Prints it with the lines below it, and writes --page."""
    text = "\n".join([head, *rows, "", *(f"- {line}" for line in lines), ""])
    print(text, end="")
    if arguments.page:
        arguments.page.write_text(text)


def programs_of(file):
    """The programs of a file of commands, in its order."""
    found = []
    for number, line in enumerate(file.read_text().splitlines(), 1):
        line = line.strip()
        if not line or line.startswith("#"):
            continue
        match = LINE.fullmatch(line)
        try:
            shlex.split(match[2])
        except (TypeError, ValueError):
            print(f"{file}:{number}: not NAME: COMMAND", file=sys.stderr)
            sys.exit(2)
        found.append({"name": match[1], "command": match[2], "problem": None})
    return found


def run(command, folder, limit, env, output=subprocess.DEVNULL):
    """(seconds, exit status); status None: it was ended after the limit, 127: it could not be started."""
    start = time.monotonic()
    try:
        process = subprocess.Popen(command, cwd=folder, env=env, start_new_session=True, stdin=subprocess.DEVNULL,
                                   stdout=output, stderr=output)
    except OSError:
        return 0, 127
    late = threading.Event()

    def end():
        late.set()
        os.killpg(process.pid, signal.SIGKILL)

    timer = threading.Timer(limit, end)  # wait(timeout) would look only every 50 ms
    timer.start()
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    seconds = time.monotonic() - start
    timer.cancel()
    timer.join()  # the group's number is not free before process.wait()
    status = process.wait()
    return seconds, None if late.is_set() else status


def screen(programs, folder, arguments):
    """Leaves out what does not work here; all of them have run once then."""
    def once(program):
        seconds, status = run(shlex.split(program["command"]), folder, arguments.limit, os.environ)
        program["first_s"] = round(seconds, 3)
        if status is None:
            program["problem"] = f"takes longer than {arguments.limit:g} s"
        elif status:
            program["problem"] = f"exit status {status}"

    with concurrent.futures.ThreadPoolExecutor(arguments.screen) as pool:
        list(pool.map(once, programs))


def own_figure(arguments, output):
    """What a program says of itself, or nothing."""
    if not arguments.figure:
        return ""
    output.seek(0)
    found = arguments.figure.findall(output.read().decode(errors="replace"))
    return found[-1] if found else ""


def one_way(program, way, number, folder, arguments):
    """One run: a line of runs.tsv."""
    command, env, trace = shlex.split(program["command"]), dict(os.environ), ""
    if way == "applied":
        command = [arguments.tool, "apply", "--quiet", "--", *command]
    elif way != "bare":
        trace = f"{program['name'].replace('/', '-')}.{way}{number}.xft"
        command = [arguments.tool, "record", "--quiet", "-o", str(arguments.out / trace), *OPTIONS[way], "--", *command]
    if way in ("light", "applied-light"):
        env.update(LIGHT)
    if way == "applied-light":
        env["XFERSCOPE_APPLY"] = "on"
    with tempfile.TemporaryFile() as output:
        limit = arguments.limit + (AFTER_SCREEN_S if arguments.screen else 0)
        seconds, status = run(command, folder, limit, env,
                              output if arguments.figure else subprocess.DEVNULL)
        return [program["name"], way, str(number), f"{seconds:.4f}", str(status), trace, own_figure(arguments, output)]


def ways_of(program, round_, place, arguments):
    """Of one program in one round: it begins with another one each time."""
    ways = arguments.ways[round_ % len(arguments.ways)]
    ways = [way for way in ways if way != "bare" or arguments.bare.search(program["name"])]
    turn = (round_ + place) % len(ways) if ways else 0
    return ways[turn:] + ways[:turn]


def one_round(programs, round_, first, end, folder, arguments, file):
    """How many runs there were; the first one's number, and when no other one begins."""
    count = 0
    for place, program in enumerate(programs):
        for way in ways_of(program, round_, place, arguments):
            if time.monotonic() > end:
                return count
            if program["problem"]:
                break
            line = one_way(program, way, first + count, folder, arguments)
            print(*line, sep="\t", file=file, flush=True)
            count += 1
            if line[4] == "None":
                program["problem"] = f"takes longer than {arguments.limit:g} s"
            elif line[4] != "0":
                program["problem"] = f"exit status {line[4]} in some runs"
    return count


def rounds(programs, folder, arguments, file):
    """How many runs there were."""
    end, count = 0, 0
    for round_ in range(arguments.rounds):
        if round_ < len(arguments.seconds):
            end = time.monotonic() + arguments.seconds[round_]
        count += one_round(programs, round_, count + 1, end, folder, arguments, file)
    return count


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("commands", type=Path)
    parser.add_argument("--rounds", type=int, default=3, metavar="N")
    parser.add_argument("--seconds", type=lambda text: [float(word) for word in text.split("/")], default=[3600.0],
                        metavar="S[/S...]", help="for the rounds")
    parser.add_argument("--limit", type=float, default=15, metavar="S", help="for each run")
    parser.add_argument("--screen", type=int, default=4, metavar="N", help="first runs at a time; 0: none")
    parser.add_argument("--ways", type=lambda text: [words.split(",") for words in text.split("/")], default=WAYS,
                        metavar="WAY,...[/WAY,...]")
    parser.add_argument("--bare", type=re.compile, default=re.compile(""), metavar="REGEX",
                        help="names of the programs that are run bare, too (default: all)")
    parser.add_argument("--figure", type=re.compile, metavar="REGEX", help="the number that a program says")
    arguments = parser.parse_args()
    if not set(sum(arguments.ways, [])) <= {*ALONE, *OPTIONS} or arguments.rounds < 1 or arguments.screen < 0:
        parser.error(f"--ways: of {', '.join([*ALONE, *OPTIONS])}; --rounds: 1 at least; --screen: 0 at least")
    if arguments.figure and arguments.figure.groups != 1:
        parser.error("--figure: one group")
    arguments.tool = tool_of(arguments)
    arguments.out = arguments.out.resolve()
    return arguments


def main():
    arguments = parse_arguments()
    programs, folder = programs_of(arguments.commands), arguments.commands.resolve().parent
    arguments.out.mkdir(parents=True, exist_ok=True)
    working = programs
    if arguments.screen:
        screen(programs, folder, arguments)
        working = [program for program in programs if not program["problem"]]
        working.sort(key=lambda program: program["first_s"])
        print(f"{len(working)} of {len(programs)} programs work here", flush=True)
    try:
        with (arguments.out / "runs.tsv").open("w") as file:
            count = rounds(working, folder, arguments, file)
    finally:  # also when it is ended in the middle
        (arguments.out / "programs.json").write_text(json.dumps(programs, indent=1) + "\n")
    print(f"{count} runs")
    return not count


if __name__ == "__main__":
    sys.exit(main())
