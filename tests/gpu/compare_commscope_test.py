#!/usr/bin/env python3
"""compare_commscope.sh with stand-ins for both programs: it must see what differs."""
import json
import os
import subprocess
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
SCRIPT = os.path.join(HERE, "compare_commscope.sh")
MIB = 1 << 20

# Comm|Scope: lists its cases, else prints the results whose group was asked for.
PEER = """#!/bin/sh
case "$*" in --benchmark_list_tests=true) cat {folder}/list; exit ;; esac
for a; do case "$a" in
    --benchmark_filter=*Pinned*20*) results={folder}/copies ;;
    --benchmark_filter=*Peer*) results={folder}/peers ;;
    --benchmark_filter=*) exit 7 ;;
    --benchmark_out=*) out=${{a#*=}} ;;
    --benchmark_repetitions=3|--benchmark_min_time=0.1|--benchmark_out_format=json) ;;
    *) exit 9 ;;
esac; done
cat "$results" >"$out"
"""
OWN = """#!/bin/sh
case "$*" in "probe --quiet --sizes 1048576:1048576 --filter "*" --no-flush -o "*) profile={folder}/profile ;;
"probe --quiet --sizes 16777216:16777216 --filter ^(copy/write-combined/h2d)/ "*) profile={folder}/empty ;;
*) exit 9 ;; esac
for last; do :; done
cp "$profile" "$last"
"""
LIST = ["Comm|Scope 0.0.0", "Comm_cudaMemcpyAsync_PinnedToGPU/0/0/log2(N):20/manual_time",
        "Comm_cudaMemcpyAsync_PinnedToGPU/0/0/log2(N):21/manual_time",
        "Comm_cudaMemcpyAsync_WCToGPU/0/0/log2(N):24/manual_time",
        "Comm_cudaMemcpyAsync_PinnedToGPU/1/0/log2(N):20/manual_time",
        "Comm_cudaMemcpyPeerAsync_Duplex_GPUGPUPeer/0/0/log2(N):20/manual_time",
        "Comm_cudaMemcpyPeerAsync_Duplex_GPUGPUPeer/0/1/log2(N):20/manual_time",
        "Comm_unknown/0/0/log2(N):20/manual_time"]


def runs(case, figures, **more):
    """Entries of google-benchmark's JSON: one per repetition, and the mean as it adds it."""
    entries = [{"name": case, "run_name": case, "run_type": "iteration", "bytes_per_second": gbps * 1e9, **more}
               for gbps in figures]
    return [*entries, {"name": f"{case}_mean", "run_name": case, "run_type": "aggregate",
                       "aggregate_name": "mean", "bytes_per_second": 1e9}]


def results(entries):
    return json.dumps({"context": {"library_build_type": "release"}, "benchmarks": entries}, indent=2)


def point(size, gbps, streams=1):
    times = {"median_ns": streams * size / gbps, "ci_low_ns": 1.0, "ci_high_ns": 1.0}
    return {"bytes": size, "n": 20, **times}


def profile(near):
    paths = {"copy/registered/h2d/node0-gpu0": [point(MIB, near), point(2 * MIB, 50)],
             "copy/registered/h2d/node1-gpu0": [point(MIB, 30)],
             "copy/registered/h2d/gpu0": [point(MIB, 29)]}
    both = {"name": "concurrent/peer/both/gpu0-gpu1", "flows": [{}, {}], "points": [point(MIB, 400, 2)]}
    return json.dumps({"paths": [{"name": n, "points": p} for n, p in paths.items()], "concurrent": [both]})


RULE = """#!/bin/sh
[ "$*" = "20 Comm_cudaMemcpyAsync_PinnedToGPU" ] || exit 9
echo case,bytes,variant,n,gbps
echo Comm_cudaMemcpyAsync_PinnedToGPU,1048576,rule,99,20.1
echo Comm_cudaMemcpyAsync_PinnedToGPU,1048576,unmodified,99,{unmodified}
echo Comm_cudaMemcpyAsync_PinnedToGPU,1048576,queued,99,170
"""


class Compare(unittest.TestCase):
    def run_script(self, copies, own_profile=profile(40), names=None, rule=None):
        peers = results(runs(LIST[6], [400, 400, 408]))
        with tempfile.TemporaryDirectory() as folder:
            os.makedirs(os.path.join(folder, "bin", "programs"))
            files = {"list": "\n".join(names or LIST) + "\n", "copies": copies, "peers": peers,
                     "profile": own_profile, "comm_scope": PEER.format(folder=folder),
                     "bin/xferscope": OWN.format(folder=folder), "empty": profile(40).replace("copy/", "no/")}
            if rule:
                files["bin/programs/commscope_rule"] = rule
            for name, text in files.items():
                path = os.path.join(folder, name)
                with open(path, "w", encoding="utf-8") as file:
                    file.write(text)
                os.chmod(path, 0o755)
            program = os.path.join(folder, "comm_scope")
            return subprocess.run([SCRIPT, program, folder, "1", "0.1", "3", "(20|21|24)/"],
                                  capture_output=True, text=True, check=False)

    def rows(self, done):
        cells = [line.strip("| ").split(" | ") for line in done.stdout.splitlines() if line.startswith("| ")]
        return {row[0]: row[1:] for row in reversed(cells)}

    def test_alike(self):
        entries = runs(LIST[1], [40, 39, 41]) + runs(LIST[4], [30, 30, 30]) + runs(LIST[3], [], error_occurred=True)
        done = self.run_script(results(entries))
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        rows = self.rows(done)
        self.assertEqual(rows["Comm_cudaMemcpyAsync_PinnedToGPU/0/0"],
                         ["copy/registered/h2d/node0-gpu0", "1 MiB", "40.00", "2.50", "40.00", "0.00", "1.000"])
        self.assertEqual(rows["Comm_cudaMemcpyAsync_PinnedToGPU/1/0"][4:], ["30.00", "0.00", "1.000"])
        self.assertEqual(rows["Comm_cudaMemcpyPeerAsync_Duplex_GPUGPUPeer/0/1"],
                         ["concurrent/peer/both/gpu0-gpu1", "1 MiB", "400.00", "1.15", "400.00", "0.00", "1.000"])
        self.assertEqual(rows["xferscope probe"][0], "3")
        self.assertIn("Left out: Comm_cudaMemcpyAsync_WCToGPU/0/0 16 MiB: no figure by Comm|Scope", done.stdout)
        self.assertIn("Within 3 %: 3 of 3 cases.", done.stdout)

    def test_a_difference_shows(self):
        done = self.run_script(results(runs(LIST[1], [38, 38, 38])))
        self.assertEqual(done.returncode, 3, done.stdout + done.stderr)
        self.assertEqual(self.rows(done)["Comm_cudaMemcpyAsync_PinnedToGPU/0/0"][-1], "1.053")
        self.assertIn("Within 3 %: 1 of 2 cases.", done.stdout)
        self.assertIn("| +5.3 | not measured | +5.3 |", done.stdout)

    def test_a_difference_is_explained(self):
        """By the change whose effect on the rule is what lies between the programs, else by noise."""
        for theirs, unmodified, why in (([20], 40.2, "+100.0 | unmodified | +0.0"),
                                        ([20], 35, "+100.0 | mostly unmodified | +14.9"),
                                        ([20], 21, "+100.0 | not explained | +100.0"),
                                        ([19, 20, 21], 38, "+100.0 | unmodified and spread | +5.8"),
                                        ([30, 38, 46], 30, "+5.3 | spread of the runs | +5.3")):
            done = self.run_script(results(runs(LIST[1], theirs)), rule=RULE.format(unmodified=unmodified))
            self.assertEqual(done.returncode, 3, done.stdout + done.stderr)
            self.assertIn(f" | 20.10 | unmodified {unmodified:.2f}, queued 170.00 | 40.00 | {why} |\n", done.stdout)
            self.assertIn(f"Explained by: {why.split(' | ')[1]} 1.", done.stdout)

    def test_an_error_shows(self):
        entries = runs(LIST[1], [40]) + [{"run_name": LIST[3], "error_occurred": True}]
        done = self.run_script(results(entries))
        self.assertIn("Comm_cudaMemcpyAsync_WCToGPU/0/0 16 MiB: Comm|Scope reports an error", done.stdout)

    def test_cut_short(self):
        """A killed Comm|Scope leaves the beginning of its file."""
        whole = results(runs(LIST[1], [40, 40, 40]) + runs(LIST[4], [30]))
        done = self.run_script(whole[:whole.index("/1/0/")])
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("PinnedToGPU/1/0 1 MiB: no figure by Comm|Scope in its time", done.stdout)

    def test_nothing_to_compare(self):
        done = self.run_script(results([]), names=["Comm_unknown/0/0/log2(N):20/x"])
        self.assertEqual(done.returncode, 1)
        self.assertIn("gave no figure", done.stderr)
        done = self.run_script(results([]), names=["nothing"])
        self.assertEqual(done.returncode, 1)
        self.assertIn("lists no case", done.stderr)
        self.assertEqual(done.stderr.count("\n"), 1)


if __name__ == "__main__":
    unittest.main()
