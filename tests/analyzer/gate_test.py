"""analyze --gate and --gate-write, from outside: what a gate holds, each rule, exceptions, the formats, bad files.

gate_test.py DRIVER MAKE_TRACE GATE_SCHEMA
"""

import json
import os
import re
import sys
import unittest
import xml.etree.ElementTree

import jsonschema

from lab import Lab

SCHEMA = sys.argv[3]
PASSES, NOTHING, USAGE, OUTPUT, GATED = 0, 1, 2, 4, 6


class Gate(Lab):
    def setUp(self):
        super().setUp()
        self.make("compare", "before.trace", "before:0")  # pageable frames, upload_frame at lines 20 and 27
        self.make("compare", "after.trace", "after:0")  # pinned frames, three lines further down; check, no save

    def analyze(self, *arguments, status=0, **settings):
        done = self.drive("analyze", *arguments, settings={"LC_ALL": "C.UTF-8", **settings})
        self.assertEqual(done.returncode, status, done.stderr.decode())
        return done.stdout.decode(), done.stderr.decode().splitlines()

    def gate_of(self, run, name="gate.json", *more):
        self.analyze(run, "--gate-write", name, *more)
        return self.read(name)

    def read(self, name):
        with open(self.path(name), encoding="utf-8") as file:
            gate = json.load(file)
        with open(SCHEMA, encoding="utf-8") as file:
            jsonschema.validate(gate, json.load(file))
        return gate

    def write(self, gate, name="gate.json"):
        with open(self.path(name), "w", encoding="utf-8") as file:
            json.dump(gate, file)
        self.read(name)

    def judge(self, run, status, *more):
        """What is broken: (function, rule), and the messages."""
        out, _ = self.analyze(run, "--gate", "gate.json", "-f", "json", *more, status=status)
        verdict = json.loads(out)
        self.assertEqual(verdict["passed"], status == PASSES)
        broken = {(row["site"].split(" ")[0], one["rule"]): one["message"]
                  for row in verdict["rows"] for one in row["broken"]}
        return broken, verdict

    # ---- the rules --------------------------------------------------------------------------

    def test_a_run_passes_its_own_gate(self):
        gate = self.gate_of("before.trace")
        self.assertEqual({(site["function"], site["transfers"], site["src_memory"]) for site in gate["sites"]},
                         {("upload_frame", 24, "pageable"), ("upload_frame", 24, "pinned"), ("save", 6, "device"),
                          ("finish", 1, "device")})
        self.assertEqual(self.judge("before.trace", PASSES)[0], {})

    def test_lines_may_move_and_memory_may_become_better(self):
        gate = self.gate_of("before.trace")
        gate["exceptions"] = [{"site": "check", "rules": ["new-site", "pageable"]}]  # of the run after
        self.write(gate)
        self.assertEqual(self.judge("after.trace", PASSES)[0], {})

    def test_memory_that_becomes_pageable(self):
        self.gate_of("after.trace")
        broken, _ = self.judge("before.trace", GATED)
        self.assertEqual(set(broken), {("upload_frame", "pageable"), ("save", "new-site")} | {("save", "pageable")})
        self.assertIn("the gate has pinned memory here", broken["upload_frame", "pageable"])

    def test_a_site_that_is_not_known(self):
        self.gate_of("before.trace")
        broken, _ = self.judge("after.trace", GATED)
        self.assertEqual({site for site, _ in broken}, {"check"})

    def test_more_calls_and_bytes(self):
        gate = self.gate_of("before.trace")
        for site in gate["sites"]:
            if site["function"] == "save":
                site["transfers"], site["bytes"] = 5, site["bytes"] - 1
        self.write(gate)
        broken, _ = self.judge("before.trace", GATED)
        self.assertEqual(set(broken), {("save", "calls"), ("save", "bytes")})
        self.assertEqual(broken["save", "calls"], "6 transfers, where 5 are allowed")
        self.assertEqual(broken["save", "bytes"], "393216 bytes, where 393215 are allowed")
        gate["more_percent"] = 20
        self.write(gate)
        self.assertEqual(self.judge("before.trace", PASSES)[0], {})
        gate["more_percent"] = 19
        self.write(gate)
        self.assertEqual(set(self.judge("before.trace", GATED)[0]), {("save", "calls")})

    def test_fewer_pass(self):
        gate = self.gate_of("before.trace")
        for site in gate["sites"]:
            site["transfers"] += 1
            site["bytes"] += 1
        gate["sites"].append(dict(gate["sites"][0], function="gone", file="gone.c", site="gone (gone.c:1)"))
        self.write(gate)
        self.assertEqual(self.judge("before.trace", PASSES)[0], {})

    def test_asynchronous_calls_that_block(self):
        self.make("gate", "locked.trace", "pinned")
        self.make("gate", "strided.trace", "pageable")
        self.gate_of("locked.trace")
        broken, _ = self.judge("strided.trace", GATED)
        self.assertEqual(set(broken), {("upload", "blocking")})
        self.assertIn("cudaMemcpyAsync blocks", broken["upload", "blocking"])
        gate = self.read("gate.json")
        gate["rules"]["blocking"] = False
        self.write(gate)
        self.assertEqual(set(self.judge("strided.trace", GATED)[0]), {("upload", "pageable")})
        gate["rules"]["pageable"] = False
        self.write(gate)
        self.assertEqual(self.judge("strided.trace", PASSES)[0], {})

    def test_exceptions(self):
        gate = self.gate_of("after.trace")
        gate["exceptions"] = [{"site": "save", "rules": ["new-site", "pageable"], "why": "once an hour"},
                              {"site": "upload_*", "rules": ["calls"]}]
        self.write(gate)
        broken, verdict = self.judge("before.trace", GATED)
        self.assertEqual(set(broken), {("upload_frame", "pageable")})
        self.assertEqual({row["allowed_by"] for row in verdict["rows"]}, {None, "save"})

    def test_phase(self):
        self.make("gate", "locked.trace", "pinned")
        self.make("gate", "strided.trace", "pageable")
        gate = self.gate_of("locked.trace", "gate.json", "--phase", "load")
        self.assertEqual((gate["phase"], [site["function"] for site in gate["sites"]]), ("load", ["read"]))
        self.assertEqual(self.judge("strided.trace", PASSES)[0], {})  # what blocks is in "train"
        self.gate_of("locked.trace", "gate.json", "--phase", "train")
        self.assertEqual(set(self.judge("strided.trace", GATED)[0]), {("upload", "blocking")})
        gate = self.read("gate.json")
        gate["phase"] = "gone"
        self.write(gate)
        _, said = self.analyze("locked.trace", "--gate", "gate.json", status=NOTHING)
        self.assertIn("nothing matches --phase gone", said[-1])

    # ---- the formats ------------------------------------------------------------------------

    def test_text(self):
        self.gate_of("after.trace")
        out, _ = self.analyze("before.trace", "--gate", "gate.json", status=GATED)
        self.assertEqual(out.splitlines()[0], "gate gate.json: 2 of 4 rows of transfers are not allowed")
        self.assertIn("    pageable  the memory is pageable (the gate has pinned memory here)\n", out)
        out, _ = self.analyze("after.trace", "--gate", "gate.json")
        self.assertEqual(out, "gate gate.json: all 4 rows of transfers are allowed\n")

    def test_github(self):
        self.gate_of("after.trace")
        out, _ = self.analyze("before.trace", "--gate", "gate.json", "-f", "github", status=GATED,
                              GITHUB_WORKSPACE="/src")
        errors = [line for line in out.splitlines() if line.startswith("::error ")]
        self.assertEqual(len(errors), 3)
        for line in errors:
            match = re.fullmatch(r"::error file=([^,:]+),line=(\d+),title=([^:]+)::(.+)", line)
            self.assertTrue(match, line)
            self.assertFalse(os.path.isabs(match[1]))

    def test_sarif(self):
        self.gate_of("after.trace")
        out, _ = self.analyze("before.trace", "--gate", "gate.json", "-f", "sarif", status=GATED,
                              GITHUB_WORKSPACE="/src")
        document = json.loads(out)
        (run,) = document["runs"]
        rules = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
        self.assertEqual(document["version"], "2.1.0")
        self.assertEqual(len(run["results"]), 3)
        for result in run["results"]:
            self.assertEqual(rules[result["ruleIndex"]], result["ruleId"])
            place = result["locations"][0]["physicalLocation"]
            self.assertEqual(place["artifactLocation"]["uriBaseId"], "%SRCROOT%")
            self.assertGreater(place["region"]["startLine"], 0)

    def test_junit(self):
        self.gate_of("after.trace")
        out, _ = self.analyze("before.trace", "--gate", "gate.json", "-f", "junit", status=GATED)
        suites = xml.etree.ElementTree.fromstring(out)
        cases = suites.findall("testsuite/testcase")
        failed = [case for case in cases if case.find("failure") is not None]
        self.assertEqual((suites.get("tests"), suites.get("failures")), ("4", "2"))
        self.assertEqual((len(cases), len(failed)), (4, 2))

    # ---- bad input --------------------------------------------------------------------------

    def test_bad_gates(self):
        gate = self.gate_of("before.trace")
        cases = (("no JSON", "{", "line 1"),
                 ("another schema", json.dumps({"schema": "xferscope-report", "version": 1}), "not a gate"),
                 ("a list", "[]", "not a gate"),
                 ("a later version", json.dumps({**gate, "version": 2}), '"version"'),
                 ("an unknown rule", json.dumps({**gate, "rules": {"times": True}}), '"times"'),
                 ("no rules", json.dumps({**gate, "rules": [1]}), '"rules"'),
                 ("below zero", json.dumps({**gate, "more_percent": -1}), '"more_percent"'),
                 ("an unknown word", json.dumps({**gate, "sites": [{**gate["sites"][0], "direction": "up"}]}),
                  'sites, number 1: "direction"'),
                 ("no count", json.dumps({**gate, "sites": [gate["sites"][0], {**gate["sites"][0], "bytes": -1}]}),
                  'sites, number 2: "bytes"'),
                 ("a site that is none", json.dumps({**gate, "sites": [7]}), "sites, number 1"),
                 ("an exception to nothing", json.dumps({**gate, "exceptions": [{"site": "a", "rules": ["x"]}]}),
                  'exceptions, number 1: "rules"'),
                 ("twice the same", '{"schema": "xferscope-gate", "schema": "xferscope-gate"}', "duplicate"))
        for name, text, wanted in cases:
            with self.subTest(name):
                with open(self.path("bad.json"), "w", encoding="utf-8") as file:
                    file.write(text)
                out, said = self.analyze("before.trace", "--gate", "bad.json", status=USAGE)
                self.assertEqual((out, len(said)), ("", 1))
                self.assertIn(wanted, said[0])

    def test_usage(self):
        self.gate_of("before.trace")
        for wrong in (("--gate", "gate.json", "--gate-write", "other.json"), ("--gate", "gate.json", "-f", "html"),
                      ("--gate", "gate.json", "--phase", "train"), ("--gate", "gate.json", "--site", "save"),
                      ("--gate", "gate.json", "--per-transfer"), ("--gate-write", "a.json", "-o", "b.json"),
                      ("--gate", "gate.json", "-o", "gate.json"), ("--gate-write", "before.trace"), ("--gate", "")):
            with self.subTest(wrong):
                out, said = self.analyze("before.trace", *wrong, status=USAGE)
                self.assertEqual((out, len(said)), ("", 1))
        self.analyze("before.trace", "--gate", "nowhere.json", status=USAGE)
        self.analyze("nowhere.trace", "--gate", "gate.json", status=NOTHING)
        self.analyze("before.trace", "--gate-write", "/nowhere/gate.json", status=OUTPUT)
        self.analyze("before.trace", "--gate", "gate.json", "-o", "/dev/full", status=OUTPUT)

    def test_another_program_is_named(self):
        gate = self.gate_of("before.trace")
        gate["program"] = "other"
        self.write(gate)
        _, said = self.analyze("before.trace", "--gate", "gate.json")
        self.assertEqual(len(said), 1)
        self.assertIn("the gate is of other", said[0])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
