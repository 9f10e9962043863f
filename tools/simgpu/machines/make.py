#!/usr/bin/env python3
"""Writes the simulated machines' profiles (schema: docs/profile-format.md).

The figures have the shape of what an H200 machine measures; they are inputs of the simulation and
say nothing about any real machine. Usage: machines/make.py, in this folder.
"""
import json
from pathlib import Path

TABLE_SIZES = [4096, 65536, 1 << 20, 16 << 20, 256 << 20]
SIZES = [64 << n for n in range(23)]  # 64 B to 256 MiB
GIB = 1 << 30


def interpolate(table, size):
    """Linear in bytes between the rows of a table of (bytes, ns)."""
    for (b0, t0), (b1, t1) in zip(table, table[1:]):
        if size <= b1:
            return t0 + (size - b0) / (b1 - b0) * (t1 - t0)
    raise ValueError(size)


def point(size, ns, host_ns, blocking_ns):
    row = {"bytes": size, "n": 100, "median_ns": round(ns)}
    if host_ns:
        row["host_ns"] = round(host_ns)
    if blocking_ns:
        row["blocking_ns"] = round(blocking_ns)
    return row


def path(name, method, direction, src, dst, points, fit=None, blocking=False):
    return {"name": name, "method": method, "direction": direction, "src": src, "dst": dst,
            "blocking": blocking, "device_timed": True, "fit": fit, "points": points}


def linear(Lo, gbps, g, host_ns=2000, around_ns=None):
    """Points and fit of the transfer model: Lo + k G."""
    times = [(size, Lo + size / gbps) for size in SIZES]
    fit = {"Lo_ns": Lo, "g_ns": g, "G_ns_per_byte": 1 / gbps, "max_error": 0.0,
           "fit_min_bytes": next(s for s in SIZES if s / gbps >= Lo)}
    return [point(s, t, host_ns, t + around_ns if around_ns else None) for s, t in times], fit


def host(memory, numa):
    return {"memory": memory, "device": -1, "numa": numa}


def device(ordinal):
    return {"memory": "device", "device": ordinal, "numa": -1}


def managed(ordinal):
    return {"memory": "managed", "device": ordinal, "numa": -1}


# Pageable copies: (bytes, ns until a blocking caller has its data)
PAGEABLE_H2D = [(64, 2600), (32 << 10, 8200), (2 << 20, 134400), (16 << 20, 1104000),
                (128 << 20, 14278000), (256 << 20, 28556000)]
PAGEABLE_D2H = [(64, 7800), (32 << 10, 10400), (2 << 20, 163800), (16 << 20, 1016800),
                (128 << 20, 8285000), (256 << 20, 16570000)]
# Managed memory: (bytes, ns)
PREFETCH_H2D = [(64, 345000), (1 << 20, 349500), (16 << 20, 458400), (256 << 20, 5534700)]
PREFETCH_D2H = [(64, 40000), (1 << 20, 121900), (16 << 20, 1386500), (256 << 20, 15080600)]
DEMAND_H2D = [(64, 20000), (1 << 20, 551900), (16 << 20, 3106900), (256 << 20, 43296000)]
DEMAND_D2H = [(64, 15000), (1 << 20, 243900), (16 << 20, 3728300), (256 << 20, 53687000)]


# Page-locked memory, ns of a call and for each MiB, as docs/results/probe-h200-2026-11-20.md has it at 4 KiB and 64 MiB.
LOCKING = {"alloc/pinned": (1670, 346900), "free/pinned": (1450, 82400), "alloc/mapped": (2880, 330600),
           "free/mapped": (1460, 79800), "alloc/write-combined": (913800, 256100), "free/write-combined": (365200, 52500),
           "register/pageable": (39590, 27300), "unregister/pageable": (25960, 13800)}


# New pageable memory, ns for each page of 4 KiB, as docs/results/page-faults-h200-2026-11-29.md has it; a copy takes that longer.
PAGES = {"touch/pages/host": 2000, "release/pages/host": 160}
PAGES_OF_COPIES = {"h2d": 690, "d2h": 2800}


def pageable(table, speed, latency):
    rows = []
    for size in SIZES:
        ns = (interpolate(table, size)) / speed + latency
        # such a copy keeps the host busy: it ends when the call returns, or a little later
        rows.append(point(size, ns, ns - 200, ns))
    return rows


def host_paths(gpu, node, numa_name, speed, latency):
    """speed: bandwidth relative to a local node; latency: ns more."""
    there, here, out = device(gpu), node, []
    for kind in ("pinned", "write-combined", "registered"):
        for direction, gbps, Lo in (("h2d", 55.4, 3480), ("d2h", 55.3, 3300)):
            points, fit = linear(Lo + latency, gbps * speed, 1300, 2000, 5200)
            ends = (host(kind, here), there) if direction == "h2d" else (there, host(kind, here))
            out.append(path(f"copy/{kind}/{direction}/{numa_name}gpu{gpu}", "copy",
                            direction.upper(), *ends, points, fit, True))
    for direction, table in (("h2d", PAGEABLE_H2D), ("d2h", PAGEABLE_D2H)):
        ends = (host("pageable", here), there) if direction == "h2d" else (there, host("pageable", here))
        out.append(path(f"copy/pageable/{direction}/{numa_name}gpu{gpu}", "copy", direction.upper(),
                        *ends, pageable(table, speed, latency), None, True))
    for method, gbps, direction in (("mapped-read", 51.3, "H2D"), ("mapped-write", 52.5, "D2H")):
        points, fit = linear(1196 + latency, gbps * speed, None)
        ends = (host("mapped", here), there) if direction == "H2D" else (there, host("mapped", here))
        out.append(path(f"{method}/mapped/{numa_name}gpu{gpu}", method, direction, *ends, points, fit))
    return out


def device_paths(gpu):
    points, fit = linear(2800, 1900, 1500)
    out = [path(f"copy/device/d2d/gpu{gpu}", "copy", "D2D", device(gpu), device(gpu), points, fit)]
    for method, up, down in (("prefetch", PREFETCH_H2D, PREFETCH_D2H), ("demand", DEMAND_H2D, DEMAND_D2H)):
        for direction, table in (("H2D", up), ("D2H", down)):
            ends = (managed(-1), managed(gpu)) if direction == "H2D" else (managed(gpu), managed(-1))
            points = [point(s, interpolate(table, s), None, None) for s in SIZES]
            out.append(path(f"{method}/managed/{direction.lower()}/gpu{gpu}", method, direction, *ends, points))
    return out


def peer_paths(a, b, gbps):
    points, fit = linear(3100, gbps, 1600)
    slow, slow_fit = linear(21000, 37.7, 9000)
    return [path(f"copy/peer/p2p/gpu{a}-gpu{b}", "copy", "P2P", device(a), device(b), points, fit),
            path(f"copy/no-peer/p2p/gpu{a}-gpu{b}", "copy", "P2P", device(a), device(b), slow, slow_fit)]


def gpu(ordinal, numa):
    return {"name": "Simulated H200", "uuid": f"GPU-51300000-0000-4000-8000-{ordinal:012x}",
            "pci": f"0000:{0x18 + 16 * ordinal:02X}:00.0", "memory_bytes": 141 * GIB, "numa": numa,
            "copy_engines": 3}


def locking_tables(gpu):
    return [{"name": f"{name}/gpu{gpu}", "by": "bytes", "unit": "ns",
             "rows": [{"at": size, "median": round(call + size * mib / (1 << 20))} for size in TABLE_SIZES]}
            for name, (call, mib) in LOCKING.items()]


def page_tables(gpu):
    """What a copy takes on top of the same copy once more; of the latter the paths have all."""
    costs = {**PAGES, **{f"{kind}-copy/pages/{way}/gpu{gpu}": ns if kind == "new" else 0.004
                         for way, ns in PAGES_OF_COPIES.items() for kind in ("new", "kept")}}
    return [{"name": name, "by": "bytes", "unit": "ns", "rows": [{"at": size, "median": max(1, round(size / 4096 * ns))} for size in TABLE_SIZES]}
            for name, ns in costs.items()]


def write(name, cpu, cpus, nodes, gpus, paths, tables=()):
    profile = {"schema": "xferscope-profile", "version": 1, "created": "2026-01-01T00:00:00Z",
               "producer": "tools/simgpu/machines/make.py",
               "machine": {"hostname": name, "machine_id": "", "cpu": cpu, "cpus": cpus,
                           "numa_nodes": nodes, "driver_version": 13000, "simulated": True,
                           "gpus": gpus},
               "paths": paths, **({"tables": list(tables)} if tables else {}), "warnings": ["a simulated machine: no figure was measured"]}
    head = json.dumps({k: v for k, v in profile.items() if k not in ("paths", "tables", "warnings")}, indent=1)
    lines = []
    for p in paths:
        points = ",\n    ".join(json.dumps(row) for row in p["points"])
        rest = json.dumps({k: v for k, v in p.items() if k != "points"})
        lines.append(f"  {rest[:-1]},\n   \"points\": [\n    {points}]}}")
    more = [f"  {json.dumps(table)}" for table in tables]
    text = head[:-2] + ",\n \"paths\": [\n" + ",\n".join(lines) + "],\n" \
        + (" \"tables\": [\n" + ",\n".join(more) + "],\n" if more else "") + " \"warnings\": " \
        + json.dumps(profile["warnings"]) + "\n}\n"
    assert json.loads(text) == profile
    Path(name + ".json").write_text(text)


ONE = host_paths(0, 0, "", 1, 0) + device_paths(0)
write("sim-h200", "Simulated CPU", 16, 1, [gpu(0, 0)], ONE)
# The same where page-locking takes its time, and new memory.
write("sim-h200-locking", "Simulated CPU", 16, 1, [gpu(0, 0)], ONE, locking_tables(0) + page_tables(0))

four = []
for g in range(4):
    for node in range(2):
        local = node == g // 2
        four += host_paths(g, node, f"node{node}-", 1 if local else 0.6, 0 if local else 400)
    four += device_paths(g)
for a in range(4):
    for b in range(4):
        if a != b and a // 2 == b // 2:
            four += peer_paths(a, b, 395)
write("sim-2socket-4gpu", "Simulated CPU, two sockets", 64, 2, [gpu(g, g // 2) for g in range(4)], four)
