#!/usr/bin/env python3
"""The toolkit's headers against the table of calls: each function whose name says that it moves data has a row, or
stands here with the reason why it has none. usage: toolkit_test.py CALLS_TABLE INCLUDE"""
import pathlib
import re
import subprocess
import sys

HEADERS = ("cuda.h", "cuda_runtime_api.h")
MOVES = re.compile(r"[Mm]emcpy|[Mm]emset|Prefetch|Discard|Decompress|Migrat|MemOp|WriteValue|GraphLaunch|GraphUpload"
                   r"|Copy.*Async")
# What moves data by its name, and why no row has it. A pattern that fits nothing is an error: it is out of date.
WITHOUT = {
    r"cu(da)?MemDiscardBatchAsync": "moves nothing: contents are given up",
    r"cuMemBatchDecompressAsync": "within the GPU's reach, by an engine of its own; no transfer",
    r"cu(da)?Graph\w*(Memcpy|Memset|BatchMemOp)Node\w*": "nodes: what they move is found in the graph",
    r"cu(da)?GraphUpload": "of the graph itself",
    r"cudaMemset\w*": "the driver's function is caught",
    r"cudaMemcpyArrayToArray": "the runtime copies twice, by functions that have rows",
    r"cuStream(WriteValue|BatchMemOp)\w*": "single words, for the order between streams",
}


def declared(include):
    names = set()
    for header in HEADERS:
        text = (include / header).read_text(errors="replace")
        text = re.sub(r"/\*.*?\*/|//[^\n]*", "", text, flags=re.S)
        names |= set(re.findall(r"(?:CUDAAPI|CUDARTAPI)\s+(cu\w+)\s*\(", text))
    return names


def plain(name):
    """Without what tells variants apart: _v2, _ptds, _ptsz."""
    return re.sub(r"(_v\d+)?(_pt[ds]s|_ptsz)?$", "", name)


def main():
    table, include = sys.argv[1], pathlib.Path(sys.argv[2])
    names = subprocess.run([table, "--names"], check=True, text=True, stdout=subprocess.PIPE).stdout
    rows = {plain(word) for word in re.findall(r"\bcu\w+", names)}
    moving = {name for name in declared(include) if MOVES.search(name)}
    missing = sorted(name for name in moving if plain(name) not in rows)
    unknown = [name for name in missing if not any(re.fullmatch(pattern, name) for pattern in WITHOUT)]
    idle = [pattern for pattern in WITHOUT if not any(re.fullmatch(pattern, name) for name in missing)]
    for name in unknown:
        print(f"{name} has no row in preload/intercept/calls.def, and no reason in {sys.argv[0]}")
    for pattern in idle:
        print(f"{pattern}: no function without a row fits it")
    if len(moving) < 50:
        print(f"only {len(moving)} functions that move data were found in {include}")
    sys.exit(bool(unknown or idle or len(moving) < 50))


if __name__ == "__main__":
    main()
