"""Contents from the copies of an unmodified program to the findings."""
import json
import unittest
from pathlib import Path

from lab import PROGRAMS, XFERSCOPE, Bench, environment, needs, record, report, run

HASHED = 10  # of contents.c: all but its D2D copy and five whose arrival nothing showed
KINDS = ["repeated-transfer", "round-trip", "duplicate-transfer"]


def dumped(trace):
    lines = run([XFERSCOPE, "dump", trace]).stdout.decode().splitlines()
    pairs = (line[5:].split("=", 1) for line in lines if line.startswith("meta "))
    return dict(pairs), [line for line in lines if " content " in line]


def findings(document):
    """Kind and direction: transfers, bytes, the line of the copy and of the one before it."""
    found = {}
    for finding in document["findings"]:
        for site in finding["sites"]:
            if finding["kind"] in KINDS:
                earlier = int(site["earlier"].rsplit(":", 1)[1].rstrip(")"))
                key = (finding["kind"], site["direction"], site["line"], earlier)
                found[key] = (site["transfers"], site["bytes"])
    return found


def line_of(text):
    """Where contents.c has it, so that the test does not depend on line numbers."""
    source = Path(__file__).resolve().parents[1] / "programs" / "contents.c"
    lines = source.read_text().splitlines()
    return [n for n, line in enumerate(lines, 1) if text in line]


@needs("contents")
class Contents(Bench):
    def recorded(self, how, **extra):
        bare = run([PROGRAMS / "contents"], cwd=self.folder)
        env = environment(XFERSCOPE_CONTENT_SHARE="0", **extra)
        result = record(
            PROGRAMS / "contents", cwd=self.folder, env=env, options=("-o", how, f"--content={how}")
        )
        self.assertEqual((result.returncode, result.stdout), (0, bare.stdout), result.stderr)
        return self.folder / f"{how}.xft"

    def check(self, how, by_samples):
        trace = self.recorded(how)
        said, contents = dumped(trace)
        self.assertEqual(len(contents), HASHED)
        self.assertEqual(said["content"], how)
        self.assertEqual(said["content.skipped.unsettled"], "5")
        document = report(trace)
        content = document["run"]["content"]
        self.assertEqual(content["mode"], how)
        self.assertEqual(content["hashed"], HASHED)
        self.assertEqual(content["by_samples"], by_samples)
        self.assertEqual(content["not_hashed"], 5)
        self.assertEqual(content["took_s"], 0)  # the virtual clock stands still
        new, again, other = (n for n in line_of("first, BYTES, XRT_COPY_H2D"))
        back, back_again = line_of("/* back as it was sent */")
        second, rows = line_of("other, second, BYTES")[0], line_of("cudaMemcpy2D(")[0]
        self.assertEqual(
            findings(document),
            {
                ("repeated-transfer", "H2D", again, new): (1, 65536),
                ("duplicate-transfer", "H2D", other, again): (1, 65536),
                ("round-trip", "D2H", back, other): (1, 65536),
                ("round-trip", "D2H", back_again, second): (1, 65536),
                ("round-trip", "H2D", rows, back_again): (1, 65536),
            },
        )
        notes = [f["basis"]["note"] for f in document["findings"] if f["kind"] in KINDS]
        self.assertTrue(all(("probably" in note) == (by_samples > 0) for note in notes), notes)

    def test_whole(self):
        self.check("whole", 0)

    def test_samples(self):
        self.check("sampled", HASHED)

    def test_what_hashes_took(self):
        trace = self.recorded("whole", XFERSCOPE_SIMGPU_CLOCK="host")
        self.assertGreater(report(trace)["run"]["content"]["took_s"], 0)

    def test_hashes_in_json_are_whole(self):
        trace = self.recorded("whole")
        _, contents = dumped(trace)
        command = [XFERSCOPE, "dump", trace, "--format", "json", "--kind", "content"]
        lines = [json.loads(line) for line in run(command).stdout.splitlines()]
        hashes = [int(line["hash"], 16) for line in lines if line["type"] == "event"]
        self.assertEqual(hashes, [int(line.split(" aux=")[1].split()[0]) for line in contents])

    def test_off(self):
        document = report(self.recorded("off"))
        self.assertEqual((document["run"]["content"]["mode"], document["run"]["content"]["hashed"]), ("off", 0))
        self.assertEqual(findings(document), {})

    def test_uploads_by_default(self):
        """What they carry again is found; what comes back is not looked at."""
        trace = self.recorded("auto")
        said, contents = dumped(trace)
        self.assertGreaterEqual(len(contents), 3)
        document = report(trace)
        self.assertEqual((said["content"], document["run"]["content"]["mode"]), ("auto", "auto"))
        new, again, other = (n for n in line_of("first, BYTES, XRT_COPY_H2D"))
        self.assertEqual({key: value for key, value in findings(document).items() if key[2] in (again, other)},
                         {("repeated-transfer", "H2D", again, new): (1, 65536),
                          ("duplicate-transfer", "H2D", other, again): (1, 65536)})
        self.assertEqual({key[1] for key in findings(document)}, {"H2D"})

    def test_default(self):
        result = record(PROGRAMS / "contents", cwd=self.folder, options=("-o", "run"))
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(dumped(self.folder / "run.xft")[0]["content"], "auto")

    def test_killed(self):
        """What had been hashed is there; how much was not, a killed process cannot tell."""
        env = environment(XFERSCOPE_CONTENT_SHARE="0")
        command = (PROGRAMS / "contents", "kill")
        result = record(*command, cwd=self.folder, env=env, options=("-o", "run", "--content"))
        self.assertEqual(result.returncode, -9, result.stderr)
        content = report(self.folder / "run.xft")["run"]["content"]
        self.assertEqual((content["hashed"], content["not_hashed"]), (HASHED, None))

    def test_a_word_that_makes_no_sense(self):
        result = record("/bin/true", cwd=self.folder, options=("--content=all",))
        self.assertEqual(result.returncode, 125)
        self.assertIn(b"--content wants auto, off, sampled or whole", result.stderr)


if __name__ == "__main__":
    unittest.main()
