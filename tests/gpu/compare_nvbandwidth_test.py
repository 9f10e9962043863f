#!/usr/bin/env python3
"""compare_nvbandwidth.sh with stand-ins for both programs: it must see what differs."""
import json
import os
import subprocess
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
SCRIPT = os.path.join(HERE, "compare_nvbandwidth.sh")
SIZE = 64 << 20

# Two GPUs' figures as nvbandwidth prints them: strings, "N/A" where there is none.
PEER = {
    "host_to_device_memcpy_ce": [["55.35", "50"]],
    "device_to_host_memcpy_ce": [["55.35", "50"]],
    "host_to_device_bidirectional_memcpy_ce": [["45.4", "44"]],
    "device_to_host_bidirectional_memcpy_ce": [["45.4", "44"]],
    "device_local_copy": [["2000", "2010"]],
    "device_to_device_memcpy_read_ce": [["N/A", "394"], ["380", "N/A"]],
    "device_to_device_memcpy_write_ce": [["N/A", "381"], ["393", "N/A"]],
}


def own(fast=55.3):
    """GB/s by benchmark: two nodes, of which the nearer counts."""
    figures = {"copy/peer/p2p/gpu0-gpu1": 381, "copy/peer/p2p/gpu1-gpu0": 393.5,
               "copy/device/d2d/gpu0": 2000, "copy/device/d2d/gpu1": 2000}
    for way in ("h2d", "d2h"):
        figures[f"copy/pinned/{way}/node0-gpu0"] = fast
        figures[f"copy/pinned/{way}/node1-gpu0"] = 31.5
        figures[f"copy/pinned/{way}/node0-gpu1"] = 31
        figures[f"copy/pinned/{way}/node1-gpu1"] = 50.1
        figures[f"copy-both-ways/pinned/{way}/node0-gpu0"] = 45.5
        figures[f"copy-both-ways/pinned/{way}/node1-gpu1"] = 43.9
    return figures


def profile(figures):
    paths = [{"name": name, "points": [{"bytes": SIZE, "n": 20, "median_ns": SIZE / gbps,
                                        "ci_low_ns": SIZE / gbps, "ci_high_ns": SIZE / gbps}]}
             for name, gbps in figures.items()]
    return json.dumps({"paths": paths})


def peer(figures):
    tests = [{"name": name, "status": "Passed", "bandwidth_matrix": matrix} for name, matrix in figures.items()]
    tests.append({"name": "waived_test", "status": "Waived"})
    return "a line before\n" + json.dumps({"nvbandwidth": {"git_version": "v9", "testcases": tests}})


def script(check, text, last):
    """A program that insists on its arguments and prints, or writes to its last argument."""
    return f"#!/bin/sh\ncase \"$*\" in {check}) ;; *) exit 9 ;; esac\ncat <<'END' {last}\n{text}\nEND\n"


class Compare(unittest.TestCase):
    def run_script(self, own_profile, peer_text):
        programs = {"nvbandwidth": script('"--json -b 64 -t host_to_device"*', peer_text, ""),
                    "bin/xferscope": script('probe*"--sizes 64M:64M"*-o*', own_profile,
                                            '>"$(for last; do :; done; echo "$last")"')}
        with tempfile.TemporaryDirectory() as folder:
            os.makedirs(os.path.join(folder, "bin"))
            for name, text in programs.items():
                path = os.path.join(folder, name)
                with open(path, "w", encoding="utf-8") as file:
                    file.write(text)
                os.chmod(path, 0o755)
            return subprocess.run([SCRIPT, os.path.join(folder, "nvbandwidth"), folder, "3", "64"],
                                  capture_output=True, text=True, check=False)

    def rows(self, done):
        lines = [line for line in done.stdout.splitlines() if line.startswith("| ")][1:]
        return {line.split(" | ")[0][2:]: line for line in lines}

    def test_alike(self):
        done = self.run_script(profile(own()), peer(PEER))
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        rows = self.rows(done)
        self.assertEqual(len(rows), 14)
        for case, figures in {
                "host_to_device_memcpy_ce, GPU 0": ("copy/pinned/h2d/gpu0", "55.35", "55.30", "0.9991"),
                "host_to_device_memcpy_ce, GPU 1": ("copy/pinned/h2d/gpu1", "50.00", "50.10", "1.0020"),
                "device_to_host_bidirectional_memcpy_ce, GPU 1": ("copy-both-ways/pinned/d2h/gpu1", "44.00",
                                                                  "43.90", "0.9977"),
                "device_to_device_memcpy_read_ce, GPU 0 and 1": ("copy/peer/p2p/gpu1-gpu0", "394.00", "393.50",
                                                                 "0.9987"),
                "device_to_device_memcpy_write_ce, GPU 0 and 1": ("copy/peer/p2p/gpu0-gpu1", "381.00", "381.00",
                                                                  "1.0000")}.items():
            for figure in figures:
                self.assertIn(f" {figure} ", rows[case])
        self.assertIn("nvbandwidth v9", done.stdout)
        self.assertIn("3 runs of each in turn, copies of 64 MiB", done.stdout)

    def test_a_difference_shows(self):
        done = self.run_script(profile(own(fast=53.0)), peer(PEER))
        self.assertEqual(done.returncode, 3, done.stdout + done.stderr)
        self.assertIn("0.9575", self.rows(done)["host_to_device_memcpy_ce, GPU 0"])
        self.assertIn("More than 1 % apart: host_to_device_memcpy_ce, GPU 0 (-4.25 %, standard error 0.00 %)", done.stdout)

    def test_nothing_to_compare(self):
        for own_text, peer_text, message in (
                (profile({}), peer(PEER), "has no figure for copy/pinned/h2d/gpu0"),
                ("", peer(PEER), "wrote no profile"),
                (profile(own()), "no such test", "no JSON"),
                (profile(own()), peer({}), "no figure")):
            done = self.run_script(own_text, peer_text)
            self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
            self.assertIn(message, done.stderr)
            self.assertEqual(done.stderr.count("\n"), 1)

    def test_a_failing_program(self):
        done = subprocess.run([SCRIPT, "/nonexistent/nvbandwidth", HERE, "1", "64"], capture_output=True,
                              text=True, check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn("No such file", done.stderr)


if __name__ == "__main__":
    unittest.main()
