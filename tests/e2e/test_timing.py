"""What the device and the waits of the host are recorded as, on the simulated GPU."""
import collections
import json
import re
import unittest

from lab import Bench, PROGRAMS, XFERSCOPE, needs, record, run

WHAT = {1: "event", 2: "stream", 3: "context"}  # enum xft_sync


class Timing(Bench):
    def recorded(self, name, *arguments, options=(), **environment):
        """Records a program; returns its output and the run's events."""
        result = record(PROGRAMS / name, *arguments, cwd=self.folder, options=["-o", "run", *options])
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stdout.decode(), self.events()

    def events(self, *kinds):
        options = ["--kind", ",".join(kinds)] if kinds else []
        dump = run([XFERSCOPE, "dump", self.folder / "run.xft", "--format", "json", *options])
        self.assertEqual(dump.returncode, 0, dump.stderr)
        items = [json.loads(line) for line in dump.stdout.splitlines()]
        return [item for item in items if item["type"] == "event"]


class Waits(Timing):
    def waits(self, program, functions):
        printed, events = self.recorded(program)
        said = {name: int(n) for name, n in re.findall(r"^(event|stream|context) (\d+)$", printed, re.M)}
        waits = [event for event in events if event["kind"] == "sync"]
        self.assertEqual(collections.Counter(WHAT[event["aux"]] for event in waits), said)
        self.assertEqual({event["call"] for event in waits}, functions)
        stream = int(re.search(r"^stream (0x\w+)$", printed, re.M)[1], 16)
        on_stream = [event for event in waits if WHAT[event["aux"]] == "stream"]
        self.assertEqual(
            sorted(int(str(event["stream"]), 0) for event in on_stream), [0, stream, stream]
        )
        for event in waits:
            self.assertLessEqual(event["start_ns"], event["end_ns"])
            self.assertEqual(event["status"], 0)
        return waits

    @needs("waits")
    def test_runtime(self):
        self.waits("waits", {"cudaEventSynchronize", "cudaStreamSynchronize", "cudaDeviceSynchronize"})

    @needs("waits_simstatic")
    def test_static_runtime(self):
        """Seen at the driver's level, each once."""
        self.waits(
            "waits_simstatic", {"cuEventSynchronize", "cuStreamSynchronize", "cuCtxSynchronize"}
        )


if __name__ == "__main__":
    unittest.main()
