#!/usr/bin/env python3
"""The benchmarks beyond sweeps of copies, on a simulated machine whose every figure is known.

usage: families_test.py PROBE SIMGPU_FOLDER SCHEMA [unittest options]
"""
import json
import os
import subprocess
import sys
import tempfile
import unittest

import jsonschema

from made_machine import SUBMIT_NS, machine

PROBE, SIMGPU, SCHEMA = sys.argv[1:4]
TOLERANCE = 0.05
CALL_NS = 300
FUNCTION_NS, ACROSS_NS = 64000, 7000
OWN = "^(mapped|copy-|both-ways|demand|prefetch|fault|copies|alloc|lock|register|sync|event|launch|graph|host-function)"


def probe(given, *options):
    with tempfile.TemporaryDirectory() as folder:
        name = os.path.join(folder, "machine.json")
        with open(name, "w", encoding="utf-8") as file:
            json.dump(given, file)
        environment = dict(os.environ, LD_LIBRARY_PATH=SIMGPU, XFERSCOPE_SIMGPU_MACHINE=name,
                           XFERSCOPE_SIMGPU_CLOCK="virtual", XFERSCOPE_SIMGPU_CALL_NS=str(CALL_NS),
                           XFERSCOPE_SIMGPU_SUBMIT_NS=str(SUBMIT_NS), XFERSCOPE_SIMGPU_FUNCTION_NS=str(FUNCTION_NS),
                           XFERSCOPE_SIMGPU_ACROSS_NS=str(ACROSS_NS))
        return subprocess.run([PROBE, "--time-limit", "300", *options], env=environment,
                              capture_output=True, text=True, timeout=400)


def places(p):
    return p["method"], p["direction"], *((e["memory"], e["device"], e["numa"])
                                          for e in (p["src"], p["dst"]))


class Families(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.given = machine(2, 2)
        run = probe(cls.given, "--filter", OWN, "--format", "json", "--sizes", "64:16M")
        if run.returncode or run.stderr:
            raise AssertionError(f"status {run.returncode}: {run.stderr}")
        cls.found = json.loads(run.stdout)
        cls.tables = {t["name"]: t for t in cls.found["tables"]}
        cls.scalars = {s["name"]: s for s in cls.found["scalars"]}

    def close(self, given, found, what):
        self.assertLess(abs(found / given - 1), TOLERANCE, f"{what}: {given} became {found}")

    def given_ns(self, name, size):
        p = next(p for p in self.given["paths"] if p["name"] == name)
        return p["fit"]["Lo_ns"] + size * p["fit"]["G_ns_per_byte"]

    def rows(self, name):
        return {row["at"]: row["median"] for row in self.tables[name]["rows"]}

    def test_every_path_is_found(self):
        found = {places(p): p for p in self.found["paths"] if "load" not in p}
        for p in self.given["paths"]:
            if p["method"] == "copy":
                continue
            self.assertIn(places(p), found)
            points = {q["bytes"]: q["median_ns"] for q in found[places(p)]["points"]}
            self.assertGreaterEqual(len(points), 5)
            for size, ns in points.items():
                self.close(p["fit"]["Lo_ns"] + size * p["fit"]["G_ns_per_byte"], ns,
                           f"{p['name']}, {size} bytes")

    def test_busy_links(self):
        """The simulation's directions do not slow each other down: nothing may be added."""
        loaded = [p for p in self.found["paths"] if "load" in p]
        # copies both ways under two loads; a kernel's writes
        self.assertEqual(len(loaded), 2 * 2 * (2 * 2 + 1))
        self.assertEqual([p["load"] for p in loaded if p["method"] == "mapped-write"],
                         4 * ["both-ways"])
        alone = {places(p): p for p in self.given["paths"]}
        for p in loaded:
            fit = alone[places(p)]["fit"]
            for q in p["points"]:
                self.close(fit["Lo_ns"] + q["bytes"] * fit["G_ns_per_byte"], q["median_ns"],
                           f"{p['name']}, {q['bytes']} bytes")
            self.close(fit["G_ns_per_byte"], p["fit"]["G_ns_per_byte"], p["name"])

    def test_both_ways_last_as_long_as_the_slower(self):
        pairs = {"both-ways/copy/pinned/node1-gpu0": ("copy/pinned/h2d/10", "copy/pinned/d2h/10"),
                 "both-ways/mapped/mapped/node0-gpu1": ("mapped-read/01", "mapped-write/01"),
                 "both-ways/one-kernel/mapped/node1-gpu0": ("mapped-read/10", "mapped-write/10"),
                 "both-ways/mapped/device/gpu0-gpu1": ("mapped-read/p10", "mapped-write/p01"),
                 "both-ways/demand/managed/gpu1": ("demand/up/1", "demand/down/1"),
                 "both-ways/demand/managed/gpu0-gpu1": ("demand/p01", "demand/p10"),
                 "both-ways/prefetch/managed/gpu0-gpu1": ("prefetch/p01", "prefetch/p10"),
                 "both-ways/prefetch/managed/gpu0": ("prefetch/up/0", "prefetch/down/0")}
        for name, ways in pairs.items():
            rows = self.rows(name)
            self.assertEqual(self.tables[name]["by"], "bytes each way")
            self.assertGreaterEqual(len(rows), 4, name)
            for size, ns in rows.items():
                if size >= 1 << 20:  # the host's call is part of what a host's clock shows
                    self.close(max(self.given_ns(way, size) for way in ways), ns, (name, size))

    def test_pageable_both_ways_take_turns_on_one_simulated_processor(self):
        for size, ns in self.rows("both-ways/copy/pageable/node0-gpu0").items():
            ways = [self.given_ns(f"copy/pageable/{way}/00", size) for way in ("h2d", "d2h")]
            self.assertGreater(ns, max(ways))
            self.assertLess(ns, 1.1 * sum(ways) + 20000)

    def test_a_page_fault_is_the_shortest_migration(self):
        for i in (0, 1):
            up, down = (self.scalars[f"fault/managed/{way}/gpu{i}"]["median"]
                        for way in ("h2d", "d2h"))
            self.close(self.given_ns(f"demand/up/{i}", 64), up, f"fault on GPU {i}")
            self.close(self.given_ns(f"demand/down/{i}", 64), down, "fault on the host")
            across = self.scalars[f"fault/managed/p2p/gpu{i}-gpu{1 - i}"]["median"]
            self.close(self.given_ns(f"demand/p{i}{1 - i}", 64), across, "fault on a peer's page")

    def test_rows_move_the_same_bytes(self):
        table = self.tables["copy-2d/pinned/d2h/node1-gpu1"]
        self.assertEqual((table["by"], table["bytes"]), ("row bytes", 4 << 20))
        self.assertGreaterEqual(len(table["rows"]), 7)
        for row in table["rows"]:
            self.close(self.given_ns("copy/pinned/d2h/11", 4 << 20), row["median"], row["at"])

    def test_copies_by_number(self):
        names = [f"copies/{way}/{direction}/gpu0" for way in ("single", "batch", "graph", "packed")
                 for direction in ("h2d", "d2h")]
        for name in names:
            self.assertEqual((self.tables[name]["by"], self.tables[name]["bytes"]),
                             ("copies", 4096))
            self.assertEqual(list(self.rows(name)), [1, 4, 16, 64, 256, 1024])
        single, packed = self.rows(names[0]), self.rows("copies/packed/h2d/gpu0")
        # each call costs the host more than the engine needs for its bytes and the gap
        self.close(1024 * SUBMIT_NS, single[1024], "1024 calls")
        self.close(self.given_ns("copy/pinned/h2d/00", 4 << 20), packed[1024], "packed")
        self.assertLess(self.rows("copies/batch/h2d/gpu0")[1024], single[1024])

    def test_calls_cost_what_was_set(self):
        for name in ("sync/stream", "sync/event", "sync/context", "event/record", "event/wait"):
            self.assertEqual(self.scalars[f"{name}/gpu1"]["median"], CALL_NS, name)
        self.assertEqual(self.scalars["launch/kernel/gpu0"]["median"], SUBMIT_NS)
        self.assertEqual(self.scalars["launch/kernel-and-sync/gpu0"]["median"], SUBMIT_NS + CALL_NS)
        launches = {at: SUBMIT_NS for at in (2, 8, 32, 128)}
        self.assertEqual(self.rows("graph/launch/gpu0"), launches)
        self.assertEqual(self.rows("graph/update/gpu0"), {at: ns + CALL_NS for at, ns in launches.items()})
        self.assertEqual(self.rows("graph/instantiate/gpu1"), {at: ns + CALL_NS for at, ns in launches.items()})
        for memory in ("device", "managed", "pinned", "mapped", "write-combined"):
            for what in ("alloc", "free"):
                rows = self.rows(f"{what}/{memory}/gpu0")
                self.assertEqual(set(rows), {1 << p for p in range(12, 25, 2)})
                self.assertEqual(set(rows.values()), {CALL_NS}, (what, memory))
        for what in ("register", "unregister"):
            rows = self.rows(f"{what}/pageable/gpu1")
            self.assertTrue(all(ns >= CALL_NS for ns in rows.values()), rows)
        self.assertIn("alloc/pool/gpu0", self.tables)
        for what in ("alloc", "free"):  # the call alone: what waits for the stream is not in it
            self.assertEqual(set(self.rows(f"{what}/kept/gpu0").values()), {CALL_NS}, what)

    def test_events_of_another_gpu_are_seen_later(self):
        self.close(ACROSS_NS, self.scalars["event/across/gpu0-gpu1"]["median"], "event/across")
        self.assertNotIn("event/across/gpu1-gpu0", self.scalars)

    def test_functions_of_the_host_hold_their_stream_up(self):
        for name in ("call", "hold", "hold-queued"):
            self.close(FUNCTION_NS, self.scalars[f"host-function/{name}/gpu1"]["median"], name)

    def test_memory_that_is_page_locked_by_hand(self):
        """What the simulation takes for a copy within the host, and for page-locking."""
        for size, ns in self.rows("lock/threads1/gpu1").items():
            self.assertGreaterEqual(size, 1 << 20)
            self.close(10000 + size / 10 + size // 26 + CALL_NS, ns, size)
        for size, ns in self.rows("unlock/threads1/gpu1").items():
            self.close(size // 67 + CALL_NS, ns, size)
        for size, ns in self.rows("clear/shared1/gpu1").items():
            self.close(10000 + size / 10, ns, size)
        processors = len(os.sched_getaffinity(0))
        self.assertEqual({name for name in self.tables if name.startswith("lock/") and "/gpu" in name},
                         {f"lock/{kind}{n}/gpu{i}" for kind in ("threads", "shared") for n in (1, 4, 8, 16) if n <= processors
                          for i in (0, 1)})
        self.assertIn("lock/threads1/node1-gpu0", self.tables)

    def test_new_memory(self):
        """What the simulated machine has for it, and without that what the simulation takes for a copy within the host."""
        given = machine(1, 1)
        costs = {"touch/pages/host": (0, 0.6), "release/pages/host": (0, 0.05), "touch/huge-pages/host": (0, 0.1),
                 "release/huge-pages/host": (0, 0.01), "new-copy/pages/h2d/gpu0": (6000, 0.15),
                 "kept-copy/pages/h2d/gpu0": (6000, 0.02), "new-copy/pages/d2h/gpu0": (9000, 0.8),
                 "kept-copy/pages/d2h/gpu0": (9000, 0.05)}
        given["tables"] = [{"name": name, "by": "bytes", "unit": "ns",
                            "rows": [{"at": size, "median": call + size * byte} for size in (1 << 20, 1 << 26)]}
                           for name, (call, byte) in costs.items()]
        given["tables"].append({"name": "touch-threads/pages/host", "by": "threads", "unit": "ns", "bytes": 8 << 20,
                                "rows": [{"at": n, "median": 1e6 * n} for n in (1, 64)]})
        run = probe(given, "--filter", "touch|new-copy", "--format", "json", "--sizes", "1M:16M")
        self.assertEqual((run.returncode, run.stderr), (0, ""))
        found = {t["name"]: {row["at"]: row["median"] for row in t["rows"]} for t in json.loads(run.stdout)["tables"]}
        for name, (call, byte) in costs.items():
            self.assertEqual(list(found[name]), [1 << 20, 1 << 22, 1 << 24], name)
            if "copy" in name:  # on top of what such a copy takes
                continue
            for size, ns in found[name].items():
                self.close(call + size * byte, ns, name)
        for way, more in (("h2d", 0.13), ("d2h", 0.75)):
            path = next(p for p in given["paths"] if p["name"] == f"copy/pageable/{way}/00")
            for size, ns in found[f"kept-copy/pages/{way}/gpu0"].items():
                kept = path["fit"]["Lo_ns"] + size * path["fit"]["G_ns_per_byte"] + 3000
                self.close(kept, ns, (way, size))
                self.close(more * size, found[f"new-copy/pages/{way}/gpu0"][size] - ns, (way, size))
        for threads, ns in found["touch-threads/pages/host"].items():
            self.close(1e6 * threads, ns, threads)

    def test_large_memory_is_page_locked_where_no_sizes_are_asked_for(self):
        def sizes(*options):
            run = probe(machine(1, 1), "--filter", "^(alloc|register|lock/(threads|shared)1)/", "--format", "json", *options)
            self.assertEqual((run.returncode, run.stderr), (0, ""))
            return {t["name"]: {row["at"] >> 20: row["median"] for row in t["rows"]} for t in json.loads(run.stdout)["tables"]}
        quick, usual = sizes("--quick"), sizes()
        for name in ("lock/threads1", "unlock/threads1", "lock/shared1", "clear/shared1", "unlock/shared1", "alloc/pinned", "free/pinned", "register/pageable"):
            self.assertEqual(list(quick[name + "/gpu0"])[-4:], [1, 16, 64, 256], name)
        for name in ("alloc/mapped/gpu0", "alloc/device/gpu0"):
            self.assertEqual(max(quick[name]), 16, name)
        self.assertEqual([max(usual[f"alloc/{memory}/gpu0"]) for memory in ("mapped", "write-combined", "device")], [256, 256, 64])
        size = 256 << 20
        self.close(10000 + size / 10 + size // 26 + CALL_NS, quick["lock/threads1/gpu0"][256], size)

    def test_the_profile_keeps_to_its_schema(self):
        with open(SCHEMA, encoding="utf-8") as file:
            schema = json.load(file)
        jsonschema.validate(self.found, schema)
        for spoil in (lambda p: p["tables"][0].pop("by"), lambda p: p["scalars"][0].pop("median"),
                      lambda p: p["tables"][0]["rows"][0].update(at=0),
                      lambda p: p["paths"][-1].update(load="heavy")):
            broken = json.loads(json.dumps(self.found))
            spoil(broken)
            with self.assertRaises(jsonschema.ValidationError):
                jsonschema.validate(broken, schema)


class Machines(unittest.TestCase):
    def test_one_copy_engine_serves_one_way_after_the_other(self):
        given = machine(1, 1, engines=1)
        listed = probe(given, "--list").stdout
        self.assertNotIn("copy-both-ways", listed)
        self.assertIn("copy-under-mapped/pinned/h2d/gpu0", listed)
        run = probe(given, "--filter", "both-ways/copy/pinned", "--format", "json",
                    "--sizes", "4M:16M")
        self.assertEqual(run.returncode, 0, run.stderr)
        rows = {r["at"]: r["median"] for r in json.loads(run.stdout)["tables"][0]["rows"]}
        ways = [p["points"] for p in given["paths"] if p["name"].startswith("copy/pinned")]
        for size, ns in rows.items():
            both = sum(q["median_ns"] for way in ways for q in way if q["bytes"] == size)
            self.assertLess(abs(ns / both - 1), TOLERANCE, (size, ns, both))
        self.assertEqual(set(rows), {1 << 22, 1 << 24})

    def test_one_kernel_takes_what_the_machine_has_for_it(self):
        """Not what reading and writing by two kernels would take."""
        given = machine(1, 1)
        sizes = [1 << power for power in range(12, 25)]
        given["tables"] = [{"name": "both-ways/one-kernel/mapped/gpu0", "by": "bytes each way", "unit": "ns",
                            "rows": [{"at": size, "median": 7000 + size * 0.05} for size in sizes]}]
        run = probe(given, "--filter", "^both-ways/(one-kernel|mapped)/mapped/", "--sizes", "4K:16M",
                    "--format", "json")
        self.assertEqual((run.returncode, run.stderr), (0, ""))
        tables = {table["name"]: table["rows"] for table in json.loads(run.stdout)["tables"]}
        one = tables["both-ways/one-kernel/mapped/gpu0"]
        self.assertGreater(len(one), 4)
        for row in one:
            self.assertLess(abs(row["median"] / (7000 + row["at"] * 0.05) - 1), TOLERANCE, row)
        two = {row["at"]: row["median"] for row in tables["both-ways/mapped/mapped/gpu0"]}
        self.assertLess(two[1 << 24], 0.7 * one[-1]["median"])

    def test_reading_write_combined_memory_takes_what_the_machine_has_for_it(self):
        given = machine(1, 1)
        sizes, rates = [1 << power for power in range(12, 25)], {"pinned": 0.08, "write-combined": 5}
        given["tables"] = [{"name": f"host-read/{memory}/host", "by": "bytes", "unit": "ns",
                            "rows": [{"at": size, "median": size * rate} for size in sizes]}
                           for memory, rate in rates.items()]
        run = probe(given, "--filter", "^host-read/", "--sizes", "4K:16M", "--format", "json")
        self.assertEqual((run.returncode, run.stderr), (0, ""))
        tables = {table["name"]: table["rows"] for table in json.loads(run.stdout)["tables"]}
        self.assertEqual(set(tables), {"host-read/pinned/host", "host-read/write-combined/host"})
        for memory, rate in rates.items():
            rows = tables[f"host-read/{memory}/host"]
            self.assertEqual([row["at"] for row in rows], [1 << power for power in range(12, 25, 2)])
            for row in rows:
                self.assertLess(abs(row["median"] / (row["at"] * rate) - 1), TOLERANCE, row)

    def test_sizes_decide_what_applies(self):
        def families(*options):
            names = probe(machine(1, 1), "--list", "--filter", OWN, *options).stdout.split("\n")
            return {name.split("/")[0] for name in names if name}
        everything = families()
        self.assertLessEqual({"mapped-read", "demand", "both-ways", "copies", "copy-2d", "alloc"},
                             everything)
        self.assertEqual(families("--sizes", "64:1M"), everything - {"copies", "copy-2d", "copy-3d"})
        few = families("--sizes", "64:256")
        self.assertIn("demand-threads", everything - few)
        self.assertEqual(few, {"mapped-read", "mapped-write", "both-ways", "fault", "sync", "event",
                               "launch", "graph", "host-function"})
        run = probe(machine(1, 1), "--sizes", "64:256", "--filter", OWN, "--format", "json")
        self.assertEqual((run.returncode, run.stderr), (0, ""))

    def test_small_memory_bounds_managed_memory(self):
        given = machine(1, 1)
        given["machine"]["gpus"][0]["memory_bytes"] = 64 << 20
        run = probe(given, "--filter", "demand/managed", "--format", "json", "--sizes", "64:64M")
        self.assertEqual(run.returncode, 0, run.stderr)
        for p in json.loads(run.stdout)["paths"]:
            self.assertLessEqual(p["points"][-1]["bytes"], 16 << 20)
        found = json.loads(run.stdout)["tables"] + json.loads(
            probe(given, "--filter", "^demand-threads", "--format", "json").stdout)["tables"]
        for t in found:  # two buffers in the quarter, or one
            most = t["rows"][-1]["at"] * 2 if t["by"] == "bytes each way" else t["bytes"]
            self.assertLessEqual(most, 16 << 20, t["name"])
        self.assertGreaterEqual(len(found), 2)
        given["machine"]["gpus"][0]["memory_bytes"] = 16 << 20
        run = probe(given, "--filter", "^fault/managed/h2d", "--format", "json", "--sizes", "64:4M")
        self.assertEqual(run.returncode, 1)
        self.assertIn("too little free memory", run.stderr)

    def test_quick_measures_the_same_in_fewer_steps(self):
        full, quick = (probe(machine(1, 1), "--filter", "copies/single/h2d|alloc/device", "--format",
                             "json", *more) for more in ((), ("--quick",)))
        full, quick = ({t["name"]: [r["at"] for r in t["rows"]] for t in
                        json.loads(run.stdout)["tables"]} for run in (full, quick))
        self.assertEqual(set(full), set(quick))
        for name, steps in quick.items():
            self.assertLess(len(steps), len(full[name]))
            self.assertLess(set(steps), set(full[name]))

    def test_csv_and_text_show_tables_and_scalars(self):
        options = ("--filter", "sync/stream|alloc/device|both-ways/mapped", "--sizes", "4K:64K")
        csv = probe(machine(1, 1), *options, "--format", "csv").stdout.splitlines()
        self.assertTrue(any(line.startswith("sync/stream/gpu0,") for line in csv), csv)
        self.assertEqual(sum(line.startswith("alloc/device/gpu0,") for line in csv), 3)
        self.assertEqual({line.count(",") for line in csv}, {csv[0].count(",")})
        with tempfile.TemporaryDirectory() as folder:
            text = probe(machine(1, 1), *options, "-o", os.path.join(folder, "m.json")).stdout
        self.assertRegex(text, r"alloc/device/gpu0 +bytes +4 KiB +0\.30")
        self.assertRegex(text, r"sync/stream/gpu0 .*0\.30")
        both = next(line for line in csv if line.startswith("both-ways/mapped/mapped/gpu0,,,,,,,,,65536"))
        ns, gbps = (float(both.split(",")[i]) for i in (11, 18))
        self.assertLess(abs(gbps / (2 * 65536 / ns) - 1), 1e-4)
        self.assertRegex(text, rf"both-ways/mapped/mapped/gpu0 +bytes each way .* {gbps:.2f}\n")


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[4:]])
