"""The completion for bash, asked as the shell asks it, held against what --help says and the commands
take."""
import json
import shutil
import subprocess
import unittest

from lab import BUILD, XFERSCOPE, Bench, run
from usage import commands_of, options_of, usage_of

COMPLETION = BUILD / "install" / "xferscope.bash"
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
        done = subprocess.run(["bash", "--norc", "-c", ASK, "bash", COMPLETION, "xferscope", *words], cwd=self.folder,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
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
        self.assertEqual(self.ask("record", "--content", "=", ""), ["sampled", "whole"])
        self.assertEqual(self.ask("analyze", "-s", "b"), ["bytes"])
        self.assertEqual(self.ask("analyze", "--replay", "=", ""), ["run"])
        self.assertEqual(self.ask("dump", "-k", "mem"), ["memset"])
        self.assertEqual(self.ask("dump", "-k", "kernel,mem"), ["kernel,memset"])
        self.assertEqual(self.ask("record", "--stack-depth", ""), [])

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


if __name__ == "__main__":
    unittest.main()
