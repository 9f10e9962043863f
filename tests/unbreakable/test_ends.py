"""Whenever and however a process ends: every copy whose call had returned is in its trace, and every
trace reads. XFERSCOPE_LONG_TESTS=1: 500 tries instead of 100; XFERSCOPE_SEED names another course."""
import os
import random
import re
import shutil
import signal
import subprocess
import time
import unittest

from illness import ILL, SIMGPU, check_log, preload_environment, processes, log_file, tries
from lab import Bench, run

SEED = int(os.environ.get("XFERSCOPE_SEED", "4"))
OWN_ENDS = {  # how: status, and what the trace is compared with
    "return": (3, "ended"),
    "exit": (4, "ended"),
    "_exit": (5, "killed"),
    "abort": (-signal.SIGABRT, "killed"),
    "segv": (-signal.SIGSEGV, "killed"),
    "kill": (-signal.SIGKILL, "killed"),
}
FROM_OUTSIDE = (signal.SIGKILL, signal.SIGSEGV, signal.SIGABRT, signal.SIGTERM)


class Ends(Bench):
    def start(self, threads, how, copies, **settings):
        shutil.rmtree(self.folder / "run.xft", ignore_errors=True)
        self.log = log_file(self.folder)
        env = preload_environment(
            XFERSCOPE_OUTPUT=str(self.folder / "run.xft"), XFERSCOPE_SYMBOLS="0", **settings
        )
        return subprocess.Popen(
            [ILL / "storm", self.log, str(threads), how, str(copies)],
            env=env, cwd=self.folder, stdout=subprocess.DEVNULL,
        )

    def has_begun(self):
        """At least one copy has returned: before, there may be no trace yet."""
        return any(self.log.read_bytes()[64 * 8 :])

    @staticmethod
    def throw(dice):
        """What the recorder does in addition to counting copies."""
        return {
            "XFERSCOPE_STACKS": dice.choice("01"),
            "XFERSCOPE_CONTENT": dice.choice(("off", "off", "sampled", "whole")),
            "XFERSCOPE_CONTENT_SHARE": dice.choice("05"),
            "XFERSCOPE_TIMING": dice.choice(("auto", "host", "event")),
        }

    def kill_from_outside(self, dice):
        process = self.start(dice.randint(1, 6), "wait", 0, **self.throw(dice))
        while not self.has_begun():
            self.assertIsNone(process.poll())
            time.sleep(0.0005)
        time.sleep(dice.random() * 0.02)
        number = dice.choice(FROM_OUTSIDE)
        process.send_signal(number)
        self.assertEqual(process.wait(), -number)
        return f"signal {number}", "killed"

    def end_by_itself(self, dice):
        how = dice.choice(sorted(OWN_ENDS))
        copies = int(10 ** dice.uniform(0, 4.2))
        buffer = dice.choice(("256M", "1K"))
        settings = {"XFERSCOPE_BUFFER": buffer, **self.throw(dice)}
        process = self.start(dice.randint(1, 6), how, copies, **settings)
        status, against = OWN_ENDS[how]
        self.assertEqual(process.wait(), status)
        return f"{how} after {copies}, buffer {buffer}", against

    def test_random_moments(self):
        dice = random.Random(SEED)
        rounds, copies = tries(100, 500), 0
        for number in range(rounds):
            end = self.kill_from_outside if number % 2 else self.end_by_itself
            what, against = end(dice)
            copies += check_log(
                self, self.folder / "run.xft", self.log, against, f"try {number}: {what}"
            )
        print(f"{rounds} tries, {copies} copies, none missing", flush=True)

    def test_64_threads(self):
        rounds = tries(2, 20)
        for number in range(rounds):
            buffer = ("256M", "1K")[number % 2]
            process = self.start(64, "done", 3000, XFERSCOPE_BUFFER=buffer)
            self.assertEqual(process.wait(), 0)
            copies = check_log(self, self.folder / "run.xft", self.log, "exact", buffer)
            self.assertEqual(copies, 64 * 3000)
        print(f"{rounds} tries, 64 threads, 3000 copies each: none lost, none torn", flush=True)

    def test_signals_inside_hooks(self):
        rounds, handled = tries(5, 50), 0
        for number in range(rounds):
            fakes = f"{ILL / 'fake_cudart'}"
            process = self.start(
                1, "alarm", 300000, LD_LIBRARY_PATH=f"{fakes}:{SIMGPU}", XFERSCOPE_STACKS="1"
            )
            self.assertEqual(process.wait(), 0)
            copies = check_log(self, self.folder / "run.xft", self.log, "exact", "alarm")
            self.assertEqual(copies, 300000)
            handled += int.from_bytes(self.log.read_bytes()[128 * 8 :], "little")
        self.assertGreater(handled, 0)
        print(f"{rounds} tries, 300000 copies each, {handled} signals in all", flush=True)

    def test_jumps_out_of_hooks(self):
        """What comes after is recorded; the calls that were left are counted."""
        for stack in ("stack", "alternate"):
            with self.subTest(stack):
                env = preload_environment(XFERSCOPE_OUTPUT=str(self.folder / f"{stack}.xft"),
                                          LD_LIBRARY_PATH=f"{ILL / 'fake_cudart'}:{SIMGPU}")
                result = run([ILL / "jump", stack], env=env)
                self.assertEqual((result.returncode, result.stderr), (0, b""))
                ended, left = map(int, re.fullmatch(rb"(\d+) ended, (\d+) left\n", result.stdout).groups())
                self.assertGreater(left, 0)
                document = processes(self.folder / f"{stack}.xft")
                losses = document["run"]["processes"][0]["losses"]
                self.assertEqual((sum(row["copies"] for row in document["transfers"]), losses["events_not_stored"]),
                                 (ended, left))


if __name__ == "__main__":
    unittest.main()
