#!/usr/bin/env python3
"""What the papers cover and the probe therefore measures: Comm|Scope's Table 1 cell by cell, copies
within the host, binding to NUMA nodes and none, numbers of threads; and that CSV holds all of it.

usage: coverage_test.py PROBE SIMGPU_FOLDER SCHEMA PAGE [unittest options]
"""
import csv
import io
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest

import jsonschema

PROBE, SIMGPU, SCHEMA, PAGE = sys.argv[1:5]
TOLERANCE = 0.05
SIZES = [1 << power for power in range(12, 29, 2)]
MIB = 1 << 20


def host(memory, node):
    return {"memory": memory, "device": -1, "numa": node}


def there(memory, gpu):
    return {"memory": memory, "device": gpu, "numa": -1}


def path(name, method, direction, src, dst, Lo, G):
    points = [{"bytes": k, "median_ns": Lo + k * G} for k in SIZES]
    return {"name": name, "method": method, "direction": direction, "src": src, "dst": dst,
            "blocking": direction == "H2H", "device_timed": direction != "H2H", "points": points,
            "fit": {"Lo_ns": Lo, "g_ns": 0, "G_ns_per_byte": G, "max_error": 0}}


OTHER = {"pageable": "pinned", "pinned": "pageable"}


def machine(nodes=2, gpus=2):
    """Every way within the host and from every node differs from every other."""
    paths, tables = [], []
    for a in range(nodes):
        for b in range(nodes):
            where = f"node{a}-node{b}" if nodes > 1 else "host"
            for memory, G in (("pageable", 0.1), ("pinned", 0.2)):
                slow = G * (1 + 0.5 * (a != b) + 0.1 * a)
                paths.append(path(f"copy/{memory}/h2h/{where}", "copy", "H2H", host(memory, a),
                                  host(OTHER[memory], b), 2000 + 100 * b, slow))
                rows = [{"at": n, "median": (slow / 2 + slow / 2 / n) * 64 * MIB}
                        for n in (1, 2, 64)]
                tables.append({"name": f"host-copy/{memory}/h2h/{where}", "by": "threads",
                               "unit": "ns", "bytes": 64 * MIB, "rows": rows})
    for g in range(gpus):
        for n in range(nodes):
            far = 1 + 0.5 * (n != g) + 0.1 * g
            for memory, down in (("pinned", 1.2), ("pageable", 2.5)):
                paths.append(path(f"up/{memory}/{n}{g}", "copy", "H2D", host(memory, n),
                                  there("device", g), 3000 * far, 0.02 * far))
                paths.append(path(f"down/{memory}/{n}{g}", "copy", "D2H", there("device", g),
                                  host(memory, n), 3000 * far * down, 0.02 * far * down))
            paths.append(path(f"read/{n}{g}", "mapped-read", "H2D", host("mapped", n),
                              there("device", g), 1200 * far, 0.03 * far))
        for method in ("demand", "prefetch"):
            paths.append(path(f"{method}/down/{g}", method, "D2H", there("managed", g),
                              there("managed", -1), 90000, 0.2 + 0.1 * g))
            paths.append(path(f"{method}/up/{g}", method, "H2D", there("managed", -1),
                              there("managed", g), 90000, 0.3 + 0.1 * g))
    return {"schema": "xferscope-profile", "version": 1, "paths": paths, "tables": tables,
            "machine": {"simulated": True, "numa_nodes": nodes, "driver_version": 13000,
                        "gpus": [{"name": "made", "memory_bytes": 4 << 30, "copy_engines": 2,
                                  "numa": g % nodes} for g in range(gpus)]}}


def probe(given, *options, node=0):
    with tempfile.TemporaryDirectory() as folder:
        name = given
        if not isinstance(given, str):
            name = os.path.join(folder, "machine.json")
            with open(name, "w", encoding="utf-8") as file:
                json.dump(given, file)
        environment = dict(os.environ, LD_LIBRARY_PATH=SIMGPU, XFERSCOPE_SIMGPU_MACHINE=name,
                           XFERSCOPE_SIMGPU_CLOCK="virtual", XFERSCOPE_SIMGPU_NUMA=str(node))
        return subprocess.run([PROBE, "--time-limit", "300", *options], env=environment,
                              capture_output=True, text=True, timeout=400)


def measured(given, *options, **keywords):
    run = probe(given, "--format", "json", *options, **keywords)
    if run.returncode or run.stderr:
        raise AssertionError(f"status {run.returncode}: {run.stderr}")
    return json.loads(run.stdout)


def times(items, name):
    p = next(p for p in items if p["name"] == name)
    return {q["bytes"]: q["median_ns"] for q in p["points"]}


class Case(unittest.TestCase):
    def close(self, given, found, what):
        self.assertLess(abs(found / given - 1), TOLERANCE, f"{what}: {given} became {found}")

    def alike(self, given, found, what):
        """The same times at the sizes that both have."""
        common = set(given) & set(found)
        self.assertGreaterEqual(len(common), 3, what)
        for size in common:
            self.close(given[size], found[size], (what, size))


class Order(unittest.TestCase):
    def test_a_limit_leaves_what_each_analysis_asks(self):
        """All of the first GPU, then the first pair, before any other GPU; other pairs and all GPUs at the end."""
        names = [line.split()[0] for line in probe("sim-2socket-4gpu", "--list").stdout.splitlines()]
        ranks = [4 if "/all" in name else {(): 0, ("0",): 0, ("0", "1"): 1}.get(tuple(sorted(re.findall(r"gpu(\d+)", name))))
                 for name in names]
        ranks = [rank if rank is not None else 4 if name.count("gpu") > 1 else 2 for name, rank in zip(names, ranks)]
        self.assertEqual(ranks, sorted(ranks))
        self.assertEqual(set(ranks), {0, 1, 2, 4})


class Table1(unittest.TestCase):
    def test_every_cell_has_its_benchmarks(self):
        with open(PAGE, encoding="utf-8") as file:
            page = file.read()
        part = page.split("### Comm|Scope's Table 1")[1].split("\n## ")[0]
        rows = [row.split("|")[1:-1] for row in part.splitlines() if row.startswith("| ")][1:]
        listed = {line.split()[0] for line in
                  probe("sim-2socket-4gpu", "--list").stdout.splitlines()}
        self.assertEqual(len(rows), 31)
        for row in rows:
            names = re.findall(r"`([^`]+)`", row[-1])
            self.assertTrue(names, row)
            for name in names:
                self.assertIn(name, listed)
            self.assertEqual("NUMA" in row[0], all("node1" in name for name in names), row)


class Host(Case):
    @classmethod
    def setUpClass(cls):
        cls.given = machine()
        cls.found = measured(cls.given, "--filter", "h2h|^copy-3d", "--sizes", "4K:64M",
                             "--no-flush", "--quick")
        cls.tables = {t["name"]: t for t in cls.found["tables"]}

    def test_every_way_within_the_host(self):
        for p in self.given["paths"]:
            if p["direction"] == "H2H":
                self.alike(times(self.given["paths"], p["name"]),
                           times(self.found["paths"], p["name"]), p["name"])
        found = [p for p in self.found["paths"] if p["direction"] == "H2H"]
        self.assertEqual(len(found), 8)
        for p in found:
            self.assertTrue(p["blocking"] and not p["device_timed"])
            self.assertEqual(p["dst"]["memory"], OTHER[p["src"]["memory"]])
            self.assertEqual(p["points"][-1]["bytes"], 16 * MIB)  # 4 KiB, and by sixteens

    def test_by_number_of_threads(self):
        for given in self.given["tables"]:
            found = self.tables[given["name"]]
            self.assertEqual((found["by"], found["bytes"]), ("threads", 64 * MIB))
            most = len(os.sched_getaffinity(0))
            self.assertEqual(found["rows"][0]["at"], 1)
            self.assertEqual(found["rows"][-1]["at"], min(most, 64))
            wanted = {row["at"]: row["median"] for row in given["rows"]}
            for row in found["rows"]:
                if row["at"] in wanted:
                    self.close(wanted[row["at"]], row["median"], (given["name"], row["at"]))

    def test_layers_move_the_same_bytes(self):
        rows = self.tables["copy-3d/pinned/d2h/node1-gpu0"]["rows"]
        given = times(self.given["paths"], "down/pinned/10")[4 * MIB]
        self.assertGreaterEqual(len(rows), 4)
        for row in rows:
            self.close(given, row["median"], row["at"])

    def test_the_profile_keeps_to_its_schema(self):
        with open(SCHEMA, encoding="utf-8") as file:
            jsonschema.validate(self.found, json.load(file))

    def test_one_node(self):
        found = measured(machine(nodes=1, gpus=1), "--filter", "h2h", "--sizes", "64M:64M",
                         "--no-flush")
        self.assertEqual({p["name"] for p in found["paths"] + found["tables"]},
                         {f"{way}/{memory}/h2h/host" for way in ("copy", "host-copy")
                          for memory in OTHER})


class Binding(Case):
    NAMES = (("copy/{}/h2d/{}gpu1", "up/{}/{}1"), ("copy/{}/d2h/{}gpu1", "down/{}/{}1"))

    def test_without_binding_memory_is_where_the_system_puts_it(self):
        given = machine()
        for node in (0, 1):
            found = measured(given, "--filter", "^copy/(pinned|pageable)/(h2d|d2h)/.*gpu1$",
                             "--sizes", "64K:4M", node=node)
            for memory in OTHER:
                for name, source in self.NAMES:
                    self.alike(times(given["paths"], source.format(memory, node)),
                               times(found["paths"], name.format(memory, "")), (name, node))
                    for bound in (0, 1):
                        self.alike(times(given["paths"], source.format(memory, bound)),
                                   times(found["paths"], name.format(memory, f"node{bound}-")),
                                   (name, bound))
            unbound = [p for p in found["paths"] if "/gpu" in p["name"]]
            self.assertEqual({min(p["src"]["numa"], p["dst"]["numa"]) for p in unbound}, {-1})

    def test_managed_memory_mapped_memory_and_allocation_too(self):
        given = machine()
        found = measured(given, "--filter", "(demand|prefetch|mapped-read)/.*gpu1$|^alloc/.*gpu1$",
                         "--sizes", "4K:1M")
        for method in ("demand", "prefetch"):
            for direction, way, end in (("h2d", "up", "src"), ("d2h", "down", "dst")):
                for node in ("", "node0-", "node1-"):
                    name = f"{method}/managed/{direction}/{node}gpu1"
                    self.alike(times(given["paths"], f"{method}/{way}/1"),
                               times(found["paths"], name), name)
                    place = next(p for p in found["paths"] if p["name"] == name)[end]
                    self.assertEqual((place["device"], place["numa"]),
                                     (-1, int(node[4]) if node else -1))
        for node in (0, 1):
            self.alike(times(given["paths"], f"read/{node}1"),
                       times(found["paths"], f"mapped-read/mapped/h2d/node{node}-gpu1"), node)
        tables = {t["name"] for t in found["tables"]}
        for node in ("", "node0-", "node1-"):
            for memory in ("pinned", "mapped", "write-combined"):
                self.assertLessEqual({f"alloc/{memory}/{node}gpu1", f"free/{memory}/{node}gpu1"},
                                     tables)
            for way in ("demand", "prefetch"):
                self.assertIn(f"both-ways/{way}/managed/{node}gpu1", tables)
        self.assertIn("alloc/device/gpu1", tables)
        self.assertNotIn("alloc/device/node0-gpu1", tables)

    def test_more_threads_touch_the_same_pages(self):
        given = machine(nodes=1, gpus=1)
        found = measured(given, "--filter", "^demand-threads", "--sizes", "64:64M")
        table, = found["tables"]
        self.assertEqual((table["by"], table["bytes"]), ("threads", 64 * MIB))
        self.close(times(given["paths"], "demand/down/0")[64 * MIB], table["rows"][0]["median"],
                   "one thread")
        self.assertEqual(table["rows"][-1]["at"], min(len(os.sched_getaffinity(0)), 64))


class OneSize(unittest.TestCase):
    def test_is_measured_by_all(self):
        """Also where powers of four and 64 MiB are usual."""
        found = measured(machine(nodes=1, gpus=1), "--sizes", "128M:128M", "--no-flush",
                         "--no-verify", "--filter",
                         "^(both-ways|mapped-read|demand/|copy-both-ways|copy/pinned|alloc/pinned)")
        for p in found["paths"]:
            self.assertEqual([q["bytes"] for q in p["points"]], [128 * MIB], p["name"])
        for t in found["tables"]:
            self.assertEqual([r["at"] for r in t["rows"]], [128 * MIB], t["name"])
        self.assertGreaterEqual(len(found["paths"]) + len(found["tables"]), 12)


class Csv(unittest.TestCase):
    COMMON = ("n", "median_ns", "min_ns", "ci_low_ns", "ci_high_ns", "spread")

    def test_every_figure_is_in_it(self):
        with tempfile.TemporaryDirectory() as folder:
            name = os.path.join(folder, "m.json")
            run = probe("sim-2socket-4gpu", "--quick", "--sizes", "64:16M", "--format", "csv", "-o",
                        name, "--filter",
                        "^(staged/p2p/gpu0-gpu2|streams/pinned/h2d/gpu0|overlap/gpu0|"
                        "concurrent/pinned/h2d/all|concurrent/peer/both/gpu0-gpu1|launch/kernel/gpu0|"
                        "copies/single/h2d/gpu0|(both-ways/)?copy/pinned/(h2d/)?gpu0)$")
            self.assertEqual(run.returncode, 0, run.stderr)
            with open(name, encoding="utf-8") as file:
                profile = json.load(file)
        rows = list(csv.DictReader(io.StringIO(run.stdout)))
        parts = {part: [r for r in rows if r["part"] == part] for part in
                 ("path", "concurrent", "streams", "staged", "overlap", "table", "scalar")}
        self.assertEqual(sum(map(len, parts.values())), len(rows))
        points = {"path": "paths", "concurrent": "concurrent", "streams": "streams"}
        for part, key in points.items():
            wanted = [(item["name"], q["median_ns"]) for item in profile[key]
                      for q in item["points"]]
            self.same(wanted, parts[part])
        self.same([(s["name"], q[key]) for s in profile["staged"] for q in s["points"]
                   for key in ("peer_ns", "unpipelined_ns", "pipelined_ns", "adaptive_ns")] +
                  [(s["name"], c["median_ns"]) for s in profile["staged"] for c in s["cells"]],
                  parts["staged"])
        self.same([(o["name"], o[key]) for o in profile["overlap"]
                   for key in ("h2d_ns", "d2h_ns", "both_ns")], parts["overlap"])
        self.same([(t["name"], r["median"]) for t in profile["tables"] for r in t["rows"]],
                  parts["table"])
        self.same([(s["name"], s["median"]) for s in profile["scalars"]], parts["scalar"])
        for part in ("path", "concurrent", "table", "scalar"):
            for row in parts[part]:
                self.assertTrue(all(row[key] for key in self.COMMON), row)

    def same(self, wanted, rows):
        self.assertTrue(wanted)
        found = sorted((r["name"], float(r["median_ns"])) for r in rows)
        wanted = sorted(wanted)
        self.assertEqual([name for name, _ in wanted], [name for name, _ in found])
        for (name, a), (_, b) in zip(wanted, found):
            self.assertLess(abs(a / b - 1), 1e-9, name)

    def test_bandwidth_is_of_all_that_moves(self):
        run = probe("sim-2socket-4gpu", "--quick", "--sizes", "16M:16M", "--format", "csv",
                    "--filter", "^concurrent/pinned/h2d/all$|^host-copy|^both-ways/copy/pinned/gpu0")
        self.assertEqual(run.returncode, 0, run.stderr)
        for row in csv.DictReader(io.StringIO(run.stdout)):
            factor = 4 if row["part"] == "concurrent" else 2
            self.assertLess(abs(float(row["gbps"]) * float(row["median_ns"]) /
                                (factor * int(row["bytes"])) - 1), 1e-5, row)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[5:]])
