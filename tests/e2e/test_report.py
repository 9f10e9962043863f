"""The whole path of tools/demo on the simulated GPU: record, probe, analyze."""
import json
import unittest

from lab import Bench, PROGRAMS, XFERSCOPE, needs, record, report, run

FRAMES = 20
FRAME_BYTES = 2 << 20


@needs("unoptimised_shared")
class Report(Bench):
    def setUp(self):
        super().setUp()
        self.trace = self.folder / "run.xft"
        self.profile = self.folder / "machine.json"
        result = record(
            PROGRAMS / "unoptimised_shared", str(FRAMES), cwd=self.folder, options=["-o", "run"]
        )
        self.assertEqual(result.returncode, 0, result.stderr)
        probed = run([XFERSCOPE, "probe", "--quick", "-o", self.profile], cwd=self.folder)
        self.assertEqual(probed.returncode, 0, probed.stderr)

    def test_findings(self):
        document = report(self.trace, "--profile", self.profile)
        sites = {}  # kind to functions; a kind may come as several findings
        for finding in document["findings"]:
            self.assertGreater(finding["lost_s"], 0, finding)
            self.assertTrue(finding["fix"], finding)
            functions = {site["function"] for site in finding["sites"]}
            self.assertTrue(functions, finding)
            sites.setdefault(finding["kind"], set()).update(functions)
        self.assertEqual(
            set(sites), {"pageable-host-memory", "small-transfers", "synchronous-transfer"}
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
            self.assertGreater(row["achievable_gbps"], row["achieved_gbps"])
        self.assertTrue(document["run"]["simulated"])
        self.assertTrue(document["machine"]["simulated"])
        self.assertTrue(document["machine"]["matches"])

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
