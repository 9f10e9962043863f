"""What the host does with the memory of large copies: from the kernel's page bits to the findings."""
import re
import unittest
from pathlib import Path

from lab import PROGRAMS, XFERSCOPE, Bench, environment, needs, record, report, run

ROUNDS = 4
KNOWN_READ, READ, KNOWN_WRITTEN, WRITTEN, SENT = 1, 2, 4, 8, 16  # docs/trace-format.md


def reclaimed():
    """Pages that the kernel has looked at for reclaim: what was read is not known where there are new ones."""
    return sum(int(n) for n in re.findall(r"^pgscan_(?:kswapd|direct|khugepaged|proactive) (\d+)$",
                                          Path("/proc/vmstat").read_text(), re.M))


def line_of(text):
    source = Path(__file__).resolve().parents[1] / "programs" / "accesses.c"
    return next(n for n, line in enumerate(source.read_text().splitlines(), 1) if text in line)


@needs("accesses")
class Accesses(Bench):
    def recorded(self, *arguments, **extra):
        """The trace; the test is skipped where the kernel does not tell, or was short of memory."""
        bare = run([PROGRAMS / "accesses", *arguments], cwd=self.folder)
        env = environment(XFERSCOPE_CONTENT_SHARE="0", XFERSCOPE_HOST_ACCESS_SHARE="0", **extra)
        before = reclaimed()
        result = record(PROGRAMS / "accesses", *arguments, cwd=self.folder, env=env,
                        options=("-o", "run", "--force", "--host-access"))
        self.assertEqual((result.returncode, result.stdout), (0, bare.stdout), result.stderr)
        trace = self.folder / "run.xft"
        if reclaimed() != before:
            self.skipTest("the machine was short of memory meanwhile")
        why = report(trace)["run"]["host_access"]["why"]
        if why:
            self.skipTest(why)
        return trace

    def accesses(self, trace):
        """By line of the program: what was recorded of its copies, in order."""
        calls, recorded = {}, {}
        for line in run([XFERSCOPE, "dump", trace, "--kind", "transfer,host-access"]).stdout.decode().splitlines():
            fields = dict(re.findall(r" (start|src|dst|aux|count|stack)=(\w+)", line))
            if " transfer " in line:
                calls[fields["start"], fields["dst"]] = fields["stack"]
            elif " host-access " in line:
                recorded.setdefault((fields["aux"], fields["dst"]), []).append(int(fields["count"]))
        found = {}
        for call, what in recorded.items():
            found.setdefault(calls[call], []).extend(what)
        return sorted(map(tuple, found.values()))

    def expected(self):
        unread, was_read = (KNOWN_READ,) * ROUNDS, (KNOWN_READ | READ,) * ROUNDS
        unwritten, was_written = (KNOWN_WRITTEN,) * (ROUNDS - 1), (KNOWN_WRITTEN | WRITTEN,) * (ROUNDS - 1)
        as_it_came, sent = (KNOWN_WRITTEN,) * ROUNDS, (KNOWN_READ | SENT,) * ROUNDS
        return sorted([was_written, unwritten, was_read, unread, unread, sent, as_it_came])

    def test_what_is_recorded(self):
        trace = self.recorded()
        self.assertEqual(self.accesses(trace), self.expected())
        said = report(trace)["run"]["host_access"]
        self.assertEqual((said["asked"], said["told"], said["not_told"]), (True, sum(map(len, self.expected())), 0))
        for form in ("text", "markdown"):
            shown = run([XFERSCOPE, "analyze", "--format", form, trace]).stdout.decode()
            self.assertIn("Recorded with --host-access", shown)
        self.assertIn("the program was slower", run([XFERSCOPE, "analyze", "--full", trace]).stdout.decode()
                      .replace("\n               ", " "))

    def test_a_read_at_the_end(self):
        """Only the last copy to page-locked memory is read, before it is freed."""
        expected = self.expected()
        expected.remove((KNOWN_READ,) * ROUNDS)
        expected.append((KNOWN_READ,) * (ROUNDS - 1) + (KNOWN_READ | READ,))
        self.assertEqual(self.accesses(self.recorded("read")), sorted(expected))

    def test_children_have_pages_of_their_own(self):
        self.assertEqual(self.accesses(self.recorded("fork")), self.expected())

    def test_findings(self):
        document = report(self.recorded())
        found = {}
        for finding in document["findings"]:
            for site in finding["sites"]:
                found[finding["kind"], site["line"]] = (site["transfers"], "probably" in finding["basis"]["note"])
        ignored, pinned = line_of("/* not read */"), line_of("/* not read, pinned */")
        self.assertEqual(found["unused-download", ignored], (ROUNDS, False))
        self.assertEqual(found["unused-download", pinned], (ROUNDS, False))
        self.assertEqual(found["round-trip", line_of("/* as it came */")], (ROUNDS, False))
        self.assertEqual({line for kind, line in found if kind == "unused-download"}, {ignored, pinned})

    def test_by_default_nothing_is_watched(self):
        result = record(PROGRAMS / "accesses", cwd=self.folder, options=("-o", "run"))
        self.assertEqual(result.returncode, 0, result.stderr)
        document = report(self.folder / "run.xft")
        self.assertNotIn("--host-access", run([XFERSCOPE, "analyze", self.folder / "run.xft"]).stdout.decode())
        self.assertEqual((document["run"]["host_access"]["asked"], document["run"]["host_access"]["told"]), (False, 0))
        self.assertNotIn("unused-download", [finding["kind"] for finding in document["findings"]])


if __name__ == "__main__":
    unittest.main()
