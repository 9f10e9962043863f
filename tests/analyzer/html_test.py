"""analyze --format html, from outside: its two blocks of data against --format json and against each other,
hostile names, how large it is, what the build made.

html_test.py DRIVER MAKE_TRACE BIG_TRACE DATA BUILT
"""

import hashlib
import json
import os
import re
import resource
import subprocess
import sys
import unittest
from base64 import b64decode, b64encode
from html.parser import HTMLParser
from pathlib import Path

from lab import DRIVER, Lab

BIG, DATA, BUILT = sys.argv[3:6]
SHARES = ("compute", "hidden", "exposed", "waits", "launches", "host")
MOST_SLICES = 500000
COLUMNS = ("start", "dur", "count", "bytes", "busy", "name")
MOST_BYTES = 3_000_000
MOST_MEMORY = 128 << 20  # address space, libraries included: single operations are kept up to a number, however long the run
SANITIZED = os.environ.get("XFERSCOPE_SANITIZED") == "1"


class Tags(HTMLParser):
    """What a browser would take for tags, and the text of scripts by id."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.tags, self.scripts, self.at = [], {}, None
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, sorted(name for name, _ in attrs)))
        self.at = dict(attrs).get("id", "") if tag == "script" else None
        if tag == "script":
            self.scripts[self.at] = ""

    def handle_endtag(self, tag):
        self.tags.append(("/" + tag, []))
        self.at = None

    def handle_comment(self, data):
        self.tags.append(("!--", []))

    def handle_data(self, data):
        if self.at is not None:
            self.scripts[self.at] += data


def numbers(packed):
    """Seven bits a byte, the lowest first."""
    value = bits = 0
    for byte in packed:
        value |= (byte & 127) << bits
        bits += 7
        if byte < 128:
            yield value
            value = bits = 0
    assert bits == 0, "ends within a number"


def unpacked(text):
    """The columns of a track, as analyzer/timeline/pack.h has them; starts less the one before."""
    columns, kinds, given = {column: [] for column in COLUMNS}, [], numbers(b64decode(text, validate=True))
    for start in given:
        dur, which = next(given), next(given)
        if which < 2:
            kinds.append((next(given), next(given), next(given) - 1))
        count, moved, name = kinds[which // 2 - 1] if which >= 2 else kinds[-1]
        busy = next(given) if which % 2 else dur
        for column, value in zip(COLUMNS, (start, dur, count, moved, busy, name)):
            columns[column].append(value)
    return columns


class Html(Lab):
    def setUp(self):
        super().setUp()
        self.make("profile", "machine.json")

    def analyze(self, *arguments, status=(0,), limit=None):
        def within():
            if limit:
                resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
        done = self.drive("analyze", *arguments, timeout=500, preexec_fn=within)
        self.assertIn(done.returncode, status, done.stderr)
        return done.stdout

    def page(self, *arguments, status=(0,), limit=None):
        page = self.analyze(*arguments, "-f", "html", status=status, limit=limit).decode()  # it is UTF-8, or this fails
        scripts = Tags(page).scripts
        report, timeline = json.loads(scripts["report"]), json.loads(scripts["timeline"])
        for version in timeline["versions"] if timeline else ():
            for track in version["tracks"]:
                track["slices"] = unpacked(track["slices"])
        return page, report, timeline

    # ---- what must hold of every page -----------------------------------------------------------------

    def check_tracks(self, version):
        for track in version["tracks"]:
            slices = track["slices"]
            self.assertEqual({len(column) for column in slices.values()}, {len(slices["start"])})
            self.assertGreater(len(slices["start"]), 0)
            for column in ("start", "dur", "count", "bytes", "busy"):
                self.assertGreaterEqual(min(slices[column]), 0, (track["label"], column))
        return sum(len(track["slices"]["start"]) for track in version["tracks"])

    def sums(self, version, kind):
        tracks = [track["slices"] for track in version["tracks"] if track["kind"] == kind]
        return [sum(sum(slices[column]) for slices in tracks) for column in ("count", "bytes", "busy")]

    def check(self, *arguments):
        page, report, timeline = self.page(*arguments)
        self.assertEqual(report, json.loads(self.analyze(*arguments, "-f", "json")))
        recorded = timeline["versions"][0]
        self.assertEqual(recorded["name"], "as recorded")
        slices = sum(self.check_tracks(version) for version in timeline["versions"])
        self.assertLessEqual(slices, MOST_SLICES)
        self.assertLess(len(page.encode()), MOST_BYTES)
        # Each transfer of the report is in a track, or counted.
        count, moved, _ = self.sums(recorded, "copies")
        self.assertEqual(count + timeline["untimed"], sum(row["transfers"] for row in report["transfers"]))
        if timeline["untimed"] == 0:
            self.assertEqual(moved, sum(row["bytes"] for row in report["transfers"]))
        self.assertEqual(sum(between["count"] for between in timeline["traffic"]),
                         sum(row["transfers"] for row in report["transfers"]) +
                         self.sums(recorded, "migrations")[0])
        # Shares add up to the run's time, to the ns.
        if report["run"]["wall_s"]:
            self.assertAlmostEqual(recorded["end_ns"], report["run"]["wall_s"] * 1e9, delta=1e3)
        shares = timeline["shares"]
        for of, version in zip((shares, shares["advised"]), timeline["versions"]):
            if None not in of.values() or of["compute"] is not None:
                self.assertEqual(sum(of[word] for word in SHARES), version["end_ns"])
        # The set's run is the one of the report.
        self.assertEqual(len(timeline["versions"]), 1 + (shares["advised"] is not None))
        whatif = report["whatif"]
        if len(timeline["versions"]) == 2:
            self.assertEqual(timeline["versions"][1]["name"], "as advised")
            # It has all calls; two standard errors are said.
            off = 2 * whatif["sampled"]["error_s"] if "sampled" in whatif else 0
            self.assertAlmostEqual(timeline["versions"][1]["end_ns"] / 1e9,
                                   whatif["alone_s"] - whatif["set_saving_s"]["likely"],
                                   delta=1e-6 + off)
        names = len(timeline["names"])
        used = {name for version in timeline["versions"] for track in version["tracks"]
                for name in track["slices"]["name"]}
        self.assertEqual(used - {-1}, set(range(names)))
        places = {place["id"] for place in timeline["places"]}
        for between in timeline["traffic"]:
            self.assertLessEqual({between["from"], between["to"]}, places)
        for link in timeline["links"]:
            self.assertLessEqual({link["a"], link["b"]}, places)
        return page, report, timeline

    # ---- runs -----------------------------------------------------------------------------------------

    def test_recorded_runs(self):
        profile = os.path.join(DATA, "h200.json")
        advised = 0
        for run in sorted(Path(DATA).glob("*.xft")):
            with self.subTest(run.name):
                _, report, timeline = self.check(str(run), "-p", profile)
                advised += len(timeline["versions"]) > 1
                waits = sum(wait["times"] for wait in report["waits"])
                self.assertGreaterEqual(self.sums(timeline["versions"][0], "waits")[0], waits)
                used = {place for between in timeline["traffic"] for place in (between["from"], between["to"])}
                for curve in timeline["curves"]:
                    self.assertIn(f"gpu:{curve['gpu']}", used)
                    sizes = [point[0] for point in curve["points"]]
                    self.assertEqual(sizes, sorted(sizes))
                    for _, gbps, low, high in curve["points"]:
                        self.assertTrue(low is None or low <= gbps <= high)
                self.assertTrue(timeline["curves"])
        self.assertGreater(advised, 0)

    def test_buffers(self):
        run = os.path.join(DATA, "h200-pytorch.xft")
        _, report, timeline = self.check(run)
        buffers = timeline["buffers"]
        self.assertEqual(buffers, sorted(buffers, key=lambda of: -of["traffic"]))
        moved = sum(row["bytes"] for row in report["transfers"])
        self.assertEqual(sum(of["traffic"] for of in buffers), 2 * moved)  # out of one, into another
        self.assertTrue(any(of["site"] and of["bytes"] and of["traffic"] for of in buffers))

    def test_several_processes(self):
        run = self.path("run")
        subprocess.run([BIG, "2000", "4", "2", "10", run], check=True)
        _, report, timeline = self.check(run, "-p", "machine.json")
        self.assertEqual({track["process"] for track in timeline["versions"][0]["tracks"]}, {0, 1, 2, 3})
        self.assertEqual(len(report["run"]["processes"]), 4)
        labels = [track["label"] for track in timeline["versions"][0]["tracks"]]
        self.assertEqual(len(labels), len(set(labels)))

    def test_scenarios(self):
        for scenario in ("mixed", "killed", "simulated", "unresolved", "indexed", "hostile"):
            with self.subTest(scenario):
                _, _, timeline = self.page(self.make(scenario, f"{scenario}.trace"), "-p", "machine.json",
                                           status=(0, 3))
                for version in timeline["versions"]:
                    self.check_tracks(version)

    def test_absurd_times(self):
        for variant in ("", "late", "early"):
            with self.subTest(variant):
                self.make("absurd", "a.trace", variant)
                _, _, timeline = self.page("a.trace", "-p", "machine.json", status=(0, 3))
                for version in timeline["versions"]:
                    self.check_tracks(version)
                for of in SHARES:
                    self.assertLess(abs(timeline["shares"][of] or 0), 6e18, of)

    def test_migrations(self):
        _, report, timeline = self.page(self.make("markup", "a.trace"))
        moved = sum(sum(site["moved_bytes"].values()) for site in report["managed"]["sites"])
        self.assertEqual(moved, 1 << 20)
        self.assertEqual(sum(sum(series["bytes"]) for series in timeline["migrations"]["series"]), moved)

    def test_stalled_kernels(self):
        """A kernel of 1,000,500 ns, of which memory was moved for 500, and 100 later a fault served for 500."""
        page = self.analyze(self.make("hostile", "a.trace"), "-f", "html", status=(0, 3)).decode()
        timeline = json.loads(Tags(page).scripts["timeline"])
        self.assertEqual(timeline["shares"]["compute"], 1000500 - 600)
        self.assertEqual(timeline["shares"]["hidden"], 0)
        self.assertEqual(timeline["shares"]["exposed"], 3 * 2500000 + 600)

    # ---- hostile names --------------------------------------------------------------------------------

    def test_names_end_no_block(self):
        plain, _, _ = self.page(self.make("mixed", "plain.trace"))
        page, report, timeline = self.check(self.make("markup", "a.trace"))
        self.assertEqual(Tags(page).tags, Tags(plain).tags)
        markup = "</script><script>alert(1)</script><!--<script>-->"
        names = timeline["names"] + [of["site"] or "" for of in timeline["buffers"]]
        self.assertGreaterEqual(sum(markup in name for name in names), 2)  # whole, as data
        self.assertTrue(any(markup in place["label"] for place in timeline["places"]))
        self.assertIn(markup, report["run"]["program"])
        for block in re.findall(r'<script type="application/json"[^>]*>(.*?)</script>', page, re.S):
            self.assertIsNone(re.search("[<>&\u2028\u2029\x7f-\x9f]", block))
            self.assertIsNone(re.search(r"[\x00-\x1f]", block))
            self.assertIn("\\u003c/script\\u003e", block)

    # ---- size -----------------------------------------------------------------------------------------

    def test_million_transfers(self):
        """With sanitizers, which leave no bound of memory to hold, as many as are merged."""
        transfers = 150000 if SANITIZED else 1000000
        run = self.path("run")
        subprocess.run([BIG, str(transfers), "1", "4", "200", run], check=True)
        page, report, timeline = self.page(run, limit=None if SANITIZED else MOST_MEMORY)
        self.assertLess(len(page.encode()), MOST_BYTES)  # with as many versions of it as there are sets
        self.assertEqual(sum(row["transfers"] for row in report["transfers"]), transfers)
        self.assertEqual(self.sums(timeline["versions"][0], "copies")[0], transfers)
        slices = self.check_tracks(timeline["versions"][0])
        self.assertLessEqual(slices, MOST_SLICES)
        self.assertGreater(timeline["versions"][0]["resolution_ns"], 0)

    def test_polled_waits(self):
        """They are waits from the first query on; not where the thread worked between the queries. So are calls that
        wait in place of them."""
        arguments = (self.make("polled", "polled.trace"), "-p", "machine.json", "--assume", "polled-wait=yes")
        _, _, timeline = self.check(*arguments)
        recorded, advised = timeline["versions"]
        self.assertEqual(self.sums(recorded, "waits"), [2, 0, 2 * 100500])
        waits, _, ns = self.sums(advised, "waits")
        self.assertEqual(waits, 3)
        self.assertLess(ns, 2 * 100500)

    def test_single_events_of_a_long_run(self):
        """240,000 events (11 for 4 copies), at random times: each is there by itself."""
        run = self.path("run")
        subprocess.run([BIG, "87272", "1", "4", "200", run], check=True)
        page, _, timeline = self.page(run)
        self.assertLess(len(page.encode()), MOST_BYTES)
        recorded = timeline["versions"][0]
        self.assertEqual(recorded["resolution_ns"], 0)
        for kind in ("copies", "kernels", "waits"):
            self.assertEqual({count for track in recorded["tracks"] if track["kind"] == kind
                              for count in track["slices"]["count"]}, {1}, kind)

    def test_both_versions_merged(self):
        run = self.path("run")
        subprocess.run([BIG, "200000", "1", "4", "200", run], check=True)
        page, _, timeline = self.check(run, "-p", "machine.json")
        self.assertEqual(len(timeline["versions"]), 2)
        for version in timeline["versions"]:
            self.assertGreater(version["resolution_ns"], 0)

    # ---- output ---------------------------------------------------------------------------------------

    def test_full_disk(self):
        trace = self.make("mixed", "a.trace")
        with open("/dev/full", "wb") as full:
            done = subprocess.run([DRIVER, "analyze", trace, "-f", "html"], cwd=self.folder.name, stdout=full,
                                  stderr=subprocess.PIPE, check=False)
        self.assertEqual(done.returncode, 4)
        self.assertEqual(done.stderr.count(b"\n"), 1, done.stderr)

    # ---- what the build made --------------------------------------------------------------------------

    def test_policy_names_the_script(self):
        page, _, _ = self.page(self.make("mixed", "a.trace"))
        scripts = re.findall(r"<script>(.*?)</script>", page, re.S)
        self.assertEqual(len(scripts), 1)
        digest = b64encode(hashlib.sha256(scripts[0].encode()).digest()).decode()
        self.assertIn(f"script-src 'sha256-{digest}'", page)
        self.assertIn("default-src 'none'", page)
        self.assertIsNone(re.search(r"\b(?:src|href)=[\"']?(?:https?:)?//", page))

    def test_licences(self):
        page = Path(BUILT, "page.html").read_text(encoding="utf-8")
        kept = Path(BUILT, "page-licences.txt").read_text(encoding="utf-8")
        text = kept.split("In this script there is code of", 1)[1].strip()
        self.assertIn(text, page)
        source = Path(BUILT, "page.c").read_text()
        self.assertNotIn("/home", source[:300])
        array = bytes(int(byte, 16) for byte in re.findall("0x([0-9a-f]{2}),", source))
        self.assertEqual(array.decode(), page)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
