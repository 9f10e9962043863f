"""export's database, asked as the reports of `nsys stats` ask one of Nsight Systems': each query is ours, of the
shape that its report's documented columns need, and its sums are those of the run (docs/export.md#sqlite)."""

import json
import sqlite3
import unittest

from lab import DATA, Lab

WORK = """
    SELECT s.value AS name, k.end - k.start AS ns, 'CUDA_KERNEL' AS category, 0 AS bytes
    FROM CUPTI_ACTIVITY_KIND_KERNEL AS k LEFT JOIN StringIds AS s ON s.id = coalesce({name}, k.demangledName)
    UNION ALL SELECT '[CUDA memcpy ' || label || ']', end - start, 'MEMORY_OPER', bytes
    FROM CUPTI_ACTIVITY_KIND_MEMCPY LEFT JOIN ENUM_CUDA_MEMCPY_OPER AS e ON e.id = copyKind
    UNION ALL SELECT '[CUDA memset]', end - start, 'MEMORY_OPER', bytes FROM CUPTI_ACTIVITY_KIND_MEMSET"""

# Kernels and memory operations in one list, by name (cuda_gpu_sum), its parts (cuda_gpu_kern_sum, _mem_time_sum,
# _mem_size_sum), with the names that :base and :mangled ask for.
SUMS = """
WITH work AS (""" + WORK + """)
SELECT name, category, count(*), sum(ns), avg(ns), min(ns), max(ns), sum(bytes) FROM work
WHERE category LIKE '{category}' GROUP BY name, category ORDER BY sum(ns) DESC"""

# What the program called (cuda_api_sum).
CALLS = """
SELECT CASE substr(s.value, -6, 2) WHEN '_v' THEN substr(s.value, 1, length(s.value) - 6) ELSE s.value END AS name,
    count(*), sum(r.end - r.start), min(r.end - r.start), max(r.end - r.start)
FROM CUPTI_ACTIVITY_KIND_RUNTIME AS r LEFT JOIN StringIds AS s ON s.id = r.nameId GROUP BY 1 ORDER BY 3 DESC"""

# One line for each operation, with all that it prints (cuda_gpu_trace).
TRACE = """
WITH work AS (
    SELECT start, end - start AS ns, correlationId, gridX, gridY, gridZ, blockX, blockY, blockZ, registersPerThread,
        staticSharedMemory, dynamicSharedMemory, NULL AS bytes, NULL AS src, NULL AS dst, deviceId, contextId,
        greenContextId, streamId, n.value AS name
    FROM CUPTI_ACTIVITY_KIND_KERNEL LEFT JOIN StringIds AS n ON n.id = demangledName
    UNION ALL SELECT start, end - start, correlationId, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, bytes,
        s.label, d.label, deviceId, contextId, greenContextId, streamId, '[CUDA memcpy ' || o.label || ']'
    FROM CUPTI_ACTIVITY_KIND_MEMCPY LEFT JOIN ENUM_CUDA_MEM_KIND AS s ON s.id = srcKind
        LEFT JOIN ENUM_CUDA_MEM_KIND AS d ON d.id = dstKind LEFT JOIN ENUM_CUDA_MEMCPY_OPER AS o ON o.id = copyKind
    UNION ALL SELECT start, end - start, correlationId, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, bytes,
        k.label, NULL, deviceId, contextId, greenContextId, streamId, '[CUDA memset]'
    FROM CUPTI_ACTIVITY_KIND_MEMSET LEFT JOIN ENUM_CUDA_MEM_KIND AS k ON k.id = memKind)
SELECT start, ns, correlationId, bytes, src, dst, gpu.name || ' (' || deviceId || ')' AS device, streamId, work.name
FROM work LEFT JOIN TARGET_INFO_GPU AS gpu ON gpu.id = deviceId ORDER BY start"""

# How long each launch took, waited and ran (cuda_kern_exec_sum, cuda_kern_exec_trace).
LAUNCHES = """
SELECT r.globalTid / 0x1000000 % 0x1000000 AS pid, r.globalTid % 0x1000000 AS tid, gpu.name, api.value, n.value,
    count(*), sum(r.end - r.start), sum(k.start - r.end), sum(k.end - r.start), sum(k.end - k.start)
FROM CUPTI_ACTIVITY_KIND_KERNEL AS k JOIN CUPTI_ACTIVITY_KIND_RUNTIME AS r
    ON r.correlationId = k.correlationId AND k.globalPid = r.globalTid & 0xFFFFFFFFFF000000
JOIN StringIds AS api ON api.id = r.nameId JOIN StringIds AS n ON n.id = k.shortName
LEFT JOIN TARGET_INFO_GPU AS gpu ON gpu.id = k.deviceId GROUP BY 1, 2, 3, 4, 5"""

# Ranges by name, those of a domain with its name before them (nvtx_sum, nvtx_pushpop_sum, nvtx_startend_sum).
RANGES = """
WITH domains AS (
    SELECT domainId AS id, globalTid & 0xFFFFFFFFFF000000 AS pid, text AS name FROM NVTX_EVENTS
    WHERE eventType = 75 GROUP BY 1, 2)
SELECT coalesce(domains.name, '') || ':' || coalesce(e.text, s.value, ''), t.label, count(*), sum(e.end - e.start)
FROM NVTX_EVENTS AS e LEFT JOIN StringIds AS s ON s.id = e.textId
LEFT JOIN domains ON domains.id = e.domainId AND domains.pid = e.globalTid & 0xFFFFFFFFFF000000
JOIN ENUM_NSYS_EVENT_TYPE AS t ON t.id = e.eventType
WHERE e.eventType IN (59, 60) AND e.end IS NOT NULL GROUP BY 1, 2 ORDER BY 4 DESC"""

# The work that was launched in a range of its thread (nvtx_kern_sum, nvtx_gpu_proj_sum).
PROJECTED = """
SELECT e.text, count(*), min(k.start), max(k.end), sum(k.end - k.start)
FROM NVTX_EVENTS AS e JOIN CUPTI_ACTIVITY_KIND_RUNTIME AS r
    ON r.globalTid = e.globalTid AND r.start >= e.start AND r.end <= e.end
JOIN CUPTI_ACTIVITY_KIND_KERNEL AS k
    ON k.correlationId = r.correlationId AND k.globalPid = r.globalTid & 0xFFFFFFFFFF000000
WHERE e.eventType = 59 GROUP BY e.rowid"""

# Managed memory by address: migrations and faults (um_sum, um_total_sum, um_cpu_page_faults_sum).
MANAGED = """
SELECT address, sum(h2d), sum(d2h), sum(cpu), sum(gpu) FROM (
    SELECT virtualAddress AS address, bytes AS h2d, 0 AS d2h, 0 AS cpu, 0 AS gpu FROM CUPTI_ACTIVITY_KIND_MEMCPY
    WHERE copyKind = 11
    UNION ALL SELECT virtualAddress, 0, bytes, 0, 0 FROM CUPTI_ACTIVITY_KIND_MEMCPY WHERE copyKind = 12
    UNION ALL SELECT address, 0, 0, 1, 0 FROM CUDA_UM_CPU_PAGE_FAULT_EVENTS
    UNION ALL SELECT address, 0, 0, 0, numberOfPageFaults FROM CUDA_UM_GPU_PAGE_FAULT_EVENTS) GROUP BY address"""
FAULTS = """
SELECT s.value, m.value, count(*) FROM CUDA_UM_CPU_PAGE_FAULT_EVENTS JOIN StringIds AS s ON s.id = CpuInstruction
JOIN StringIds AS m ON m.id = module GROUP BY 1, 2"""


TRAIN = str(DATA / "examples" / "pytorch_train.xft")


class Reports(Lab):
    def open(self, *arguments):
        self.export(*arguments, "-f", "sqlite")
        database = sqlite3.connect(f"file:{self.path('exported')}?mode=ro", uri=True)
        self.addCleanup(database.close)
        return database

    def train(self):
        return self.open(TRAIN)

    def dumped(self, run, kind):
        lines = self.run_command("dump", run, "-f", "text").stdout.decode("utf-8", "replace").splitlines()
        return [line.split() for line in lines if line.startswith("event ") and kind in line.split()]

    def test_sums_of_work(self):
        database, ns = self.train(), {}
        for table in ("KERNEL", "MEMCPY", "MEMSET"):
            ns[table] = database.execute(f"SELECT count(*), sum(end - start) FROM CUPTI_ACTIVITY_KIND_{table}").fetchone()
        for category, tables in (("%", ns), ("CUDA_KERNEL", ("KERNEL",)), ("MEMORY_OPER", ("MEMCPY", "MEMSET"))):
            rows = database.execute(SUMS.format(name="NULL", category=category)).fetchall()
            self.assertEqual((sum(row[2] for row in rows), sum(row[3] for row in rows)),
                             tuple(sum(ns[table][i] or 0 for table in tables) for i in (0, 1)), category)
            self.assertNotIn(None, [row[0] for row in rows])
        moved = {row[0]: row[7] for row in rows}
        expected = self.reported(TRAIN)
        for name, direction in (("Host-to-Device", "H2D"), ("Device-to-Host", "D2H")):
            self.assertEqual(moved[f"[CUDA memcpy {name}]"], sum(s.bytes for key, s in expected.items() if key[0] == direction))
        base = database.execute(SUMS.format(name="k.shortName", category="CUDA_KERNEL")).fetchall()
        mangled = database.execute(SUMS.format(name="k.mangledName", category="CUDA_KERNEL")).fetchall()
        self.assertLess(len(base), len(mangled))
        self.assertTrue(any(row[0].startswith("_ZN2at6native") for row in mangled))

    def test_calls(self):
        rows = self.train().execute(CALLS).fetchall()
        counts = {row[0]: row[1] for row in rows}
        self.assertEqual(counts["cudaMemcpyAsync"], 216)
        self.assertGreater(counts["cudaStreamSynchronize"], 200)
        self.assertFalse([row for row in rows if row[0] is None or row[3] < 0])

    def test_trace(self):
        rows = self.train().execute(TRACE).fetchall()
        copies = [row for row in rows if row[8].startswith("[CUDA memcpy")]
        self.assertEqual({row[6] for row in rows}, {"NVIDIA H200 (0)"})
        self.assertEqual(len(copies), 216)
        self.assertEqual({row[4:6] for row in copies}, {("Pageable", "Device"), ("Device", "Pinned")})
        self.assertFalse([row for row in rows if row[1] < 0 or row[2] is None or row[7] is None])

    def test_launches(self):
        database = self.train()
        rows = database.execute(LAUNCHES).fetchall()
        kernels, = database.execute("SELECT count(*) FROM CUPTI_ACTIVITY_KIND_KERNEL").fetchone()
        self.assertEqual(sum(row[5] for row in rows), kernels)
        self.assertEqual({row[2] for row in rows}, {"NVIDIA H200"})
        self.assertTrue(all(row[6] > 0 and row[8] >= row[9] > 0 for row in rows))

    def test_ranges_and_domains(self):
        rows = self.open(self.make("phases")).execute(RANGES).fetchall()
        expected = {name: count for name, _, count, _ in rows}
        named = {name.split(":", 1)[0] for name in expected}
        self.assertIn("", named)  # the default domain
        self.assertGreater(len(named), 1, expected)
        self.assertEqual({row[1] for row in rows}, {"NvtxPushPopRange", "NvtxStartEndRange"})
        database = self.open(self.make("phases"))
        created = database.execute("SELECT domainId, globalTid / 0x1000000, text FROM NVTX_EVENTS WHERE eventType = 75").fetchall()
        self.assertEqual(len(created), len(set(created)))
        self.assertEqual({text for _, _, text in created}, named - {""})
        self.assertEqual(database.execute("SELECT count(*) FROM NVTX_EVENTS WHERE eventType != 75 AND domainId != 0 AND "
                                          "domainId NOT IN (SELECT domainId FROM NVTX_EVENTS WHERE eventType = 75)").fetchone(), (0,))

    def test_projection(self):
        (name, count, first, last, busy), = self.train().execute(PROJECTED).fetchall()
        self.assertEqual((name, count % 60), ("train", 0))
        self.assertTrue(count > 0 and last - first > busy > 0)

    def test_managed_memory(self):
        run = self.make("managed")
        database = self.open(run)
        rows = database.execute(MANAGED).fetchall()
        self.assertTrue(all(any(row[i] for row in rows) for i in (1, 2, 3, 4)), rows)
        faults = [sum(row[i] for row in rows) for i in (3, 4)]
        expected = self.dumped(run, "fault")
        self.assertEqual(database.execute("SELECT (SELECT count(*) FROM CUDA_UM_CPU_PAGE_FAULT_EVENTS) + "
                                          "(SELECT count(*) FROM CUDA_UM_GPU_PAGE_FAULT_EVENTS)").fetchone(), (len(expected),))
        self.assertGreater(faults[1], 0)
        where = database.execute(FAULTS).fetchall()
        self.assertEqual(sum(row[2] for row in where), faults[0])
        unknown = database.execute("SELECT count(*) FROM CUDA_UM_GPU_PAGE_FAULT_EVENTS WHERE faultAccessType NOT IN "
                                   "(SELECT id FROM ENUM_CUDA_UNIF_MEM_ACCESS_TYPE) OR end < start OR deviceId < 0").fetchone()
        self.assertEqual(unknown, (0,))

    def test_how_long_the_run_took(self):
        database = self.train()
        (lasts, start, stop), = database.execute("SELECT duration, startTime, stopTime FROM ANALYSIS_DETAILS")
        self.assertEqual(stop - start, lasts)
        report = json.loads(self.run_command("analyze", TRAIN, "-f", "json", "--no-profile").stdout)
        self.assertAlmostEqual(report["run"]["wall_s"], lasts / 1e9, 6)


if __name__ == "__main__":
    unittest.main()
