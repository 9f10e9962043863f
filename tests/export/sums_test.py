"""export's sums: folded stacks, Speedscope's profiles and OpenMetrics, read by readers of their formats.

XFERSCOPE_SPEEDSCOPE_SCHEMA is the schema that Speedscope publishes; without it (no npm) what that says of
the keys we write is checked here."""

import collections
import json
import math
import os
import re
import unittest

import jsonschema
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from lab import DATA, QUOTED, SharedLab, Sums

SCHEMA = os.environ.get("XFERSCOPE_SPEEDSCOPE_SCHEMA", "")

# What our own profiles are, by the words of the published schema, for where that cannot be had.
OUR_SCHEMA = {
    "type": "object", "required": ["$schema", "shared", "profiles"],
    "properties": {
        "$schema": {"const": "https://www.speedscope.app/file-format-schema.json"},
        "shared": {"type": "object", "required": ["frames"], "additionalProperties": False, "properties": {
            "frames": {"type": "array", "items": {
                "type": "object", "required": ["name"], "additionalProperties": False, "properties": {
                    "name": {"type": "string"}, "file": {"type": "string"}, "line": {"type": "number"}}}}}},
        "profiles": {"type": "array", "items": {
            "type": "object", "additionalProperties": False,
            "required": ["endValue", "name", "samples", "startValue", "type", "unit", "weights"],
            "properties": {
                "type": {"const": "sampled"}, "name": {"type": "string"}, "startValue": {"type": "number"},
                "endValue": {"type": "number"}, "unit": {"enum": ["bytes", "nanoseconds"]},
                "samples": {"type": "array", "items": {"type": "array", "items": {"type": "number"}}},
                "weights": {"type": "array", "items": {"type": "number"}}}}},
        "name": {"type": "string"}, "activeProfileIndex": {"type": "number"}, "exporter": {"type": "string"}},
}

LEAF = re.compile(r"(.*) (\w+), ([a-z-]+) to ([a-z-]+)", re.S)


class Stacks(SharedLab):
    def folded(self, *arguments):
        """{(frames): weight}"""
        stacks = collections.Counter()
        for line in self.export(*arguments, "-f", "folded").decode().split("\n")[:-1]:
            frames, _, weight = line.rpartition(" ")
            self.assertRegex(weight, r"^[1-9]\d*$")
            self.assertTrue(all(frames.split(";")), line)
            stacks[tuple(frames.split(";"))] += int(weight)
        return stacks

    def profiles(self, *arguments):
        root = json.loads(self.export(*arguments, "-f", "speedscope"))
        validator().validate(root)
        frames, found = root["shared"]["frames"], []
        self.assertEqual(len({json.dumps(frame, sort_keys=True) for frame in frames}), len(frames))
        for profile in root["profiles"]:
            stacks = collections.Counter()
            self.assertEqual(len(profile["samples"]), len(profile["weights"]))
            self.assertEqual(sum(profile["weights"]), profile["endValue"] - profile["startValue"])
            for sample, weight in zip(profile["samples"], profile["weights"]):
                stacks[tuple(f"{frames[i]['name']}{frames[i].get('line', '')}" for i in sample)] += weight
            found.append((profile["unit"], stacks))
        self.assertEqual([unit for unit, _ in found], ["bytes"] + ["nanoseconds"] * (len(found) - 1))
        self.assertIn(len(found), (3, 4))  # with time in messages, where there are any
        return [stacks for _, stacks in found]

    def by_class(self, stacks):
        sums = collections.Counter()
        for frames, weight in stacks.items():
            leaf = LEAF.fullmatch(frames[-1])
            sums[self.class_of(*leaf.groups()[1:])] += weight
        return sums

    def test_sums_are_those_of_the_report(self):
        for run in self.runs():
            reported = self.reported(*run)
            size, time, *_ = self.profiles(*run)
            for stacks in (self.folded(*run), size):
                self.assertEqual(self.by_class(stacks), {k: s.bytes for k, s in reported.items() if s.bytes}, run)
            for stacks in (self.folded(*run, "--weight", "time"), time):
                found = self.by_class(stacks)
                for key, sums in reported.items():
                    self.assertAlmostEqual(found[key], sums.ns, delta=len(stacks) + sums.ns * 1e-9, msg=(run, key))

    def test_savings_add_up_to_the_best_set(self):
        saved = 0
        for run in self.runs():
            set_s = (self.analyze(*run)["whatif"] or {}).get("set_saving_s") or {}
            likely = max(0, set_s.get("likely") or 0) * 1e9
            for stacks in (self.folded(*run, "--weight", "saving"), self.profiles(*run)[2]):
                self.assertAlmostEqual(sum(stacks.values()), likely, delta=len(stacks) + 1, msg=run)
            saved += likely > 0
        self.assertGreater(saved, 2)

    def test_stacks_are_those_of_the_trace(self):
        """Its outermost frame first, the call behind the innermost."""
        stacks = self.folded(str(DATA / "h200-pytorch.xft"))
        frames = max(stacks, key=stacks.get)
        self.assertEqual(frames[:4], ("<module> (train.py:122)", "main (train.py:114)", "train (train.py:86)",
                                      "move_batch (train.py:61)"))
        self.assertEqual(frames[-1], "cudaMemcpyAsync H2D, pageable to device")
        names = [tuple(re.sub(r" \([^()]*(:\d+|\.so[.\d]*|\.\d+)\)$", "", f) for f in stack[:4]) for stack in stacks]
        self.assertIn(("<module>", "main", "train", "move_batch"), names)
        size, _, _ = self.profiles(str(DATA / "h200-pytorch.xft"))
        self.assertEqual(sorted(size.values()), sorted(stacks.values()))
        self.assertEqual(max(size, key=size.get)[:4], ("<module>122", "main114", "train86", "move_batch61"))

    def test_time_in_messages_is_the_reports(self):
        ranks = [self.make("exchange", f"{rank}nccl", f"nccl{rank}.trace") for rank in range(4)]
        reported = {}
        for row in self.analyze(*ranks, "--no-profile")["messages"]["rows"]:
            reported[row["function"]] = reported.get(row["function"], 0) + round(row["time_s"] * 1e9)
        profiles = self.profiles(*ranks, "--no-profile")
        self.assertEqual(len(profiles), 4)
        for stacks in (self.folded(*ranks, "--no-profile", "--weight", "messages"), profiles[3]):
            found = {}
            for frames, weight in stacks.items():
                self.assertGreater(len(frames), 1)
                found[frames[-1]] = found.get(frames[-1], 0) + weight
            self.assertEqual(found, reported)
        self.assertFalse([frames for frames in self.folded(*ranks, "--no-profile", "--weight", "time")
                          if frames[-1].startswith(("MPI_", "nccl"))])
        self.assertEqual(len(self.profiles(self.make("mixed"))), 3)

    def test_weights(self):
        trace = self.make("mixed")
        self.assertEqual(self.folded(trace), self.folded(trace, "--weight", "bytes"))
        self.assertNotEqual(self.folded(trace), self.folded(trace, "--weight", "time"))

    def test_hostile_text(self):
        for name in ("folded", "speedscope", "openmetrics"):
            text = self.export(self.make("hostile"), "-f", name).decode()
            self.assert_clean(text)
            self.assertFalse([line for line in text.split("\n") if line.startswith("FAKE")])
        self.assertTrue(self.folded(self.make("hostile")))

    def test_semicolons(self):
        ((frames, weight),) = self.folded(self.make("quoted")).items()
        self.assertEqual((frames[:-1], weight), ((f"{QUOTED.replace(';', ':')} (app.c:7)",), 3000))

    def test_damaged_traces(self):
        for i in range(13):
            self.make("ill", str(i), f"ill{i}.trace")
            for name in ("folded", "speedscope", "openmetrics"):
                self.assertIn(self.run_command("export", f"ill{i}.trace", "-f", name).returncode, (0, 1, 3))


def validator():
    if not SCHEMA:
        return jsonschema.Draft7Validator(OUR_SCHEMA)
    with open(SCHEMA, encoding="utf-8") as file:
        return jsonschema.Draft7Validator(json.load(file))


class Schema(unittest.TestCase):
    def test_the_schema_says_something(self):
        good = {"$schema": "https://www.speedscope.app/file-format-schema.json", "shared": {"frames": []}, "profiles": [
            {"type": "sampled", "name": "x", "unit": "bytes", "startValue": 0, "endValue": 0, "samples": [],
             "weights": []}]}
        validator().validate(good)
        for bad in ({**good, "shared": {}}, {**good, "profiles": [{**good["profiles"][0], "unit": "apples"}]}):
            with self.assertRaises(jsonschema.ValidationError):
                validator().validate(bad)


class OpenMetrics(SharedLab):
    def samples(self, *arguments):
        """{name: [(labels, value)]}"""
        text = self.export(*arguments, "-f", "openmetrics").decode()
        self.assertTrue(text.endswith("\n# EOF\n"))
        found = collections.defaultdict(list)
        for family in text_string_to_metric_families(text):
            self.assertTrue(family.documentation)
            for sample in family.samples:
                found[sample.name].append((sample.labels, sample.value))
        return found

    def test_sums_are_those_of_the_report(self):
        for run in self.runs():
            found, samples = {}, self.samples(*run)
            for name, field in (("transfers", "count"), ("moved_bytes", "bytes"), ("transfer_seconds", "ns")):
                for labels, value in samples[f"xferscope_{name}_total"]:
                    key = self.class_of(labels["direction"], labels["src_memory"], labels["dst_memory"])
                    sums = found.get(key, Sums(0, 0, 0))
                    found[key] = sums._replace(**{field: getattr(sums, field) + value * (1e9 if field == "ns" else 1)})
            self.assert_same(found, self.reported(*run), run)

    def test_sizes(self):
        for run in self.runs():
            samples, rows = self.samples(*run), self.reported(*run)
            for what, field in (("count", 0), ("sum", 1)):
                found = {labels["direction"]: value for labels, value in
                         samples[f"xferscope_transfer_size_bytes_{what}"]}
                reported = collections.Counter()
                for key, sums in rows.items():
                    reported[key[0]] += sums[field]
                self.assertEqual(found, dict(reported), (run, what))

    def test_buckets(self):
        """Each holds the transfers of at most its size, and there is one for each size that was met."""
        for run in self.runs():
            buckets = self.samples(*run)["xferscope_transfer_size_bytes_bucket"]
            sizes = collections.defaultdict(list)
            for line in self.export(*run, "-f", "jsonl").decode().split("\n")[:-1]:
                line = json.loads(line)
                if line["type"] == "transfer":
                    sizes[line["direction"]].append(line["bytes"])
            for labels, value in buckets:
                most = float(labels["le"])
                self.assertEqual(value, sum(size <= most for size in sizes[labels["direction"]]), (run, labels))
            bounds = [(labels["direction"], labels["le"]) for labels, _ in buckets]
            self.assertEqual(len(bounds), len(set(bounds)))
            self.assertLessEqual({(d, size.bit_length()) for d, met in sizes.items() for size in met},
                                 {(d, int(float(le)).bit_length()) for d, le in bounds if le != "+Inf"}, run)

    def test_what_was_lost_is_what_the_report_says(self):
        run = (self.make("findings"), "-p", self.profile())
        samples, rows = self.samples(*run), self.analyze(*run)["transfers"]
        for name, reported in (("achievable_seconds", [row["timed"]["achievable_s"] for row in rows]),
                           ("lost_seconds", [row["lost_s"] for row in rows]),
                           ("blocked_seconds", [row["timed"]["blocked_s"] for row in rows])):
            found = sum(value for _, value in samples[f"xferscope_{name}_total"])
            self.assertGreater(found, 0, name)
            self.assertTrue(math.isclose(found, sum(value or 0 for value in reported), rel_tol=1e-8), name)

    def test_messages_are_those_of_the_report(self):
        ranks = [self.make("exchange", str(rank), f"{rank}.trace") for rank in range(4)]
        samples, rows = self.samples(*ranks, "--no-profile"), self.analyze(*ranks, "--no-profile")["messages"]["rows"]
        for name, key in (("messages", "calls"), ("message_sent_bytes", "sent"), ("message_seconds", "time_s"),
                          ("message_late_seconds", "before_others_s")):
            found, reported = collections.Counter(), collections.Counter()
            for labels, value in samples[f"xferscope_{name}_total"]:
                found[labels["function"], labels["from_rank"], labels["to_rank"]] += value
            for row in rows:
                ranks_of = ["" if row[end] is None else str(row[end]) for end in ("from", "to")]
                reported[(row["function"], *ranks_of)] += row[key] or 0
            self.assertEqual({k: round(v, 9) for k, v in found.items() if v}, {k: round(v, 9) for k, v in reported.items() if v}, name)
        self.assertNotIn("xferscope_messages_total", self.samples(self.make("mixed")))

    def test_labels_are_what_they_were(self):
        ((labels, value),) = self.samples(self.make("quoted"))["xferscope_moved_bytes_total"]
        self.assertEqual((labels["site"], value), (f"{QUOTED} (app.c:7)", 3000))

    def test_savings_and_the_run(self):
        run = (str(DATA / "h200-pytorch.xft"), "-p", str(DATA / "h200.json"))
        samples, report = self.samples(*run), self.analyze(*run)
        reported = report["whatif"]["set_saving_s"]
        for labels, value in samples["xferscope_saving_seconds"]:
            self.assertTrue(math.isclose(value, reported[labels["estimate"]], rel_tol=1e-8))
        self.assertEqual(len(samples["xferscope_saving_seconds"]), 3)
        self.assertTrue(math.isclose(samples["xferscope_run_seconds"][0][1], report["run"]["wall_s"], rel_tol=1e-8))
        kinds = {labels["kind"] for labels, _ in samples["xferscope_finding_saving_seconds"]}
        self.assertLessEqual(kinds, {finding["kind"] for finding in report["findings"]})
        self.assertIn("pageable-host-memory", kinds)

    def test_nothing_is_said_that_nobody_knows(self):
        samples = self.samples(self.make("mixed"))
        self.assertEqual((samples["xferscope_achievable_seconds_total"], samples["xferscope_lost_seconds_total"]),
                         ([], []))

    def test_absurd_times_and_sizes(self):
        self.make("absurd")
        for name in ("openmetrics", "speedscope", "folded"):
            text = self.export("absurd.trace", "-f", name).decode()
            if name == "openmetrics":
                self.assertTrue(list(text_string_to_metric_families(text)))
            elif name == "speedscope":
                validator().validate(json.loads(text))
            else:
                self.assertRegex(text, r"^(.+ \d+\n)+$")

    def test_losses(self):
        self.make("lossy", "events")
        text = self.export("lossy.trace", "-f", "openmetrics", status=3).decode()
        self.assertIn('xferscope_losses_total{what="events"} 7\n', text)


if __name__ == "__main__":
    unittest.main()
