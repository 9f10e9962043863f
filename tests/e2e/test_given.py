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


if __name__ == "__main__":
    unittest.main()
