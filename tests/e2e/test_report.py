"""The whole path of tools/demo on the simulated GPU: record, probe, analyze."""
import json
import shutil
import sys
import tempfile
import unittest
from pathlib import Path

from lab import PROGRAMS, XFERSCOPE, needs, record, report, run

FRAMES = 20
FRAME_BYTES = 2 << 20
COPIES_WITH_CTYPES = """
import ctypes
cuda, place, data = ctypes.CDLL("libcudart.so.13"), ctypes.c_void_p(), bytes(1 << 20)
assert cuda.cudaMalloc(ctypes.byref(place), len(data)) == 0
for _ in range(4):
    assert cuda.cudaMemcpy(place, data, ctypes.c_size_t(len(data)), 1) == 0
"""


@needs("unoptimised_shared")
class Report(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.folder = Path(tempfile.mkdtemp(prefix="xferscope-e2e-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder, ignore_errors=True)
        cls.trace = cls.folder / "run.xft"
        cls.profile = cls.folder / "machine.json"
        program = PROGRAMS / "unoptimised_shared"
        recorded = record(program, str(FRAMES), cwd=cls.folder, options=["-o", "run"])
        if recorded.returncode != 0:
            raise AssertionError(recorded.stderr)
        # A limit that a busy machine does not reach; the simulated GPU's times do not depend on it.
        probe = [XFERSCOPE, "probe", "--quick", "--filter", "^copy/(pinned|pageable)/"]
        probe += ["--time-limit", "250", "-o", cls.profile]
        probed = run(probe, cwd=cls.folder)
        if probed.returncode != 0:
            raise AssertionError(probed.stderr)

    def test_findings(self):
        document = report(self.trace, "--profile", self.profile)
        sites = {}  # kind to functions; a kind may come as several findings
        for finding in document["findings"]:
            # What an order costs, or the host's work, no copy says.
            if finding["kind"] not in ("serial-transfer-and-compute", "host-device-turns"):
                self.assertGreater(finding["lost_s"], 0, finding)
            self.assertTrue(finding["fix"], finding)
            functions = {site["function"] for site in finding["sites"]}
            self.assertTrue(functions, finding)
            sites.setdefault(finding["kind"], set()).update(functions)
        self.assertEqual(
            set(sites),
            {"pageable-host-memory", "small-transfers", "synchronous-transfer", "serial-transfer-and-compute",
             "host-device-turns"},
        )
        self.assertEqual(sites["small-transfers"], {"upload_gains"})
        self.assertLessEqual({"upload_frame", "download_result"}, sites["pageable-host-memory"])
        self.assertLessEqual({"upload_frame", "download_result"}, sites["synchronous-transfer"])

    def test_transfers_and_sites(self):
        document = report(self.trace, "--profile", self.profile)
        sites = {row["site"]["function"]: row for row in document["transfers"]}
        self.assertEqual(set(sites), {"upload_frame", "upload_gains", "download_result"})
        self.assertEqual(sites["upload_frame"]["bytes"], FRAMES * FRAME_BYTES)
        self.assertEqual(sites["upload_gains"]["transfers"], FRAMES * 64)
        self.assertEqual(sites["download_result"]["direction"], "D2H")
        for row in document["transfers"]:
            self.assertEqual({row["src_memory"], row["dst_memory"]}, {"pageable", "device"})
            self.assertTrue(row["site"]["file"].endswith("unoptimised.cu"))
            self.assertGreater(row["achieved_gbps"], 0)
        for name in ("upload_frame", "download_result"):
            self.assertGreater(sites[name]["achievable_gbps"], sites[name]["achieved_gbps"])
        self.assertTrue(document["run"]["simulated"])
        self.assertTrue(document["machine"]["simulated"])
        self.assertTrue(document["machine"]["matches"])

    def test_python_without_pytorch_gets_no_advice_on_tensors(self):
        program = (sys.executable, "-c", COPIES_WITH_CTYPES)
        recorded = record(*program, cwd=self.folder, options=["-o", "python"])
        self.assertEqual(recorded.returncode, 0, recorded.stderr)
        findings = report(self.folder / "python.xft", "--profile", self.profile)["findings"]
        fixes = {finding["kind"]: finding["fix"] for finding in findings}
        self.assertIn("cudaMallocHost()", fixes["pageable-host-memory"])
        self.assertIn("cudaMemcpyAsync()", fixes["synchronous-transfer"])

    def test_text_says_that_the_gpu_is_simulated(self):
        result = run([XFERSCOPE, "analyze", self.trace, "--profile", self.profile])
        text = result.stdout.decode()
        self.assertEqual(result.returncode, 0, result.stderr)
        for word in ("imulated", "upload_gains", "pageable", "unoptimised.cu"):
            self.assertIn(word, text)

    def test_without_a_profile(self):
        document = report(self.trace)
        for row in document["transfers"]:
            self.assertIsNone(row["achievable_gbps"])
            self.assertIsNone(row["lost_s"])

    def test_the_same_trace_twice_gives_the_same_report(self):
        self.assertEqual(
            report(self.trace, "--profile", self.profile),
            report(self.trace, "--profile", self.profile),
        )

    def test_profile_is_json(self):
        self.assertEqual(json.loads(self.profile.read_text())["schema"], "xferscope-profile")


if __name__ == "__main__":
    unittest.main()
