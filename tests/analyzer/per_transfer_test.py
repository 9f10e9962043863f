"""analyze --per-transfer, from outside: its lines against golden files, the schema and the rows of the
report, and how it ends.

per_transfer_test.py DRIVER MAKE_TRACE SCHEMA GOLDEN_DIR. UPDATE_GOLDEN=1 in the environment writes the
golden files anew instead of comparing.
"""

import json
import math
import os
import re
import subprocess
import sys
import unicodedata
import unittest

import jsonschema

from lab import DRIVER, Lab

SCHEMA, GOLDEN = sys.argv[3:5]
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
OF_A_ROW = ("function", "runtime_function", "level", "direction", "src_memory", "dst_memory", "src_device",
            "dst_device", "async")


def row_key(line):
    site = {key: value for key, value in line["site"].items() if key != "stack"}
    return json.dumps([site, *(line[key] for key in OF_A_ROW)])


class PerTransfer(Lab):
    def setUp(self):
        super().setUp()
        self.make("profile", "machine.json")

    def analyze(self, *arguments):
        done = self.drive("analyze", *arguments)
        return done.returncode, done.stdout.decode(), done.stderr.decode().splitlines()

    def list(self, *arguments):
        return self.analyze("--per-transfer", *arguments)

    def objects(self, *arguments, status=0):
        found, text, said = self.list(*arguments, "-f", "json")
        self.assertEqual(found, status, said)
        return [json.loads(line) for line in text.split("\n")[:-1]]

    def several_runs(self):
        for i in range(3):
            self.make("rank", f"{'ab'[i // 2]}.xft/{6000 + i}-1.trace", str(i))
        return "b.xft", "a.xft"

    # ---- what is listed ---------------------------------------------------------------------

    def golden(self, name, *arguments):
        text = ""
        for form in ("text", "json"):
            status, out, said = self.list(*arguments, "-f", form)
            text += f"$ analyze --per-transfer {' '.join((*arguments, '-f', form))}\n{out}"
            text += "".join(f"stderr: {line}\n" for line in said) + f"status: {status}\n"
        path = os.path.join(GOLDEN, name)
        if os.environ.get("UPDATE_GOLDEN") == "1":
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
        with open(path, encoding="utf-8") as file:
            self.assertEqual(file.read(), text)
        return text

    def test_lines(self):
        self.make("gpus", "gpus.trace")
        self.make("nameless", "nameless.trace")
        self.make("simulated", "simulated.trace")
        text = self.golden("per-transfer.txt", "nameless.trace", "gpus.trace", "simulated.trace", "-p",
                           "machine.json")
        head = text.splitlines()[1]
        self.assertTrue(head[:80].endswith(" LOST") and head[80] == " ", head)
        self.assertEqual(text.count("\n" + head + "\n"), 1)

    def test_lines_of_several_runs(self):
        self.golden("per-transfer-runs.txt", *self.several_runs(), "-p", "machine.json")

    def test_schema(self):
        with open(SCHEMA, encoding="utf-8") as file:
            schema = dict(json.load(file), **{"$ref": "#/$defs/per_transfer"})
        for key in ("type", "properties", "required", "additionalProperties"):
            del schema[key]
        validator = jsonschema.Draft202012Validator(schema)
        for scenario in ("mixed", "gpus", "nameless", "hostile", "findings", "simulated"):
            lines = self.objects(self.make(scenario, f"{scenario}.trace"), "-p", "machine.json")
            self.assertGreater(len(lines), 0)
            for line in lines:
                validator.validate(line)
                with self.assertRaises(jsonschema.ValidationError):
                    validator.validate({**line, "shape": "round"})

    def add_up(self, lines):
        rows = {}
        for line in lines:
            row = rows.setdefault(row_key(line), dict.fromkeys(("bytes", "copies", "device", "host", "unknown"), 0)
                                  | {"transfers": 0, "strided": 0, "s": [], "best_s": [], "lost_s": []})
            row["transfers"] += 1
            row["strided"] += line["shape"] == "strided"
            row["bytes"] += line["bytes"]
            row["copies"] += line["copies"]
            row[line["achieved_basis"] or "unknown"] += 1
            for key, figure in (("s", "achieved_s"), ("best_s", "achievable_s"), ("lost_s", "lost_s")):
                row[key] += [line[figure]] if line[figure] is not None else []
        return rows

    def rows_agree(self, *arguments):
        """What the report says of each row is the sum of its lines."""
        found = self.add_up(self.objects(*arguments))
        _, text, _ = self.analyze(*arguments, "-f", "json", "-n", "0")
        reported = {}
        for row in json.loads(text)["transfers"]:
            reported.setdefault(row_key(row), []).append(row)
        self.assertEqual(set(found), set(reported))
        for key, rows in reported.items():
            sums = found[key]
            for count in ("transfers", "bytes", "copies", "strided"):
                self.assertEqual(sums[count], sum(row[count] for row in rows), (key, count))
            for count in ("device", "host", "unknown"):
                self.assertEqual(sums[count], sum(row["timed"][count] for row in rows), (key, count))
            for mine, theirs in (("s", [row["timed"]["achieved_s"] for row in rows]),
                                 ("best_s", [row["timed"]["achievable_s"] for row in rows]),
                                 ("lost_s", [row["lost_s"] for row in rows])):
                known = [value for value in theirs if value is not None]
                self.assertEqual(bool(sums[mine]), bool(known), (key, mine))
                self.assertTrue(math.isclose(math.fsum(sums[mine]), math.fsum(known), rel_tol=1e-7,
                                             abs_tol=1e-15), (key, mine))
        return found

    def test_lines_add_up_to_the_rows(self):
        self.make("many", "many.trace", "3000")
        for scenario in ("mixed", "killed", "gpus", "findings", "phases", "contents"):
            self.make(scenario, f"{scenario}.trace", "whole")
            with self.subTest(scenario):
                self.rows_agree(f"{scenario}.trace", "-p", "machine.json")
        rows = self.rows_agree("many.trace", "-p", "machine.json")
        self.assertEqual(sum(row["transfers"] for row in rows.values()), 3000)
        self.rows_agree(*self.several_runs(), "-p", "machine.json")
        self.rows_agree("mixed.trace")

    def test_why_achievable_is_not_known(self):
        """In one line below, with as many as there are dashes; nothing where there are none."""
        self.make("gpus", "gpus.trace")
        _, text, _ = self.list("gpus.trace", "-p", "machine.json")
        *lines, why = text.splitlines()
        dashes = sum(re.search(r" (device|host|-)/-", line) is not None for line in lines[1:])
        counts = re.match(r"ACHIEVABLE is not known \(-\) of (\d+) of (\d+) transfers: ", why)
        self.assertEqual((int(counts[1]), int(counts[2])), (dashes, len(lines) - 1))
        self.assertEqual(sum(map(int, re.findall(r" \((\d+)\)(?:;|$)", why))), dashes)
        for words in ("their GPU is not in the profile", "they are within the host", "where they went is not known"):
            self.assertIn(words, why)
        self.make("simulated", "known.trace")
        self.assertNotIn("ACHIEVABLE is", self.list("known.trace", "-p", "machine.json")[1])
        self.assertNotIn("ACHIEVABLE is", self.list("gpus.trace", "-p", "machine.json", "-f", "json")[1])

    def test_order_is_that_of_time(self):
        self.make("many", "many.trace", "5000")
        at = [line["at_s"] for line in self.objects("many.trace")]
        self.assertEqual((len(at), sorted(at)), (5000, at))
        self.assertEqual(len(set(at)), 5000)

    def test_top(self):
        self.make("many", "many.trace", "3000")
        _, every, _ = self.list("many.trace")
        *lines, why = every.splitlines()
        self.assertEqual((len(lines), why), (3001, "ACHIEVABLE is not known (-) of 3000 of 3000 transfers: there is "
                                                   "no machine profile"))
        for top in (1, 25, 2999):
            status, some, said = self.list("many.trace", "missing.trace", "--top", str(top))
            self.assertEqual((status, said), (0, []))  # nothing behind them is read
            self.assertEqual(some.splitlines(), [*lines[:top + 1], why.replace("3000", str(top)).replace(
                "1 transfers", "1 transfer")])
        self.assertEqual(self.list("many.trace", "-n", "0")[1], every)
        self.assertEqual(len(self.objects("many.trace", "-n", "7")), 7)

    def test_page(self):
        """What analyze.md shows is what is written."""
        with open(os.path.join(ROOT, "docs", "analyze.md"), encoding="utf-8") as file:
            shown = re.search(r"\n    \$ xferscope analyze --per-transfer (.*)\n((?:    .*\n)+)", file.read())
        self.folder.name, made = ROOT, self.folder.name
        status, out, said = self.list(*shown[1].split())
        self.folder.name = made
        self.assertEqual((status, said), (0, []))
        self.assertEqual("".join(f"    {line}\n" for line in out.splitlines()), shown[2])

    # ---- how it ends ------------------------------------------------------------------------

    def test_usage(self):
        self.make("mixed", "mixed.trace")
        for order in (("--sort", "lost"), ("-s", "count")):
            for arguments in (("mixed.trace", *order), (*order, "mixed.trace")):
                status, out, said = self.list(*arguments)
                self.assertEqual((status, out, len(said)), (2, "", 1))
                self.assertIn("--sort: its order is that of time", said[0])

    def test_losses(self):
        self.make("mixed", "mixed.trace")
        self.make("lossy", "lossy.trace", "events")
        _, whole, _ = self.list("mixed.trace")
        for arguments in (("lossy.trace",), ("missing.trace", "mixed.trace"), ("mixed.trace", "missing.trace"),
                          ("mixed.trace", "-p", "missing.json")):
            status, out, said = self.list(*arguments)
            self.assertEqual((status, out, len(said)), (3, whole, 1), arguments)

    def test_nothing_to_read(self):
        with open(self.path("out"), "w", encoding="ascii") as file:
            file.write("old")
        status, out, said = self.list("missing.trace", "-o", "out")
        self.assertEqual((status, out, len(said)), (1, "", 1))
        with open(self.path("out"), encoding="ascii") as file:
            self.assertEqual(file.read(), "old")
        self.assertEqual(sorted(os.listdir(self.folder.name)), ["machine.json", "out"])

    def test_output_file(self):
        self.make("mixed", "mixed.trace")
        _, whole, _ = self.list("mixed.trace")
        self.assertEqual(self.list("mixed.trace", "-o", "out"), (0, "", []))
        with open(self.path("out"), encoding="utf-8") as file:
            self.assertEqual(file.read(), whole)

    def test_output_that_cannot_be_written(self):
        self.make("many", "many.trace", "3000")
        status, _, said = self.list("many.trace", "-o", "/dev/full")
        self.assertEqual((status, said), (4, ["xferscope: cannot write /dev/full: No space left on device"]))
        with open("/dev/full", "w", encoding="ascii") as full:
            done = subprocess.run([DRIVER, "analyze", "--per-transfer", self.path("many.trace")], stdout=full,
                                  stderr=subprocess.PIPE, check=False)
        self.assertEqual((done.returncode, done.stderr),
                         (4, b"xferscope: cannot write standard output: No space left on device\n"))

    def test_a_reader_that_goes(self):
        """As `| head` does: it ends, and reads nothing more (not a file that is missing either)."""
        self.make("many", "many.trace", "100000")
        for form in ("text", "json"):
            process = subprocess.Popen([DRIVER, "analyze", "--per-transfer", "many.trace", "missing.trace", "-f", form],
                                       stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=self.folder.name)
            self.assertGreater(len(process.stdout.readline()), 0)
            process.stdout.close()
            said = process.stderr.read()
            process.stderr.close()
            self.assertEqual((process.wait(), said), (4, b"xferscope: cannot write standard output: Broken pipe\n"))

    # ---- text of others ---------------------------------------------------------------------

    def test_hostile_text(self):
        name = "\x1b[2J\nFAKE"
        self.make("hostile", f"{name}.trace")
        self.make("profile", "hostile.json", "hostile")
        for form in ("text", "json"):
            status, out, said = self.list(f"{name}.trace", "-p", "hostile.json", "-f", form)
            self.assertEqual((status, len(said)), (0, 1))
            hidden = {c for c in out + said[0] if unicodedata.category(c) in ("Cc", "Cf", "Zl", "Zp")}
            self.assertEqual(hidden, {"\n"})
            self.assertEqual([line for line in out.split("\n") if line.startswith("FAKE")], [])
        lines = self.objects(f"{name}.trace", "-p", "hostile.json")
        self.assertEqual(len(lines), len(self.list(f"{name}.trace")[1].splitlines()) - 2)
        self.assertEqual({line["file"] for line in lines}, {f"{name}.trace"})
        self.assertIn("upload\x1b[2J\nFAKE\r\t", "".join(line["site"]["function"] or "" for line in lines))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
