"""The completion for bash, zsh and fish, asked as the shell asks it, compared with what --help says and the
commands take."""
import json
import os
import pty
import shutil
import subprocess
import unittest
from pathlib import Path

from lab import BUILD, XFERSCOPE, Bench, run
from usage import commands_of, options_of, usage_of

COMPLETION = BUILD / "install" / "xferscope.bash"
RUN = Path(__file__).resolve().parents[1] / "data" / "h200-static.xft"
SITES = run([XFERSCOPE, "dump", "--sites", RUN]).stdout.decode().split()
PATH = f"{XFERSCOPE.parent}:{os.environ['PATH']}"
COMMANDS = list(commands_of(usage_of(XFERSCOPE)))
ASK = """
set -u
source "$1"; shift
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMP_LINE="$*" COMP_POINT=${#COMP_LINE}
_xferscope xferscope "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD-1]}"
printf '%s\\n' "${COMPREPLY[@]}"
"""


@unittest.skipUnless(shutil.which("bash"), "no bash")
class Completion(Bench):
    def ask(self, *words):
        done = subprocess.run(["bash", "--norc", "-c", ASK, "bash", COMPLETION, "xferscope", *map(str, words)],
                              cwd=self.folder, env=dict(os.environ, PATH=PATH), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.assertEqual(done.stderr, "", words)
        return sorted(filter(None, done.stdout.split("\n")))

    def test_is_registered(self):
        done = subprocess.run(["bash", "--norc", "-c", f"source '{COMPLETION}'; complete -p xferscope"],
                              stdout=subprocess.PIPE, text=True)
        self.assertEqual(done.stdout, "complete -F _xferscope xferscope\n")

    def test_commands(self):
        self.assertEqual(self.ask(""), sorted([*COMMANDS, "help", "--help", "--version"]))
        self.assertEqual(self.ask("help", ""), sorted(COMMANDS))
        for command in COMMANDS:
            self.assertIn(command, self.ask(command[:-1]))

    def test_options(self):
        for command in COMMANDS:
            options = options_of(usage_of(XFERSCOPE, command))
            names = {name for option in options for name in (option.name, option.short) if name}
            self.assertEqual(self.ask(command, "-"), sorted(names))
            for option in options:
                self.assertIn(option.name, self.ask(command, option.name[:-1]))

    def test_formats(self):
        """What is offered is taken: the trace is missing, and that is what the command tells. What is
        not offered is refused."""
        for command in COMMANDS:
            for option in options_of(usage_of(XFERSCOPE, command)):
                if option.name != "--format":
                    continue
                offered = self.ask(command, "--format", "")
                self.assertEqual(self.ask(command, "--format", "=", ""), offered)
                self.assertGreaterEqual(len(offered), 2, command)
                other = {"probe": ["--list"], "doctor": [], "export": ["missing.xft", "-o", "x"]}.get(command, ["missing.xft"])
                for value in offered:
                    done = run([XFERSCOPE, command, *other, "--format", value], cwd=self.folder)
                    self.assertIn(done.returncode, (0, 1), (command, value, done.stderr))
                done = run([XFERSCOPE, command, *other, "--format", "none-such"], cwd=self.folder)
                self.assertEqual(done.returncode, 2, command)

    def test_values(self):
        self.assertEqual(self.ask("record", "--timing", ""), ["auto", "cupti", "event", "host"])
        self.assertEqual(self.ask("record", "--timing", "=", "h"), ["host"])
        self.assertEqual(self.ask("record", "--content", "=", ""), ["auto", "off", "sampled", "whole"])
        self.assertEqual(self.ask("analyze", "-s", "b"), ["bytes"])
        self.assertEqual(self.ask("analyze", "--replay", "=", ""), ["run"])
        self.assertEqual(self.ask("dump", "-k", "mem"), ["memset"])
        self.assertEqual(self.ask("dump", "-k", "kernel,mem"), ["kernel,memset"])
        self.assertEqual(self.ask("record", "--stack-depth", ""), [])

    def test_call_sites_of_the_run(self):
        """Functions and files of the run that is named on the line; each finds something."""
        self.assertIn("upload_frame", SITES)
        self.assertIn("unoptimised.cu", SITES)
        self.assertEqual(self.ask("analyze", RUN, "--site", ""), sorted(SITES))
        self.assertEqual(sorted(set(SITES)), sorted(SITES))
        others = run([XFERSCOPE, "dump", "--sites", RUN.parent / "h200-pytorch.xft"]).stdout.decode().splitlines()
        self.assertIn("alloc_block", others)  # of a class, with arguments
        self.assertEqual([site for site in others if not site.replace(".", "").isidentifier()], [])
        self.assertEqual(self.ask("analyze", RUN, "--site", "=", "upl"), ["upload_frame", "upload_gains"])
        self.assertEqual(self.ask("analyze", "missing.xft", "--site", ""), [])
        for site in ("upload_frame", "unoptimised.cu"):
            shown = json.loads(run([XFERSCOPE, "analyze", RUN, "-f", "json", "--site", site]).stdout)
            self.assertTrue(shown["transfers"], site)

    def test_offered_values_are_taken(self):
        for option in options_of(usage_of(XFERSCOPE, "analyze")):
            for value in option.words():
                done = run([XFERSCOPE, "analyze", "missing.xft", f"{option.name}={value}"], cwd=self.folder)
                self.assertIn(done.returncode, (0, 1), (option.name, value, done.stderr))
        self.assertIn("H2D", self.ask("analyze", "--kind", ""))

    def test_files(self):
        for name in ("a run.xft", "other"):
            (self.folder / name).mkdir()
        for name in ("1-2.trace", "machine.json"):
            (self.folder / name).write_text("")
        self.assertEqual(self.ask("analyze", ""), ["1-2.trace", "a run.xft", "other"])
        self.assertEqual(self.ask("analyze", "-p", "m"), ["machine.json"])
        self.assertEqual(self.ask("analyze", "--profile", "=", "m"), ["machine.json"])
        self.assertEqual(self.ask("analyze", "-p", "machine.json", "a"), ["a run.xft"])

    def test_programs(self):
        self.assertIn("bash", self.ask("record", "bas"))
        self.assertIn("bash", self.ask("record", "--timing", "host", "--", "bas"))
        (self.folder / "train.py").write_text("")
        self.assertEqual(self.ask("record", "-o", "run", "python3", "tr"), ["train.py"])
        self.assertEqual(self.ask("record", "python3", "--ver"), [])  # not record's own options

    @unittest.skipUnless(shutil.which("shellcheck"), "no shellcheck")
    def test_shellcheck(self):
        done = run(["shellcheck", "-s", "bash", "-f", "json", COMPLETION])
        # The data's variables belong to the function that asks for them.
        self.assertEqual([m for m in json.loads(done.stdout) if m["code"] not in (2034, 2154)], [])


@unittest.skipUnless(shutil.which("fish"), "no fish")
class Fish(Bench):
    def setUp(self):
        super().setUp()
        homes = ("HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME")  # it makes them
        self.env = dict(os.environ, PATH=PATH, **{name: str(self.folder) for name in homes})

    def ask(self, line):
        script = f"source {BUILD}/install/xferscope.fish; complete -C '{line}'"
        done = subprocess.run(["fish", "--no-config", "-c", script], cwd=self.folder, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True, env=self.env)
        self.assertEqual((done.returncode, done.stderr), (0, ""), line)
        return sorted(offer.split("\t")[0] for offer in done.stdout.splitlines())

    def test_commands_and_options(self):
        self.assertEqual(self.ask("xferscope "), sorted([*COMMANDS, "help"]))
        self.assertEqual(self.ask("xferscope help "), sorted(COMMANDS))
        for command in COMMANDS:
            names = {option.name for option in options_of(usage_of(XFERSCOPE, command))}
            self.assertEqual(set(self.ask(f"xferscope {command} --")) & names, names, command)

    def test_values(self):
        self.assertEqual(self.ask("xferscope record --timing "), ["auto", "cupti", "event", "host"])
        self.assertEqual(self.ask("xferscope analyze -f j"), ["json"])
        self.assertEqual(self.ask(f"xferscope analyze {RUN} --site upl"), ["upload_frame", "upload_gains"])
        (self.folder / "machine.json").write_text("")
        self.assertEqual(self.ask("xferscope analyze -p mach"), ["machine.json"])
        (self.folder / "train.py").write_text("")
        self.assertIn("train.py", self.ask("xferscope record -o run python3 tr"))
        self.assertIn("bash", self.ask("xferscope run bas"))


@unittest.skipUnless(shutil.which("zsh"), "no zsh")
class Zsh(Bench):
    def type(self, line):
        """What a tab behind the line makes of it."""
        setup = (f"fpath=({BUILD}/install $fpath); autoload -U compinit; compinit -u -D; bindkey -e; PS1=; setopt noautomenu; "
                 "unsetopt zle_bracketed_paste prompt_cr prompt_sp; print READY")
        pid, terminal = pty.fork()
        if pid == 0:
            os.chdir(self.folder)
            os.execvpe("zsh", ["zsh", "-f", "-i"], dict(os.environ, PATH=PATH, TERM="dumb", HOME=str(self.folder)))
        text = b""

        def until(mark):
            nonlocal text
            while mark not in text:
                text += os.read(terminal, 4096)
            before, text = text.split(mark, 1)
            return before

        os.write(terminal, setup.encode() + b"\n")
        until(b"print READY")
        until(b"READY")
        os.write(terminal, line.encode() + b"\t\x01print -r -- '<\x05>'\n")
        until(b"\n<")
        made = until(b">")
        os.write(terminal, b"exit\n")
        os.close(terminal)
        os.waitpid(pid, 0)
        return made.decode().strip()

    def test_what_a_tab_makes_of_it(self):
        (self.folder / "machine.json").write_text("")
        (self.folder / "train.py").write_text("")
        for line, whole in (("xferscope anal", "xferscope analyze"),
                            ("xferscope help expo", "xferscope help export"),
                            ("xferscope record --no-sum", "xferscope record --no-summary"),
                            ("xferscope record --timing=cu", "xferscope record --timing=cupti"),
                            ("xferscope analyze -f mark", "xferscope analyze -f markdown"),
                            ("xferscope analyze -p mach", "xferscope analyze -p machine.json"),
                            (f"xferscope analyze {RUN} --site=upload_f", f"xferscope analyze {RUN} --site=upload_frame"),
                            ("xferscope record -o run python3 tra", "xferscope record -o run python3 train.py")):
            self.assertEqual(self.type(line), whole)


if __name__ == "__main__":
    unittest.main()
