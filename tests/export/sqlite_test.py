"""export's database, opened by Python's sqlite3 and asked what people ask of Nsight Systems'."""

import csv
import io
import re
import sqlite3
import unittest

from lab import DATA, Lab, ROOT

# What moved on each device, by kind of copy and of memory: as `nsys stats` sums sizes up.
SIZES = """
WITH moved AS (
    SELECT bytes, '[CUDA memcpy ' || oper.label || ']' AS name
    FROM CUPTI_ACTIVITY_KIND_MEMCPY AS memcpy JOIN ENUM_CUDA_MEMCPY_OPER AS oper ON oper.id = memcpy.copyKind
    UNION ALL SELECT bytes, '[CUDA memset]' FROM CUPTI_ACTIVITY_KIND_MEMSET)
SELECT name, count(*), sum(bytes), avg(bytes), min(bytes), max(bytes) FROM moved GROUP BY name ORDER BY 3 DESC"""

# Which call made which copy, from which kind of memory, on which GPU.
JOINED = """
SELECT api.value, src.label, dst.label, gpu.name, count(*)
FROM CUPTI_ACTIVITY_KIND_MEMCPY AS m
JOIN CUPTI_ACTIVITY_KIND_RUNTIME AS r ON r.correlationId = m.correlationId
    AND r.globalTid / 0x1000000 = m.globalPid / 0x1000000
JOIN StringIds AS api ON api.id = r.nameId
JOIN ENUM_CUDA_MEM_KIND AS src ON src.id = m.srcKind
JOIN ENUM_CUDA_MEM_KIND AS dst ON dst.id = m.dstKind
LEFT JOIN PROCESSES AS p ON p.globalPid = m.globalPid
LEFT JOIN TARGET_INFO_CUDA_DEVICE AS d ON d.cudaId = m.deviceId AND d.pid = m.globalPid / 0x1000000 % 0x1000000
LEFT JOIN TARGET_INFO_GPU AS gpu ON gpu.id = d.gpuId
GROUP BY 1, 2, 3, 4 ORDER BY 5 DESC, 1, 2"""

KERNELS = """
SELECT brief.value, full.value, count(*), sum(end - start) FROM CUPTI_ACTIVITY_KIND_KERNEL AS k
JOIN StringIds AS brief ON brief.id = k.shortName JOIN StringIds AS full ON full.id = k.demangledName
GROUP BY 1, 2 ORDER BY 4 DESC"""


class Sqlite(Lab):
    def open(self, *arguments):
        self.export(*arguments, "-f", "sqlite")
        database = sqlite3.connect(self.path("exported"))
        self.addCleanup(database.close)
        self.assertEqual(database.execute("PRAGMA integrity_check").fetchall(), [("ok",)])
        return database

    def test_sums_are_those_of_the_report(self):
        for run in self.runs():
            rows = self.open(*run).execute("SELECT direction, src_memory, dst_memory, bytes, achieved_ns "
                                           "FROM XFERSCOPE_TRANSFERS").fetchall()
            self.assert_same(self.add_up(rows), self.reported(*run), run)

    def test_what_the_recorder_notes_is_no_call(self):
        """The kinds of the run have numbers of their own as correlation."""
        calls = self.open(self.make("kinds")).execute("SELECT correlationId - 5000 FROM CUPTI_ACTIVITY_KIND_RUNTIME").fetchall()
        found = {kind for kind, in calls}
        self.assertLess({2, 9, 19, 25}, found)
        self.assertEqual(found & {18, 27, 28, 29, 30, 35}, set())

    def test_absurd_times(self):
        for variant in ("", "late", "early"):
            run = self.make("absurd", variant, f"absurd{variant}.trace")
            expected = self.run_command("export", run, "-f", "csv").stdout.decode()
            expected = [(int(row["call_start_ns"] or 0), int(row["bytes"])) for row in csv.DictReader(io.StringIO(expected))]
            self.export(run, "-f", "sqlite")
            database = sqlite3.connect(self.path("exported"))
            self.addCleanup(database.close)
            (zero,), = database.execute("SELECT utcEpochNs FROM TARGET_INFO_SESSION_START_TIME")
            found = database.execute("SELECT call_start_ns, bytes FROM XFERSCOPE_TRANSFERS ORDER BY id").fetchall()
            self.assertEqual([(0 if start is None else start + zero, size) for start, size in found], expected, variant)
            for table in ("MEMCPY", "MEMSET"):
                self.assertEqual(database.execute(f"SELECT count(*), min(end - start) >= 0, min(bytes) >= 0 FROM "
                                                  f"CUPTI_ACTIVITY_KIND_{table}").fetchone()[1:], (1, 1), variant)

    def test_every_event_is_in_its_table(self):
        for run in self.runs():
            database, expected = self.open(*run), {}
            for one in (argument for argument in run if argument.endswith((".trace", ".xft"))):
                for line in self.run_command("dump", one, "-f", "text").stdout.decode("utf-8", "replace").splitlines():
                    words = line.split()
                    if words[:1] == ["event"]:
                        kind = next((w for w in words if w in KINDS), None)
                        expected[kind] = expected.get(kind, 0) + 1
            for table, kinds in (("MEMCPY", ("device-copy", "migration")), ("MEMSET", ("memset",)),
                                 ("KERNEL", ("kernel",)), ("SYNCHRONIZATION", ("sync", "wait"))):
                found = database.execute(f"SELECT count(*) FROM CUPTI_ACTIVITY_KIND_{table}").fetchone()[0]
                self.assertEqual(found, sum(expected.get(kind, 0) for kind in kinds), (run, table))
            for table, column in (("CUPTI_ACTIVITY_KIND_RUNTIME", "nameId"), ("CUPTI_ACTIVITY_KIND_KERNEL", "shortName")):
                strays = f"SELECT count(*) FROM {table} WHERE {column} NOT IN (SELECT id FROM StringIds)"
                self.assertEqual(database.execute(strays).fetchone(), (0,), (run, table))
            streams = "SELECT count(streamId), count(*) FROM CUPTI_ACTIVITY_KIND_"
            self.assertEqual(database.execute(streams + "SYNCHRONIZATION").fetchone()[0], 0, "a trace cannot tell")
            known, kernels = database.execute(streams + "KERNEL").fetchone()
            self.assertEqual(known, kernels, run)

    def test_questions_that_nsight_answers(self):
        database = self.open(str(DATA / "h200-pytorch.xft"))
        sizes = {row[0]: row[1:3] for row in database.execute(SIZES)}
        reported = self.reported(str(DATA / "h200-pytorch.xft"))
        for name, direction in (("Host-to-Device", "H2D"), ("Device-to-Host", "D2H"), ("Device-to-Device", "D2D")):
            sums = [value for key, value in reported.items() if key[0] == direction]
            self.assertEqual(sizes[f"[CUDA memcpy {name}]"], (sum(s.count for s in sums), sum(s.bytes for s in sums)))
        self.assertEqual(sizes["[CUDA memset]"][0], 604)
        joined = database.execute(JOINED).fetchall()
        self.assertEqual(sum(row[-1] for row in joined), 514)
        self.assertEqual({row[0] for row in joined}, {"cudaMemcpyAsync"})
        self.assertEqual({row[3] for row in joined}, {"NVIDIA H200"})
        self.assertLessEqual({row[1:3] for row in joined}, {("Pageable", "Device"), ("Device", "Pageable"),
                                                            ("Device", "Device"), ("Device", "Pinned")})
        kernels = database.execute(KERNELS).fetchall()
        self.assertEqual(sum(row[2] for row in kernels), 4711)
        self.assertIn("vectorized_elementwise_kernel", {row[0] for row in kernels})
        for brief, full, *_ in kernels:
            self.assertRegex(brief, r"^\w+$")
            self.assertIn(brief, full)

    def test_memory_kinds_are_nsights(self):
        """Not CUPTI's, which count 1 pageable, 2 pinned, 3 device."""
        database = self.open(self.make("gpus"))
        kinds = dict(database.execute("SELECT label, id FROM ENUM_CUDA_MEM_KIND"))
        self.assertEqual((kinds["Pageable"], kinds["Pinned"], kinds["Device"], kinds["Array"], kinds["Managed"]),
                         (0, 1, 2, 3, 4))
        expected = {"pageable": 0, "pinned": 1, "write-combined": 1, "mapped": 1, "registered": 1, "device": 2, "array": 3,
                "managed": 4, None: 7}
        rows = self.open(str(DATA / "h200-static.xft")).execute(
            "SELECT t.src_memory, t.dst_memory, m.srcKind, m.dstKind FROM XFERSCOPE_TRANSFERS AS t "
            "JOIN CUPTI_ACTIVITY_KIND_MEMCPY AS m ON m.correlationId = t.correlation").fetchall()
        self.assertGreater(len(rows), 100)
        agree = [row for row in rows if (expected[row[0]], expected[row[1]]) == row[2:]]
        self.assertGreater(len(agree), 0.9 * len(rows), rows[:3])

    def test_times_count_from_the_start_of_the_session(self):
        database = self.open(str(DATA / "h200-pytorch.xft"))
        start = database.execute("SELECT utcEpochNs, utcTime FROM TARGET_INFO_SESSION_START_TIME").fetchone()
        self.assertEqual(start, (1795328099322469603, "2026-11-22T06:14:59Z"))
        for table in ("RUNTIME", "MEMCPY", "MEMSET", "KERNEL", "SYNCHRONIZATION"):
            least, most = database.execute(f"SELECT min(start), max(end) FROM CUPTI_ACTIVITY_KIND_{table}").fetchone()
            self.assertTrue(0 < least < most < 60e9, (table, least, most))
        pairs = database.execute("SELECT count(*), sum(m.start < r.start) FROM CUPTI_ACTIVITY_KIND_KERNEL AS m JOIN "
                                 "CUPTI_ACTIVITY_KIND_RUNTIME AS r USING (correlationId)").fetchone()
        self.assertEqual(pairs, (4711, 0))

    def test_ranges(self):
        database = self.open(self.make("phases"))
        rows = database.execute("SELECT text, start, end, eventType, label FROM NVTX_EVENTS JOIN ENUM_NSYS_EVENT_TYPE "
                                "AS type ON type.id = eventType WHERE eventType != 75").fetchall()
        self.assertGreater(len(rows), 5)
        self.assertEqual({row[3:] for row in rows}, {(59, "NvtxPushPopRange"), (60, "NvtxStartEndRange")})
        self.assertTrue(all(end is None or end >= start for _, start, end, *_ in rows))
        self.assertTrue(any(end is not None for _, _, end, *_ in rows))
        # Scripts read the text here or there.
        named = database.execute("SELECT text, value FROM NVTX_EVENTS LEFT JOIN StringIds ON id = textId "
                                 "WHERE eventType != 75").fetchall()
        self.assertEqual([text for text, _ in named], [value for _, value in named])
        self.assertTrue(any(text for text, _ in named))

    def ranks(self, suffix=""):
        return [self.make("exchange", f"{rank}{suffix}", f"{rank}{suffix}.trace") for rank in range(4)]

    def test_messages_are_those_of_the_report(self):
        ranks = self.ranks("nccl")
        expected = {}
        for row in self.analyze(*ranks, "--no-profile")["messages"]["rows"]:
            before = expected.get(row["function"], (0, 0, 0))
            expected[row["function"]] = (before[0] + row["calls"], before[1] + row["sent"],
                                     round(before[2] + row["time_s"] * 1e9))
        database = self.open(*ranks, "--no-profile")
        rows = database.execute("SELECT function, count(*), sum(coalesce(bytes, 0) * (failed IS NULL)), sum(ns) "
                                "FROM XFERSCOPE_MESSAGES WHERE event = 'message' GROUP BY function").fetchall()
        self.assertEqual({name: tuple(sums) for name, *sums in rows}, expected)
        self.assertIn("ncclAllReduce", expected)
        ends = database.execute("SELECT count(*), sum(arrives) FROM XFERSCOPE_MESSAGES WHERE event = 'message-end'").fetchone()
        received = sum(row["arrived"] for row in self.analyze(*ranks, "--no-profile")["messages"]["rows"]
                       if row["function"] == "MPI_Irecv")
        self.assertEqual(ends, (expected["MPI_Irecv"][0], received))
        strays = database.execute("SELECT count(*) FROM CUPTI_ACTIVITY_KIND_RUNTIME JOIN StringIds ON id = nameId "
                                  "WHERE value LIKE 'MPI%' OR value LIKE 'nccl%'").fetchone()
        self.assertEqual(strays, (0,))

    def test_messages_as_nsight_has_them(self):
        """Each call of MPI is in one of its tables; NCCL's are in none."""
        ranks = self.ranks("nccl")
        database = self.open(*ranks, "--no-profile")
        expected = {}
        for row in self.analyze(*ranks, "--no-profile")["messages"]["rows"]:
            for key in ("calls", "sent"):
                expected[row["function"], key] = expected.get((row["function"], key), 0) + row[key]
        found = {}
        for table, size in (("P2P", "size"), ("COLLECTIVES", "size"), ("START_WAIT", "0"), ("OTHER", "0")):
            for name, calls, sent, ns in database.execute(
                    f"SELECT value, count(*), sum({size}), min(end - start) FROM MPI_{table}_EVENTS JOIN StringIds "
                    "ON id = textId GROUP BY value"):
                self.assertNotIn(name, found)
                self.assertGreaterEqual(ns, 0)
                found[name] = (table, calls, sent)
        self.assertEqual({name: found[name][0] for name in found},
                         {"MPI_Send": "P2P", "MPI_Recv": "P2P", "MPI_Irecv": "P2P", "MPI_Sendrecv": "P2P",
                          "MPI_Wait": "START_WAIT", "MPI_Allreduce": "COLLECTIVES"})
        for name, (_, calls, sent) in found.items():
            self.assertEqual(calls, expected[name, "calls"], name)
            if name not in ("MPI_Recv", "MPI_Irecv"):  # theirs is what arrives
                self.assertEqual(sent, expected[name, "sent"], name)
        self.assertEqual(found["MPI_Irecv"][2], expected["MPI_Irecv", "calls"] * (256 << 10))
        self.assertEqual(database.execute("SELECT DISTINCT size, recvSize, rootRank FROM MPI_COLLECTIVES_EVENTS").fetchall(),
                         [(800, 0, None)])
        peers = database.execute(
            "SELECT DISTINCT r.rank, value, remoteRank, tag FROM MPI_P2P_EVENTS AS m JOIN MPI_RANKS AS r USING (globalTid) "
            "JOIN StringIds ON id = textId WHERE tag = 7 AND requestHandle IS NULL").fetchall()
        self.assertEqual(sorted(peers), [(rank, "MPI_Send", (rank + 1) % 4, 7) for rank in range(4)])
        self.assertEqual(database.execute("SELECT count(*), count(DISTINCT commHandle) FROM XFERSCOPE_COMMUNICATOR AS c "
                                          "JOIN MPI_RANKS AS r ON r.globalTid / 0x1000000 = c.globalPid / 0x1000000 "
                                          "WHERE c.rank = r.rank AND size = 4").fetchone(), (4, 1))

    def test_waits_have_their_request(self):
        """A call that waited for one request names it, as the call that began it does."""
        database = self.open(*self.ranks("nccl"), "--no-profile")
        waits = database.execute("SELECT w.globalTid, w.requestHandle, w.start, max(p.start) FROM MPI_START_WAIT_EVENTS AS w "
                                 "LEFT JOIN MPI_P2P_EVENTS AS p ON p.globalTid = w.globalTid AND p.start < w.start "
                                 "AND p.requestHandle = w.requestHandle GROUP BY w.globalTid, w.start").fetchall()
        self.assertGreater(len(waits), 0)
        for thread, request, start, began in waits:
            self.assertTrue(request, (thread, start))
            self.assertLess(began, start)

    def test_no_messages(self):
        tables = {name for name, in self.open(self.make("mixed")).execute("SELECT name FROM sqlite_master")}
        self.assertFalse([name for name in tables if name.startswith("MPI_") or "MESSAGE" in name])

    def test_processes(self):
        run = [self.make("rank", str(i), f"{'ab'[i // 2]}.xft/{6000 + i}-1.trace") for i in range(3)]
        database = self.open(*run)
        rows = database.execute("SELECT globalPid / 0x1000000 % 0x1000000, pid FROM PROCESSES").fetchall()
        self.assertEqual(len(rows), 3)
        self.assertTrue(all(packed == pid for packed, pid in rows))
        self.assertEqual(len(set(database.execute("SELECT globalPid FROM PROCESSES").fetchall())), 3)

    def test_columns_are_nsights(self):
        """In their order: scripts unpack `SELECT *`."""
        database = self.open(self.make("mixed"))
        for table, columns in COLUMNS.items():
            self.assertEqual([row[1] for row in database.execute(f"PRAGMA table_info({table})")], columns.split(), table)

    def test_the_schema_has_a_version(self):
        expected = dict(self.open(self.make("mixed")).execute("SELECT name, value FROM META_DATA_EXPORT"))
        parts = [expected[f"EXPORT_SCHEMA_VERSION_{part}"] for part in ("MAJOR", "MINOR", "MICRO")]
        self.assertEqual(expected["EXPORT_SCHEMA_VERSION"], ".".join(parts))
        self.assertEqual(parts[0], "3")
        self.assertEqual(expected["EXPORT_PRODUCT_NAME"], "xferscope")
        self.assertRegex(expected["EXPORT_PRODUCT_VERSION"], r"^\d+\.\d+\.\d+")

    def test_every_thread_has_a_name(self):
        for run in self.runs():
            database = self.open(*run)
            named = database.execute("SELECT globalTid FROM ThreadNames ORDER BY 1").fetchall()
            used = database.execute("SELECT globalTid FROM CUPTI_ACTIVITY_KIND_RUNTIME WHERE globalTid % 0x1000000 "
                                    "UNION SELECT globalTid FROM NVTX_EVENTS WHERE globalTid % 0x1000000 "
                                    "ORDER BY 1").fetchall()
            self.assertEqual(named, used, run)
        database = self.open(str(DATA / "h200-pytorch.xft"))
        rows = database.execute("SELECT s.value, t.globalTid % 0x1000000 = p.pid, p.name FROM ThreadNames AS t "
                                "JOIN StringIds AS s ON s.id = t.nameId JOIN PROCESSES AS p "
                                "ON p.globalPid = t.globalTid / 0x1000000 * 0x1000000").fetchall()
        self.assertEqual([row[0] for row in rows if row[1]], [rows[0][2]])
        self.assertTrue(all(re.fullmatch(r"thread \d+", name) for name, first, _ in rows if not first), rows)

    def test_hostile_text(self):
        database = self.open(self.make("hostile"))
        texts = [row[0] for row in database.execute("SELECT value FROM StringIds UNION ALL SELECT name FROM PROCESSES "
                                                    "UNION ALL SELECT text FROM NVTX_EVENTS") if row[0]]
        self.assertTrue(any("<U+001B>" in text for text in texts))
        self.assert_clean("".join(texts), "")

    def test_the_page_has_every_table(self):
        page = (ROOT / "docs" / "export.md").read_text()
        tables = {row[0] for row in self.open(self.make("mixed")).execute("SELECT name FROM sqlite_master")}
        self.assertEqual(tables - set(re.findall(r"`(\w+)`", page)), set())


WORK = "start end deviceId contextId greenContextId streamId correlationId globalPid "

# As a published dump of Nsight Systems' schema has them (docs/export.md).
COLUMNS = {
    "StringIds": "id value",
    "ThreadNames": "nameId priority globalTid",
    "PROCESSES": "globalPid pid name",
    "META_DATA_EXPORT": "name value",
    "TARGET_INFO_SESSION_START_TIME": "utcEpochNs utcTime localTime",
    "CUDA_UM_CPU_PAGE_FAULT_EVENTS": "start globalPid address originalFaultPc CpuInstruction module unresolvedFaultPc "
                                     "sourceFile sourceLine",
    "CUDA_UM_GPU_PAGE_FAULT_EVENTS": "start end globalPid deviceId address numberOfPageFaults faultAccessType",
    "CUPTI_ACTIVITY_KIND_RUNTIME": "start end eventClass globalTid correlationId nameId returnValue callchainId",
    "CUPTI_ACTIVITY_KIND_MEMCPY": WORK + "bytes copyKind deprecatedSrcId srcKind dstKind srcDeviceId srcContextId "
                                         "dstDeviceId dstContextId migrationCause graphNodeId virtualAddress",
    "CUPTI_ACTIVITY_KIND_MEMSET": WORK + "value bytes graphNodeId memKind",
    "CUPTI_ACTIVITY_KIND_KERNEL": WORK + "demangledName shortName mangledName launchType cacheConfig "
                                         "registersPerThread gridX gridY gridZ blockX blockY blockZ "
                                         "staticSharedMemory dynamicSharedMemory localMemoryPerThread "
                                         "localMemoryTotal gridId sharedMemoryExecuted graphNodeId "
                                         "sharedMemoryLimitConfig",
    "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION": WORK + "syncType eventId",
}

KINDS = {"device-copy", "migration", "memset", "kernel", "sync", "wait"}

if __name__ == "__main__":
    unittest.main()
