"""The whole of libxferscope.so under ThreadSanitizer: 64 threads that copy at once, stacks and device
times taken or not, buffers that are always full; no race, no copy lost, none torn.

Exits with 77 where ThreadSanitizer does not run."""
import shutil
import subprocess
import sys
import unittest

from illness import ILL, check_log, log_file, tries
from lab import Bench, SIMGPU, environment, run

RACE = 66
WHOLE = ILL / "libxferscope_tsan.so"
# The runtime of older compilers does not know all the places that addresses are drawn from.
FIXED = ["setarch", "-R"] if shutil.which("setarch") and run(["setarch", "-R", "true"]).returncode == 0 else []


class Whole(Bench):
    def setUp(self):
        super().setUp()
        # The loader's own lock is not seen: what it allocates for a library's name in one thread's
        # dlopen would be a race with another thread's dl_iterate_phdr, which that lock keeps apart.
        self.suppressions = self.folder / "tsan.supp"
        self.suppressions.write_text("called_from_lib:ld-linux-x86-64.so.2\n")

    def storm(self, threads, how, copies, finish_ms=600000, **settings):
        shutil.rmtree(self.folder / "run.xft", ignore_errors=True)
        self.log = log_file(self.folder)
        env = environment(
            LD_LIBRARY_PATH=str(SIMGPU), LD_PRELOAD=str(WHOLE),
            TSAN_OPTIONS=f"exitcode={RACE}:suppressions={self.suppressions}", XFERSCOPE_OUTPUT=str(self.folder / "run.xft"),
            XFERSCOPE_TEST_FINISH_MS=str(finish_ms), **settings,
        )
        command = [*FIXED, "env", f"LD_PRELOAD={WHOLE}", ILL / "storm_tsan", self.log, threads, how, copies]
        env.pop("LD_PRELOAD")  # env's program alone is built for it
        return run(command, cwd=self.folder, env=env)

    def check(self, result, status):
        said = result.stderr.decode()
        self.assertNotIn("ThreadSanitizer", said)
        self.assertEqual(result.returncode, status, said)

    def test_64_threads(self):
        done = 0
        for _ in range(tries(1, 10)):
            for stacks in "01":
                for buffer, content, timing in (("256M", "whole", "auto"), ("1K", "off", "event")):
                    settings = {
                        "XFERSCOPE_STACKS": stacks, "XFERSCOPE_BUFFER": buffer,
                        "XFERSCOPE_CONTENT": content, "XFERSCOPE_CONTENT_SHARE": "0", "XFERSCOPE_TIMING": timing,
                    }
                    self.check(self.storm(64, "done", 300, **settings), 0)
                    copies = check_log(self, self.folder / "run.xft", self.log, "exact", str(settings))
                    self.assertEqual(copies, 64 * 300)
                    done += 1
        print(f"{done} runs of 64 threads under ThreadSanitizer: no race, none lost, none torn", flush=True)

    def test_end_while_threads_copy(self):
        """The collector is waited for, or left behind at once, while it still works."""
        for how, status in (("exit", 4), ("return", 3)):
            for finish_ms in (600000, 1):
                self.check(self.storm(16, how, 500, finish_ms, XFERSCOPE_STACKS="1"), status)
                check_log(self, self.folder / "run.xft", self.log, "ended", how)


if __name__ == "__main__":
    probe = subprocess.run(
        [*FIXED, ILL / "storm_tsan"], env=environment(), stderr=subprocess.PIPE, check=False
    )
    if b"unexpected memory mapping" in probe.stderr:
        print("ThreadSanitizer does not run here")
        sys.exit(77)
    unittest.main()
