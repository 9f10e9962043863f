"""What kernels were given: the sets of pointers in the trace are those that the program says."""
import json
import unittest

from lab import Bench, PROGRAMS, XFERSCOPE, environment, needs, own_lines, record, run


class Given(Bench):
    def recorded(self, **settings):
        result = record(
            PROGRAMS / "given", cwd=self.folder, options=["-o", "run"], env=environment(**settings)
        )
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(own_lines(result.stderr)[:-1], [])
        return result.stdout.decode().splitlines()

    def dump(self):
        result = run([XFERSCOPE, "dump", self.folder / "run.xft", "-f", "json"])
        self.assertEqual(result.returncode, 0, result.stderr)
        return [json.loads(line) for line in result.stdout.splitlines()]

    def launches(self, lines):
        """As the program's lines, from the trace."""
        sets = {line["id"]: line["pointers"] for line in lines if line["type"] == "arguments"}
        events = [line for line in lines if line["type"] == "event" and line["kind"] == "launch"]
        said = [[event["name"], *sets.get(event["aux"], ["?"])] for event in events]
        return [" ".join(words) for words in said], sets

    def meta(self, lines):
        return {line["key"]: line["value"] for line in lines if line["type"] == "meta"}

    @needs("given")
    def test_sets(self):
        recorded = self.recorded()
        lines = self.dump()
        seen, sets = self.launches(lines)
        self.assertEqual(seen, recorded)
        self.assertEqual(len(sets), len(set(recorded)) - 2)  # number and nothing have the same, unsaid none
        self.assertEqual(self.meta(lines)["arguments"], "on")

    @needs("given")
    def test_off(self):
        recorded = self.recorded(XFERSCOPE_ARGUMENTS="0")
        lines = self.dump()
        seen, sets = self.launches(lines)
        self.assertEqual(seen, [line.split()[0] + " ?" for line in recorded])
        self.assertEqual(sets, {})
        self.assertEqual(self.meta(lines)["arguments"], "off")
        self.assertNotIn("arguments.why", self.meta(lines))

    @needs("filled")
    def test_fills_are_not_the_kernels(self):
        """record --verify: fills in every form are put down to no launch."""
        for lazy, options, launches, kept in (("0", [], 27, 25), ("1", [], 27, 25), ("0", ["--phase", "seen"], 26, 24)):
            result = record(PROGRAMS / "filled", cwd=self.folder, options=["--verify", "--force", *options, "-o", "run"],
                            env=environment(XFERSCOPE_VERIFY_SHARE="0", XFERSCOPE_SIMGPU_LAZY=lazy))
            self.assertEqual((result.returncode, result.stdout), (0, b"27\n"), result.stderr)
            lines = self.dump()
            meta = self.meta(lines)
            self.assertEqual({key: meta.get(f"verify.{key}") for key in ("launches", "kept", "skipped.refused")},
                             {"launches": str(launches), "kept": str(kept), "skipped.refused": None})
            left = [line.get("width", 0) for line in lines if line["type"] == "event" and line["kind"] == "launch"]
            # The launch that changes it is not seen, or not the one behind it; the last one changes it.
            self.assertEqual(left[-2:], [0 if options else 1, 1 << 32])


if __name__ == "__main__":
    unittest.main()
