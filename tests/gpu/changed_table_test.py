#!/usr/bin/env python3
"""changed_table.py with a stand-in for `xferscope analyze`, which prints what is in the trace."""
import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent


def report(alone, with_set=None, saving=(0, 0, 0), findings=(), **more):
    return {"whatif": {"known": True, "span": {"recorded_s": alone, "alone_s": alone, "with_set_s": with_set},
                       "set_saving_s": dict(zip(("low", "likely", "high"), saving)), **more},
            "findings": list(findings)}


def finding(kind, high=0.001, question=None, idle=False, in_set=True, likely=None, text="step (app.cu:5)"):
    question = question and {"text": question, "likely_s": likely, "likely_span_s": likely, "up_to_s": 2 * high, "up_to_span_s": high}
    return {"kind": kind, "question": question, "saving_s": {"high": high, "idle": idle}, "sites": [{"in_set": in_set, "text": text}]}


class ChangedTableTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        (self.folder / "bin").mkdir()
        tool = self.folder / "bin" / "xferscope"
        tool.write_text('#!/bin/sh\ncat "$2"\n')
        tool.chmod(0o755)
        self.runs, self.programs = [], []

    def ran(self, name, way, what, status="0"):
        number = len(self.runs) + 1
        trace = f"{number}.xft"
        (self.folder / trace).write_text(json.dumps(what))
        self.runs.append("\t".join([name, way, str(number), "1.0", status, trace, ""]))
        if name not in self.programs:
            self.programs.append(name)

    def pair(self, name, before, after, recorded):
        self.ran(f"{name}.before", "light", report(before))
        self.ran(f"{name}.after", "light", report(after))
        self.ran(f"{name}.before", "recorded", recorded)

    def table(self, *options):
        (self.folder / "runs.tsv").write_text("".join(line + "\n" for line in self.runs))
        (self.folder / "programs.json").write_text(json.dumps([{"name": name} for name in self.programs]))
        done = subprocess.run([sys.executable, str(HERE / "changed_table.py"), str(self.folder), str(self.folder), "profile",
                               *options],
                              capture_output=True, text=True, check=False)
        entries = json.loads((self.folder / "changed.json").read_text()) if done.returncode < 2 else []
        return done.returncode, done.stdout + done.stderr, {entry["name"]: entry for entry in entries}

    def test_inside_and_near(self):
        """As parts of the span: a recorded run that took longer predicts the same part."""
        self.pair("a/one", 0.100, 0.080, report(0.200, 0.158, (0.030, 0.042, 0.050), [finding("small-transfers")]))
        status, text, entries = self.table()
        self.assertEqual(status, 0, text)
        self.assertIn("| a/one | 100.000 | 80.000 | +20.0% | 21.0% | 15.0% to 25.0% | yes | yes | small-transfers; small-transfers |  |", text)
        self.assertIn("saved over 2%: 1; inside 1, near 1", text)
        self.assertTrue(entries["a/one"]["changed"])

    def test_outside(self):
        self.pair("a/one", 0.100, 0.060, report(0.100, 0.080, (0.010, 0.020, 0.030), [finding("small-transfers")]))
        entry = self.table()[2]["a/one"]
        self.assertEqual((entry["inside"], entry["near"]), (False, False))

    def test_a_question(self):
        """What it says at most counts for the bounds, not for what is likely."""
        self.pair("a/one", 0.100, 0.060, report(0.100, 0, (None, None, None), [finding("round-trip", 0.050, "if?", True, False)]))
        status, text, entries = self.table()
        self.assertEqual((status, entries["a/one"]["inside"], entries["a/one"]["near"]), (0, True, False))
        self.assertIn("| round-trip up to 50% |  |", text)
        self.assertIsNone(entries["a/one"]["answered"])

    def test_answered(self):
        """Of several questions the one whose answer is likely to save what was saved; it does not count as near."""
        asked = [finding("round-trip", 0.050, "if?", True, False, likely) for likely in (0.010, 0.041, None)]
        self.pair("a/one", 0.100, 0.060, report(0.100, 0, (None, None, None), asked))
        self.pair("a/two", 0.100, 0.060, report(0.100, 0, (None, None, None), asked[:1]))
        _, text, entries = self.table()
        self.assertEqual([entries[name]["near"] for name in ("a/one", "a/two")], [False, False])
        self.assertIn("| round-trip 41.0% |", text)
        self.assertIn("a question whose answer has a figure: 2; that one is near in 1", text)

    def test_nothing_advised(self):
        """At best what is missed (best_alone_s); what hardly changed is counted apart."""
        self.pair("a/one", 0.100, 0.097, report(0.100, 0, best_alone_s={"high": 0.004}))
        self.pair("a/two", 0.100, 0.100, report(0.100, 0.090, (0.010, 0.010, 0.010), [finding("small-transfers")]))
        _, text, entries = self.table()
        self.assertTrue(entries["a/one"]["inside"])
        self.assertIn("saved no more: 1; of these over 2% is advised in 1", text)

    def test_the_run_in_the_middle(self):
        for alone in (0.3, 0.1, 0.2):
            self.pair("a/one", alone, 0.1, report(alone, alone * (1 - alone), (alone, alone, alone)))
        entry = self.table()[2]["a/one"]
        self.assertAlmostEqual(entry["saved"], 0.5)
        self.assertAlmostEqual(entry["predicted"]["likely"], 0.2)

    def test_single_runs(self):
        """By the medians 50 of 100 are saved: so say 100 and 50, and 100 and 52; 100 and 30, and all with 70, do not."""
        for alone in (0.1, 0.1, 0.07):
            self.ran("a/one.before", "light", report(alone))
        for alone in (0.05, 0.052, 0.03):
            self.ran("a/one.after", "light", report(alone))
        self.ran("a/one.before", "recorded", report(0.1))
        _, text, entries = self.table()
        self.assertAlmostEqual(entries["a/one"]["pairs_near"], 4 / 9)
        self.assertIn("of pairs of single runs of these: near 44%", text)

    def test_not_measured(self):
        self.pair("a/one", 0.1, 0.1, {"whatif": {"known": False}, "findings": []})
        self.ran("a/two.before", "light", report(0.1), status="1")
        status, text, _ = self.table()
        self.assertEqual(status, 1)
        self.assertEqual(text.count("not measured"), 2)

    def answering(self):
        """Another stand-in, which prints ALONE for what is assumed, and keeps the answers."""
        tool = self.folder / "bin" / "xferscope"
        tool.write_text(f'#!/bin/sh\ntrace=$2; shift 6\n[ $# -gt 0 ] && printf "%s\\n" "$@" >{self.folder}/answers && trace=$trace.alone\n'
                        'cat "$trace"\n')

    def changes(self, text, alone):
        self.answering()
        self.pair("a/one", 0.100, 0.080, report(0.100, 0.060, (0.030, 0.040, 0.050), [
            finding("small-transfers"), finding("small-transfers", text="load (app.cu:9)"), finding("round-trip")]))
        (self.folder / "3.xft.alone").write_text(json.dumps(alone))
        (self.folder / "changes").write_text(text)
        status, text, entries = self.table("--changes", str(self.folder / "changes"))
        self.assertEqual(status, 0, text)
        return text, entries["a/one"]["alone"], (self.folder / "answers").read_text().split("\n")

    def test_the_author_alone(self):
        """All other kinds are left out, and other sites of the kind; what is then predicted is near where the set was not."""
        alone = report(0.100, 0.079, (0.018, 0.021, 0.030), [finding("small-transfers")])
        text, entry, answers = self.changes("# made by hand\na/one small-transfers@app.cu:5,early-wait=yes\n", alone)
        self.assertIn("| no | no | small-transfers; round-trip, small-transfers |  |  | small-transfers@app.cu:5, early-wait=yes | 21.0% | "
                      "18.0% to 30.0% | yes | yes |", text)
        self.assertIn("the author's change alone: of 1 inside 1, near 1; not found: 0", text)
        self.assertIn("round-trip=no", answers)
        self.assertIn("small-transfers@load (app.cu:9)=no", answers)
        self.assertIn("early-wait=yes", answers)
        self.assertFalse({"small-transfers=no", "early-wait=no", "small-transfers@step (app.cu:5)=no"} & set(answers))
        self.assertTrue(entry["near"])

    def test_not_found(self):
        text, entry, _ = self.changes("a/one early-wait", report(0.100, 0.079, (0.018, 0.021, 0.030), [finding("small-transfers")]))
        self.assertIn("| early-wait | not found | | | |", text)
        self.assertIn("of 0 inside 0, near 0; not found: 1", text)
        self.assertFalse(entry["found"])

    def test_no_such_kind(self):
        self.pair("a/one", 0.1, 0.1, report(0.1))
        (self.folder / "changes").write_text("a/one smaller-transfers\n")
        self.assertEqual(self.table("--changes", str(self.folder / "changes"))[0], 2)

    def test_no_pairs(self):
        self.ran("a/one", "light", report(0.1))
        self.assertEqual(self.table()[0], 2)


if __name__ == "__main__":
    unittest.main()
