#!/usr/bin/env python3
"""The probe's network family between two hosts: network namespaces, and a cable (cable.c) whose rate
and delay are known. What it measures must be theirs, and never better; how much worse it is, is the machine's doing
(net.ranks has the same figures exactly, by a clock that counts). docs/results has the same measured with care.

Skips, with the reason, where namespaces cannot be made.
"""
import os
import signal
import subprocess
import time

from lab import PATHS, Lab, environment, load, main

DELAY_US, MBIT, MBIT_BACK = 10000, 160, 80
# Of a frame of 9014 bytes (the interface's rate counts these) 8948 are the message's.
PART_OF_FRAME = 8948 / 9014


class Cable(Lab):
    lost = 0  # of so many frames from host A to B one

    def setUp(self):
        super().setUp()
        self.cable = subprocess.Popen([PATHS.cable, str(MBIT), str(MBIT_BACK), str(DELAY_US), str(self.lost)], stdin=subprocess.PIPE,
                                      stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(self.end_cable)
        self.holders = self.cable.stdout.readline().split()
        if not self.holders:
            self.assertEqual(self.cable.wait(), 77)
            self.skipTest(self.cable.stderr.read().strip())
        self.agent = os.path.join(self.folder, "agent")
        with open(self.agent, "w", encoding="utf-8") as file:
            file.write(f'#!/bin/sh\nshift\nexec nsenter -t {self.holders[1]} -n -u sh -c "$*"\n')
        os.chmod(self.agent, 0o755)

    def end_cable(self):
        self.cable.stdin.close()
        self.cable.wait()
        self.cable.stdout.close()
        self.cable.stderr.close()

    def command(self, *options, each=1):
        settings = {"plm_rsh_agent": self.agent, "pml": "ob1", "btl": "tcp,self", "btl_tcp_if_include": "cable0",
                    "oob_tcp_if_include": "cable0", "mpi_yield_when_idle": "1"}
        command = ["nsenter", "-t", self.holders[0], "-n", "-u", "mpirun", "-n", str(2 * each), "--host",
                   f"10.99.0.1:{each},10.99.0.2:{each}", "--bind-to", "none"]
        for name, value in settings.items():
            command += ["--mca", name, value]
        return [*command, PATHS.command, "probe", "--net", *options]

    def run_net(self, *options, **how):
        return subprocess.run(self.command(*options, **how), env=environment(), capture_output=True, text=True, timeout=200,
                              check=False)


class Hosts(Cable):
    def test_delay_rate_and_slow_way(self):
        run = self.run_net("-o", self.output, "--sizes", "1M:1M", "--time-limit", "12")
        self.assertEqual(run.returncode, 0, run.stderr)
        profile = load(self.output)
        network = profile["network"]
        self.assertEqual([r["hostname"] for r in network["ranks"]], ["host-a", "host-b"])
        cable = [i for i in network["ranks"][0]["interfaces"] if i["name"] == "cable0"]
        self.assertEqual([(i["driver"], i["mtu"]) for i in cable], [("tun", 9000)])
        for path in network["paths"]:
            self.assertEqual(path["interface"], "cable0", path["name"])
        least = {(0, 1): 8e3 / MBIT, (1, 0): 8e3 / MBIT_BACK}  # ns for a byte, of one frame after the other
        for path in network["paths"]:
            if path["shape"] != "stream":
                continue
            (p,) = path["points"]
            frames = least[path["from"], path["to"]] * p["bytes"] / PART_OF_FRAME
            self.assertGreater(p["min_ns"], 0.97 * frames, path["name"])
        for c in network["collectives"]:  # half of the bytes at least go the slow way
            if c["name"] in ("net/mpi/all-reduce", "net/mpi/all-gather", "net/mpi/all-to-all"):
                (p,) = c["points"]
                self.assertEqual(p["bytes"], 1 << 20)
                self.assertGreater(p["min_ns"], 0.97 * least[1, 0] * p["bytes"] / 2 / PART_OF_FRAME, c["name"])
        self.assertIn("over cable0", run.stdout)
        self.read_again(run.stdout)
        self.assertRegex(run.stdout, r"rank 0 \(host-a\) to rank 1 \(host-b\) over cable0.*many of 1 MiB reach")

    def read_again(self, printed):
        """The other commands of docs/walk-net.md."""
        said = subprocess.run([PATHS.command, "probe", f"--summary={self.output}"], capture_output=True, text=True,
                              check=True).stdout
        words = [line for line in said.splitlines() if line.startswith("net/stream/")]
        self.assertEqual(len(words), 2)
        for line in words:
            self.assertIn(line, printed)
        same = subprocess.run([PATHS.command, "probe", "--compare", self.output, self.output], capture_output=True,
                              text=True, check=False)
        self.assertEqual(same.returncode, 0, same.stdout)

    def test_delay(self):
        run = self.run_net("-o", self.output, "--sizes", "1:4", "--quick", "--time-limit", "4", "--quiet")
        self.assertEqual(run.returncode, 0, run.stderr)
        network = load(self.output)["network"]
        pings = [p for p in network["paths"] if p["shape"] == "ping"]
        self.assertEqual(len(pings), 2)
        collectives = network["collectives"]
        self.assertEqual([(c["ranks"], c["hosts"]) for c in collectives], [(2, 2)] * 4)  # 4 bytes cannot be divided
        waits = [c for c in collectives if c["name"] not in ("net/mpi/broadcast", "net/mpi/reduce")]  # each rank for the other
        for path in pings + waits:
            self.assertTrue(path["points"], path["name"])
            for p in path["points"]:
                self.assertGreater(p["min_ns"], DELAY_US * 1e3, path["name"])

    def test_some_ranks(self):
        """Of two ranks on each host: the two of a host do not go over the cable, one of each do."""
        run = self.run_net("-o", self.output, "--sizes", "4:4", "--quick", "--time-limit", "4", "--quiet", "--filter",
                           "/(barrier|all-reduce)", each=2)
        self.assertEqual(run.returncode, 0, run.stderr)
        found = {c["name"].removeprefix("net/mpi/"): c for c in load(self.output)["network"]["collectives"]}
        for word in ("barrier", "all-reduce"):
            all_, host, both = (found[word + part] for part in ("", "/ranks2-hosts1", "/ranks2-hosts2"))
            self.assertEqual([(c["ranks"], c["hosts"]) for c in (all_, host, both)], [(4, 2), (2, 1), (2, 2)])
            self.assertLess(host["points"][0]["min_ns"], DELAY_US * 1e3, word)
            for c in (all_, both):
                self.assertGreater(c["points"][0]["min_ns"], DELAY_US * 1e3, c["name"])
        self.assertEqual(len(found), 6)

    def test_a_rank_of_the_other_host_that_is_killed(self):
        """What was measured is there, and the run ends."""
        run = subprocess.Popen(self.command("--sizes", "1:64K", "-o", self.output, "--time-limit", "60", "--quiet"),
                               env=environment(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(run.wait)
        self.addCleanup(run.kill)
        self.wait_for(lambda: os.path.exists(self.output + ".partial") or run.poll() is not None)
        self.assertIsNone(run.poll())
        self.kill_rank_1()
        run.wait(timeout=120)
        kept = self.output if os.path.exists(self.output) else self.output + ".partial"
        self.assertIn("net/ping/rank0-rank1", [p["name"] for p in load(kept)["network"]["paths"]])

    def test_a_network_that_goes_away(self):
        """No frame arrives any more, and nothing says so: rank 0 gives up by itself, a minute after the pair's time. Its launcher
        may wait on for the other host."""
        with open(os.path.join(self.folder, "said"), "w+", encoding="utf-8") as said:
            run = subprocess.Popen(self.command("--sizes", "1:64K", "-o", self.output, "--time-limit", "6", "--quick", "--quiet"),
                                   env=environment(), stdout=subprocess.DEVNULL, stderr=said)
            self.addCleanup(run.wait)
            self.addCleanup(run.kill)
            self.addCleanup(self.cable.send_signal, signal.SIGCONT)
            self.wait_for(lambda: os.path.exists(self.output + ".partial") or run.poll() is not None)
            self.cable.send_signal(signal.SIGSTOP)
            self.wait_for(lambda: os.path.exists(self.output), 4 * 6 + 60 + 30)
            self.wait_for(lambda: os.path.getsize(said.name) or run.poll() is not None, 5)
            said.seek(0)
            (line,) = [line for line in said if "xferscope" in line]
        self.assertRegex(line, r"rank 0 \(host-a\) and rank 1 \(host-b\): no answer, or far too slow: .* has what was measured")
        self.assertIn("net/ping/rank0-rank1", [p["name"] for p in load(self.output)["network"]["paths"]])

    def wait_for(self, condition, seconds=60):
        until = time.monotonic() + seconds
        while not condition():
            self.assertLess(time.monotonic(), until)
            time.sleep(0.05)

    def kill_rank_1(self):
        space = os.readlink(f"/proc/{self.holders[1]}/ns/net")
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                there = os.readlink(f"/proc/{pid}/ns/net") == space
                name = os.path.basename(os.readlink(f"/proc/{pid}/exe"))
            except OSError:
                continue
            if there and name == "xferscope-net":
                os.kill(int(pid), 9)


class Loss(Cable):
    lost = 25

    def test_lost_frames(self):
        """What is lost is sent again, later: no window of the way that loses frames reaches half of its rate, which is
        all that the other way has."""
        run = self.run_net("-o", self.output, "--sizes", "256K:256K", "--time-limit", "12", "--quiet")
        self.assertEqual(run.returncode, 0, run.stderr)
        ways = {path["from"]: path for path in load(self.output)["network"]["paths"] if path["shape"] == "stream"}
        self.assertEqual(ways.keys(), {0, 1})
        (lossy,) = ways[0]["points"]
        self.assertGreater(lossy["median_ns"], 8e3 / MBIT_BACK * lossy["bytes"])
        self.assertGreater(min(lossy["windows_ns"]), 8e3 / MBIT_BACK * lossy["bytes"] * lossy["window"])


if __name__ == "__main__":
    main()
