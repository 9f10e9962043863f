#!/usr/bin/env python3
"""What `xferscope probe --net` measured of copies between GPUs, as the figures of Reaño and Silla (rCUDA, section 4) that show
the same, beside what the paper's text says of them.

usage: figures.py NET.json [MACHINE.json]      Markdown; MACHINE.json: a profile with copy/peer, or copy/no-peer, between the GPUs

The paper prints curves: the figures here are those of its text and of its Table 2 (Tesla K20m, FDR InfiniBand between nodes, CUDA's
own copies within one). Versions 1, 2A, 3A and 4A give the network device memory in four ways; an MPI that takes such memory is
one way, and stands for all. A cell without a measurement has "-"."""
import json
import sys

KB, MB = 1000, 1000_000
FROM_LATENCY = 200 * KB  # Figure 16 ends there
# Highest GB/s (Figures 6, 9, 12) and shortest copy in us (Table 2, Figure 16), where the text has them; ours.
VERSIONS = [("CUDA's copy", None, None, 22, "driver"), ("1", "6", 1.40, 596, "direct"), ("2A", "9", 2.25, 136, "direct"),
            ("2B", "9", 2.90, 131, "2B"), ("3A", "12", 2.60, 131, "direct"), ("3B", "12", 5.40, 131, "3B"),
            ("4A", "13", None, 72, "direct"), ("4B", "13", None, 78, "4B")]
# Version 3B's best rings by size of the copy, from the largest on (section 4.4).
RINGS = [(14 * MB, "4 of 1 MB"), (4 * MB, "4 of 512 KB"), (600 * KB, "8 of 256 KB"), (0, "none stands out")]
COLUMNS = [("driver", "CUDA's copy"), ("direct", "MPI given device memory"), ("2B", "2B"), ("3B", "3B"), ("4B", "4B")]
FIELDS = {"direct": "direct_ns", "2B": "unpipelined_ns", "3B": "pipelined_ns", "4B": "adaptive_ns"}


def size_word(size):
    for unit, word in ((1 << 20, "MiB"), (1 << 10, "KiB")):
        if size >= unit and size % unit == 0:
            return f"{size // unit} {word}"
    return f"{size} B"


def number(value):
    return "-" if value is None else f"{value:.3g}" if value < 1000 else f"{value:,.0f}"


def table(head, rows):
    print("| " + " | ".join(head) + " |\n|" + "---|" * len(head))
    for row in rows:
        print("| " + " | ".join(map(str, row)) + " |")
    print()


class Pair:
    """ns by way and size, of one direction."""

    def __init__(self, staged, ranks, paths):
        self.name, self.hybrid = staged["name"], staged["hybrid_bytes"]
        self.cells = staged.get("cells", [])
        self.points = {point["bytes"]: point for point in staged["points"]}
        self.ns = {way: {size: point[field] for size, point in self.points.items() if point.get(field)}
                   for way, field in FIELDS.items()}
        gpus = "gpu{}-gpu{}".format(*(ranks[staged[end]]["gpu"] for end in ("from", "to")))
        wanted = [f"copy/{access}/p2p/{gpus}" for access in ("peer", "no-peer")]
        found = sorted((path for path in paths if path["name"] in wanted), key=lambda path: wanted.index(path["name"]))
        self.driver_path = found[0]["name"] if found else None
        self.ns["driver"] = {point["bytes"]: point["median_ns"] for path in found[:1] for point in path["points"]}

    def us(self, way, size):
        return self.ns[way][size] / 1e3 if size in self.ns[way] else None

    def gbps(self, way, size):
        return size / self.ns[way][size] if size in self.ns[way] else None

    def best(self, way):
        """The highest GB/s, and where."""
        rates = [(self.gbps(way, size), size) for size in self.points if size in self.ns[way]]
        return max(rates, default=(None, None))

    def from_size_on(self, way, other):
        """The size from which on `way` takes less time, at every larger one; None: there is none."""
        found = None
        for size in sorted(self.points, reverse=True):
            ns, than = self.ns[way].get(size), self.ns[other].get(size)
            if ns is None or than is None or ns >= than:
                break
            found = size
        return found

    def ring(self, size):
        point = self.points[size]
        return f"{point['buffers']} of {size_word(point['buffer_bytes'])}"


def bandwidths(pair):
    print("### Figures 6, 9, 12 and 13: bandwidth by size, GB/s\n")
    table(["size"] + [word for _, word in COLUMNS] + ["4B's ring", "the paper's (3B)"],
          [[size_word(size)] + [number(pair.gbps(way, size)) for way, _ in COLUMNS]
           + [pair.ring(size), next(ring for least, ring in RINGS if size > least)] for size in sorted(pair.points)])
    print("### The highest, and the shortest copy\n")
    rows = []
    for version, figure, paper, us, way in VERSIONS:
        rate, at = pair.best(way)
        least = min((ns for size, ns in pair.ns[way].items() if size in pair.points), default=None)
        rows.append([version, figure or "all", number(paper), "-" if rate is None else f"{number(rate)} ({size_word(at)})",
                     number(us), number(least / 1e3 if least else None)])
    table(["version", "figure", "paper, GB/s", "here, GB/s", "paper, us", "here, us"], rows)


def latencies(pair):
    print("### Figure 16: copies up to 200 KB, us\n")
    table(["size"] + [word for _, word in COLUMNS],
          [[size_word(size)] + [number(pair.us(way, size)) for way, _ in COLUMNS]
           for size in sorted(pair.points) if size <= FROM_LATENCY])


def since(size, what):
    return f"no size from which on {what}" if size is None else f"from {size_word(size)} on"


def statements(pair):
    print("### What the text says\n")
    both = [size for size in sorted(pair.points) if size in pair.ns["4B"] and size in pair.ns["3B"]]
    gains = [pair.ns["3B"][size] / pair.ns["4B"][size] for size in both]
    rows = [["13", "4B clearly outperforms 3B, whatever the size",
             f"at {sum(gain > 1 for gain in gains)} of {len(both)} sizes; {number(min(gains))} to {number(max(gains))} times 3B's bandwidth"
             if gains else "-"]]
    largest = max(pair.points)
    if pair.ns["driver"]:
        near, than = pair.gbps("3B", largest), pair.gbps("driver", largest)
        if than:
            rows.append(["12", "3B is almost as fast as CUDA between local GPUs", f"{number(near / than)} of it ({size_word(largest)})"])
        rows.append(["13", "4B is faster than CUDA's copy from 300 KB on", since(pair.from_size_on("4B", "driver"), "it is")])
    if pair.ns["direct"]:
        rows.append(["13, 4.7", "hybrid: 4A up to 200 KB, 4B above",
                     f"4B from {size_word(pair.hybrid)} on" if pair.hybrid else "device memory given to MPI at every size"])
    else:
        rows.append(["13, 4.7", "hybrid: 4A up to 200 KB, 4B above", "this MPI takes no device memory"])
    table(["figure", "paper", "here"], rows)


def grid(pair):
    """By count and size of pieces, at the largest size of which there are several."""
    sizes = {}
    for cell in pair.cells:
        sizes.setdefault(cell["bytes"], []).append(cell)
    for size in sorted(size for size, cells in sizes.items() if len(cells) >= 4)[-2:]:
        cells = {(cell["buffers"], cell["buffer_bytes"]): size / cell["median_ns"] for cell in sizes[size]}
        pieces = sorted({key[1] for key in cells})
        print(f"### The grid: {size_word(size)} by buffers and size of a piece, GB/s\n")
        table(["buffers"] + list(map(size_word, pieces)),
              [[count] + [number(cells.get((count, piece))) for piece in pieces] for count in sorted({key[0] for key in cells})])


def main(arguments):
    if not 1 <= len(arguments) <= 2:
        sys.exit(__doc__)
    profiles = []
    for path in arguments:
        with open(path, encoding="utf-8") as file:
            profiles.append(json.load(file))
    paths = profiles[1]["paths"] if len(profiles) > 1 else []
    items = [item for item in profiles[0]["network"]["staged"] if item["points"]]
    if not items:
        sys.exit(f"figures.py: {arguments[0]} has no copies between GPUs")
    for item in items:
        pair = Pair(item, profiles[0]["network"]["ranks"], paths)
        print(f"## {pair.name}" + (f", {pair.driver_path}" if pair.driver_path else "") + "\n")
        bandwidths(pair)
        statements(pair)
        latencies(pair)
        grid(pair)


if __name__ == "__main__":
    main(sys.argv[1:])
