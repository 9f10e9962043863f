"""export's CSV and JSON lines, read by Python's own readers."""

import csv
import io
import json
import re
import unittest

from lab import QUOTED, ROOT, SharedLab


def number(text):
    return float(text) if text else None


class Csv(SharedLab):
    def rows(self, *arguments):
        text = self.export(*arguments, "-f", "csv").decode()
        rows = list(csv.DictReader(io.StringIO(text, newline=""), strict=True))
        self.assertEqual({len(row) for row in rows} | {len(COLUMNS)}, {len(COLUMNS)})
        return rows

    def test_sums_are_those_of_the_report(self):
        for run in self.runs():
            found = self.add_up((row["direction"], row["src_memory"], row["dst_memory"], int(row["bytes"]),
                                 number(row["achieved_ns"])) for row in self.rows(*run))
            self.assert_same(found, self.reported(*run), run)

    def test_what_was_lost_is_what_the_report_says(self):
        run = (self.make("findings"), "-p", self.profile())
        lost = sum(float(row["lost_ns"] or 0) for row in self.rows(*run))
        reported = sum(row["lost_s"] or 0 for row in self.analyze(*run)["transfers"])
        self.assertGreater(reported, 0)
        self.assertAlmostEqual(lost / 1e9, reported, delta=reported * 1e-6)

    def test_lines_end_as_the_rfc_wants_it(self):
        text = self.export(self.make("mixed"), "-f", "csv")
        self.assertTrue(text.endswith(b"\r\n"))
        self.assertEqual(text.count(b"\n"), text.count(b"\r\n"))
        self.assertEqual(text.split(b"\r\n")[0].decode().split(","), COLUMNS)

    def test_commas_and_quotes(self):
        (row,) = self.rows(self.make("quoted"))
        self.assertEqual((row["site_function"], row["site"]), (QUOTED, f"{QUOTED} (app.c:7)"))

    def test_formulas(self):
        """What a spreadsheet would work out is text."""
        (row,) = self.rows(self.make("quoted", "=cmd|' /c calc'!A1", "formula.trace"))
        self.assertEqual(row["host"], "'=cmd|' /c calc'!A1")

    def test_what_is_no_text(self):
        kinds = [row["site"] for row in self.rows(self.make("hostile"))]
        self.assertTrue(any("<U+001B>" in site for site in kinds), kinds)
        self.assert_clean(self.export(self.make("hostile"), "-f", "csv").decode(), "\r\n")

    def test_the_page_has_every_column(self):
        page = (ROOT / "docs" / "export.md").read_text()
        table = page[page.index("\n## CSV\n"):page.index("\n## JSON lines\n")]
        rows = re.findall(r"^\| (`.*?) \| ", table, re.M)
        self.assertEqual([name for row in rows for name in re.findall(r"`(\w+)`", row)], COLUMNS)


class CsvMessages(SharedLab):
    """Four ranks: what each call says, and what analyze adds up."""

    def rows(self, *runs):
        text = self.export(*runs, "-f", "csv-messages", "--no-profile").decode()
        self.assert_clean(text, "\r\n")
        return list(csv.DictReader(io.StringIO(text, newline=""), strict=True))

    def test_every_call_is_there_once(self):
        ranks = [self.make("exchange", str(rank), f"{rank}.trace") for rank in range(4)]
        rows = self.rows(*ranks)
        calls = [row for row in rows if row["event"] == "message"]
        messages = self.analyze(*ranks)["messages"]
        self.assertEqual(len(calls), messages["calls"])
        self.assertEqual(sum(int(row["bytes"] or 0) for row in calls if row["failed"] != "true"), messages["sent"])
        self.assertEqual(len(rows) - len(calls), sum(row["calls"] for row in messages["rows"] if row["function"] == "MPI_Irecv"))
        self.assertEqual({row["rank"] for row in rows}, set("0123"))
        self.assertTrue(all(row["site"] for row in calls))

    def test_what_a_message_says(self):
        rows = self.rows(self.make("exchange", "1"))
        [send] = {(row["message"], row["to_rank"], row["from_rank"], row["tag"], row["bytes"]) for row in rows
                  if row["function"] == "MPI_Send" and row["tag"] == "7"}
        self.assertEqual(send, ("send", "2", "", "7", str(256 << 10)))
        ends = [row for row in rows if row["event"] == "message-end"]
        self.assertEqual({(row["message"], row["arrives"]) for row in ends}, {("", str(256 << 10))})

    def test_no_messages(self):
        self.assertEqual(self.rows(self.make("mixed")), [])


UNNAMED = "(unknown function)"  # a call whose name the trace does not have


class JsonLines(SharedLab):
    def objects(self, *arguments):
        return [json.loads(line) for line in self.export(*arguments, "-f", "jsonl").decode().split("\n")[:-1]]

    def test_sums_are_those_of_the_report(self):
        for run in self.runs():
            found = self.add_up((line["direction"], line.get("src_memory"), line.get("dst_memory"), line["bytes"],
                                 line.get("achieved_ns")) for line in self.objects(*run) if line["type"] == "transfer")
            self.assert_same(found, self.reported(*run), run)

    def test_every_event_is_there_once(self):
        for run in self.runs():
            trace = [argument for argument in run if argument.endswith((".trace", ".xft"))]
            dumped = {}
            for one in trace:
                for line in self.run_command("dump", one, "-f", "json").stdout.decode().splitlines():
                    line = json.loads(line)
                    if line["type"] == "event":
                        kind = line["kind"] or "unknown"
                        dumped[kind] = dumped.get(kind, 0) + 1
            found = {}
            for line in self.objects(*run):
                kind = line["type"].replace("no-transfer", "transfer")
                found[kind] = found.get(kind, 0) + 1
            self.assertEqual(found, dumped, run)

    def test_only_calls_have_functions(self):
        """As in a dump, where what a call of MPI shows has its function."""
        run = self.make("kinds")
        dumped = map(json.loads, self.run_command("dump", run, "-f", "json").stdout.decode().splitlines())
        calls = {line["kind"] for line in dumped if line["type"] == "event" and line["kind"] and line["call"]}
        self.assertLess({"transfer", "alloc", "wait"}, calls)
        found = {line["type"].replace("no-transfer", "transfer") for line in self.objects(run)
                 if line.get("function", UNNAMED) != UNNAMED}
        self.assertEqual(found - {"unknown"}, calls - {"message-end", "communicator"})

    def test_messages(self):
        lines = self.objects(self.make("exchange", "1"))
        sent = next(line for line in lines if line.get("message") == "send")
        self.assertEqual({key: sent.get(key) for key in ("to_rank", "from_rank", "communicator", "tag", "bytes", "function",
                                                         "correlation")},
                         {"to_rank": 2, "from_rank": None, "communicator": 1, "tag": 7, "bytes": 1 << 18,
                          "function": "MPI_Send", "correlation": None})
        ended = next(line for line in lines if line["type"] == "message-end")
        self.assertEqual((ended["arrives"], "function" in ended), (1 << 18, False))
        reduced = next(line for line in lines if line.get("message") == "all-reduce")
        self.assertNotIn("tag", reduced)

    def test_text_is_what_it_was(self):
        text = self.export(self.make("hostile"), "-f", "jsonl").decode()
        self.assert_clean(text)
        sites = "".join(line.get("site_function", "") for line in self.objects(self.make("hostile")))
        self.assertIn("upload\x1b[2J\nFAKE\r\t", sites)

    def test_the_page_has_every_key(self):
        page = (ROOT / "docs" / "export.md").read_text()
        known = set(re.findall(r"`(\w+)`", page[page.index("\n## CSV\n"):]))
        keys = {key for run in self.runs() for line in self.objects(*run) for key in line}
        self.assertGreater(len(keys), 50)
        self.assertEqual(keys - known, set())


COLUMNS = """host process pid rank thread call_start_ns call_ns device_start_ns device_ns correlation direction bytes
copies src_memory dst_memory src_gpu dst_gpu src_node dst_node function async blocks graph stream shape peer_access
achieved_ns achieved_gb_s achieved_basis achievable_ns achievable_gb_s achievable_basis achievable_error
other_machine lost_ns simulated site site_function site_file site_line""".split()

if __name__ == "__main__":
    unittest.main()
