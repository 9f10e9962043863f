"""analyze --plan, from outside: what a plan has of the advice, what of it is to be carried out, how it is packed for
the library, and files that are none.

plan_test.py DRIVER MAKE_TRACE PLAN_SCHEMA PLAN_PACK
"""

import functools
import json
import os
import subprocess
import sys
import unittest

import jsonschema

from lab import Lab

SCHEMA, PACK = sys.argv[3:5]


class Plan(Lab):
    def plan_of(self, scenario, *more, argument="", status=0):
        self.make(scenario, "run.trace", argument)
        done = self.drive("analyze", "run.trace", "--no-profile", "--plan", "plan.json", *more)
        self.assertEqual(done.returncode, status, done.stderr.decode())
        self.said = done.stderr.decode()
        self.report = done.stdout.decode()
        return self.read()

    def read(self):
        with open(self.path("plan.json"), encoding="utf-8") as file:
            plan = json.load(file)
        self.check(plan)
        return plan

    def check(self, plan):
        with open(SCHEMA, encoding="utf-8") as file:
            jsonschema.Draft202012Validator(json.load(file)).validate(plan)

    def fits(self, plan):
        try:
            self.check(plan)
        except jsonschema.ValidationError:
            return False
        return True

    def pack(self, plan, status=0):
        """What the library gets of it: (class, step, kernels_keep, build id, offset, caller, text) of each site."""
        text = plan if isinstance(plan, str) else json.dumps(plan)
        with open(self.path("plan.json"), "w", encoding="utf-8") as file:
            file.write(text)
        done = subprocess.run([PACK, self.path("plan.json")], capture_output=True, check=False)
        self.assertEqual(done.returncode, status, done.stdout.decode() + done.stderr.decode())
        return done.stdout.decode().splitlines()

    def test_steps_are_the_findings(self):
        self.make("contents", "run.trace")
        report = json.loads(self.drive("analyze", "run.trace", "--no-profile", "-f", "json").stdout)
        plan = self.plan_of("contents")
        key = lambda one: (one["finding"] if "finding" in one else one["kind"], one["remedy"],
                           tuple(site.get("site", site.get("text")) for site in one["sites"]))
        self.assertEqual(sorted(map(key, plan["steps"])), sorted(map(key, report["findings"])))
        by = {key(one): one for one in report["findings"]}
        for step in plan["steps"]:
            finding = by[key(step)]
            self.assertEqual(step["saving_s"], {end: finding["saving_s"][end]
                                                for end in ("low", "likely", "high", "added")})
            self.assertEqual(step["in_set"], finding["saving_s"]["order"])
            self.assertEqual(step["assumes"], finding["saving_s"]["assumed"])
            self.assertEqual(step["parameters"], finding["parameters"])
        orders = [step["in_set"] for step in plan["steps"] if step["in_set"]]
        self.assertEqual(orders, list(range(1, len(orders) + 1)))
        self.assertEqual(plan["steps"][0]["in_set"], 1)
        self.assertIn("Findings", self.report.title())

    def test_small_uploads_are_not_left_out(self):
        """Nor those of page-locked memory."""
        repeated = [step for step in self.plan_of("contents")["steps"] if step["finding"] == "repeated-transfer" and step["in_set"]
                    and step["sites"][0]["function"] == "piece_a"]
        self.assertEqual([(step["by"], step["carry_out"]) for step in repeated], [(None, False)])
        self.assertIn("pageable memory, of 512 KiB and more", repeated[0]["why_not"])

    def test_what_is_carried_out(self):
        plan = self.plan_of("contents", argument="large")
        chosen = {(step["by"], step["sites"][0]["function"]): step for step in plan["steps"] if step["carry_out"]}
        self.assertEqual(set(chosen), {("leave-out", "piece_a")})
        site = chosen["leave-out", "piece_a"]["sites"][0]
        self.assertEqual((site["build_id"], site["offset"], site["file"].split("/")[-1], site["line"], site["caller"]),
                         ("01ab", "0x100a0", "app.c", 100, None))
        self.assertTrue(site["kernels_keep"])  # by the record: no kernel was given it to write
        for step in plan["steps"]:
            self.assertEqual(step["why_not"] is None, step["carry_out"], step)
        fetched = [step for step in plan["steps"] if step["sites"][0]["function"] == "fetch_result"
                   and step["remedy"] == "keep"]
        self.assertEqual(fetched[0]["by"], None)
        python = [step for step in plan["steps"] if step["sites"][0]["python"] and step["by"]]
        self.assertEqual([step["why_not"] for step in python],
                         ["its call sites are neither places in a module with a build id nor lines of "
                          "Python files that are as they were"])
        self.assertIn(f"{len(plan['steps'])} steps, 1 of them to be carried out", self.said)

    def test_packed(self):
        plan = self.plan_of("contents", argument="large")
        self.assertEqual(self.pack(plan), ["leave-out 1 1 01ab 0x100a0 - piece_a (app.c:100)",
                                           "leave-out 1 1 01ab 0x100b0 - piece_b (app.c:101)"])
        step = plan["steps"][0]
        step["sites"][0]["kernels_keep"] = False
        step["sites"][1]["caller"] = {"build_id": "02cd", "offset": "0x77"}
        step["sites"].append(dict(step["sites"][0], direction="D2H"))  # another row of the same place
        self.check(plan)
        self.assertEqual(self.pack(plan), ["leave-out 1 0 01ab 0x100a0 - piece_a (app.c:100)",
                                           "leave-out 1 1 01ab 0x100b0 02cd+0x77 piece_b (app.c:101)"])
        step["carry_out"] = False
        self.assertEqual(self.pack(plan), [])

    def test_what_is_only_to_be_read_may_be_missing(self):
        site = {"site": "f (a.c:1)", "build_id": "aa", "offset": "0x10"}
        plan = {"schema": "xferscope-plan", "version": 1, "steps": [
            {"finding": "repeated-allocation", "remedy": "allocate-once", "by": "pool", "carry_out": True, "sites": [site]}]}
        self.check(plan)
        self.assertEqual(self.pack(plan), ["pool 1 0 aa 0x10 - f (a.c:1)"])

    def test_a_step_that_places_memory_has_a_node(self):
        site = {"site": "f (a.c:1)", "build_id": "aa", "offset": "0x10"}
        step = {"finding": "remote-numa-node", "remedy": "near-node", "by": "placement", "carry_out": True, "sites": [site]}
        for node, wanted in ((1, None), (0, None), (1024, "node"), (-1, "node"), (None, "node")):
            plan = {"schema": "xferscope-plan", "version": 1, "steps": [
                {**step, "parameters": {} if node is None else {"node": node}}]}
            with self.subTest(node):
                self.assertEqual(self.fits(plan), wanted is None)
                lines = self.pack(plan, status=2 if wanted else 0)
                if wanted:
                    self.assertIn('"parameters" is to be an object with the "node"', lines[0])
                else:
                    self.assertEqual(lines, [f"placement 1 0 aa 0x10 - node {node} f (a.c:1)"])

    def test_kernels_that_only_read(self):
        site = {"site": "f (a.c:1)", "build_id": "aa", "offset": "0x10"}
        step = {"finding": "x", "remedy": "y", "by": "streams", "carry_out": True, "sites": [site],
                "kernels_read": [{"kernel": "turn", "arguments": [1, 4]}, {"kernel": "_Z3addPKf", "arguments": [64]}]}
        plan = {"schema": "xferscope-plan", "version": 1, "steps": [step]}
        hashed = lambda name: functools.reduce(lambda h, c: (h ^ c) * 1099511628211 % 2**64, name.encode(), 14695981039346656037)
        self.check(plan)
        self.assertEqual(self.pack(plan)[1:], [f"reads {hashed('turn'):016x} 9", f"reads {hashed('_Z3addPKf'):016x} {1 << 63:x}"])
        step["carry_out"] = False
        self.assertEqual(self.pack(plan), [])
        step["carry_out"] = True
        for wrong, why in (([{"kernel": "turn", "arguments": []}], '"arguments" is to be a list of numbers'),
                           ([{"kernel": "turn", "arguments": [0]}], '"arguments" is to be'),
                           ([{"kernel": "turn", "arguments": [65]}], '"arguments" is to be'),
                           ([{"kernel": "turn", "arguments": ["1"]}], '"arguments" is to be'),
                           ([{"arguments": [1]}], '"kernel" is to be a text'),
                           (65 * [{"kernel": "turn", "arguments": [1]}], '"kernels_read" is to be a list of at most 64'),
                           ({}, '"kernels_read" is to be')):
            with self.subTest(why):
                step["kernels_read"] = wrong
                self.assertFalse(self.fits(plan))
                self.assertIn(why, self.pack(plan, status=2)[0])
        step.update(by="pool", kernels_read=[{"kernel": "turn", "arguments": [1]}])
        self.assertFalse(self.fits(plan))
        self.assertIn('"kernels_read" is to be', self.pack(plan, status=2)[0])
        other = {**step, "by": "streams", "kernels_read": 40 * [{"kernel": "turn", "arguments": [1]}]}
        self.assertIn("64 kernels", self.pack({**plan, "steps": [other, other]}, status=2)[0])

    def test_too_many(self):
        plan = {"schema": "xferscope-plan", "version": 1, "steps": [
            {"finding": "x", "remedy": "y", "by": "pool", "carry_out": True,
             "sites": [{"site": str(i), "build_id": "aa", "offset": hex(i)} for i in range(257)]}]}
        self.assertIn("more than 256 call sites", self.pack(plan, status=2)[0])
        plan["steps"][0]["sites"].pop()
        self.assertEqual(len(self.pack(plan)), 256)
        for i, site in enumerate(plan["steps"][0]["sites"][:65]):
            site["build_id"] = f"{i:02x}00"
        self.assertIn("64 modules", self.pack(plan, status=2)[0])

    def test_bad_files(self):
        site = {"site": "f (a.c:1)", "build_id": "aa", "offset": "0x10"}
        step = {"finding": "x", "remedy": "y", "by": "pool", "carry_out": True, "sites": [site]}
        whole = {"schema": "xferscope-plan", "version": 1, "steps": [step]}
        cases = [
            ("no JSON", "{", "line 1"),
            ("another schema", {**whole, "schema": "xferscope-gate"}, "not a plan"),
            ("another version", {**whole, "version": 2}, '"version" is to be 1'),
            ("no steps", {key: whole[key] for key in ("schema", "version")}, '"steps" is to be a list'),
            ("too many steps", {**whole, "steps": [step] * 257}, "at most 256"),
            ("a step without a kind", {**whole, "steps": [step, {"remedy": "y"}]},
             'steps, number 2: "finding" is to be a text'),
            ("a class that is none", {**whole, "steps": [{**step, "by": "magic"}]}, "leave-out, pool"),
            ("what nothing does", {**whole, "steps": [{**step, "by": None}]}, '"carry_out" is to be false'),
            ("granted to another class", {**whole, "steps": [{**step, "by": "pool", "kernels_apart": True}]},
             '"kernels_apart" is to be'),
            ("granted for nothing", {**whole, "steps": [{**step, "sites": [{**site, "kernels_keep": True}]}]},
             '"kernels_keep" is to be'),
            ("a choice that is none", {**whole, "steps": [{**step, "carry_out": 1}]}, '"carry_out" is to be true'),
            ("no offset", {**whole, "steps": [{**step, "sites": [site, {"site": "g", "build_id": "aa"}]}]},
             'steps, number 1, sites, number 2: "offset" is to be'),
            ("a bad offset", {**whole, "steps": [{**step, "sites": [{**site, "offset": "16"}]}]}, '"offset" is to be'),
            ("a large offset", {**whole, "steps": [{**step, "sites": [{**site, "offset": "0x1" + 16 * "0"}]}]},
             '"offset" is to be'),
            ("a bad build id", {**whole, "steps": [{**step, "sites": [{**site, "build_id": "abc"}]}]},
             '"build_id" is to be'),
            ("a long build id", {**whole, "steps": [{**step, "sites": [{**site, "build_id": 65 * "aa"}]}]},
             '"build_id" is to be'),
            ("a caller that is none", {**whole, "steps": [{**step, "sites": [{**site, "caller": 7}]}]},
             '"caller" is to be'),
            ("sites that are none", {**whole, "steps": [{**step, "sites": {}}]}, '"sites" is to be'),
        ]
        for name, plan, wanted in cases:
            with self.subTest(name):
                lines = self.pack(plan, status=2)
                self.assertEqual(len(lines), 1)
                self.assertIn(wanted, lines[0])
                if not isinstance(plan, str):
                    self.assertFalse(self.fits(plan), "the schema allows it")

    def test_the_options(self):
        self.make("contents", "run.trace")
        for words, wanted in ((("--plan", ""), "lacks a file name"), (("--plan", "-"), "name of a file"),
                              (("--plan", "p", "-o", "p"), "same file"), (("--plan", "p", "--per-transfer"), "--plan"),
                              (("--plan", "run.trace"), "would replace"),
                              (("--plan", "p", "--gate-write", "g"), "no --plan")):
            done = self.drive("analyze", "run.trace", *words)
            self.assertEqual(done.returncode, 2, words)
            self.assertIn(wanted, done.stderr.decode())
        self.assertEqual(os.listdir(self.folder.name), ["run.trace"])
        done = self.drive("analyze", "run.trace", "--no-profile", "--plan", "none/plan.json")
        self.assertEqual(done.returncode, 4)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
