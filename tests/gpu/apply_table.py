"""The tables of apply.sh: medians over the rounds, bare and applied.

usage: apply_table.py OUT"""
import statistics
import sys
from pathlib import Path


def outputs(out, name, side):
    return [path.read_text() for path in sorted(out.glob(f"{name}.{side}.*"))]


def copies(texts):
    """{row: [GB/s of each round]} of apply_copies; a row that found different data is none."""
    found = {}
    for text in texts:
        for line in text.splitlines():
            words = line.split()
            if len(words) == 8:
                rate = float(words[6]) if words[7] == "ok" else float("nan")
                found.setdefault((*words[:3], int(words[3])), []).append(rate)
    return found


def number_after(texts, word):
    """The number behind a word, in each text that has it."""
    found = []
    for text in texts:
        words = text.split()
        if word in words[:-1]:
            found.append(float(words[words.index(word) + 1]))
    return found


def table(head, rows):
    return "\n".join(["| " + " | ".join(head) + " |", "|" + "---|" * len(head),
                      *("| " + " | ".join(map(str, row)) + " |" for row in rows)])


def copy_rows(out):
    bare, applied = (copies(outputs(out, "copies", side)) for side in ("bare", "applied"))
    for key in bare:
        if key in applied:
            before, after = statistics.median(bare[key]), statistics.median(applied[key])
            yield (*key[:3], f"{key[3]} MiB", f"{before:.1f}", f"{after:.1f}", f"{after / before:.2f}")


def program_rows(out, names, word, unit):
    for name in names:
        bare, applied = (number_after(outputs(out, name, side), word) for side in ("bare", "applied"))
        if bare and applied:
            before, after = statistics.median(bare), statistics.median(applied)
            yield name.removeprefix("pair-"), f"{before / unit:.3g}", f"{after / unit:.3g}", f"{before / after:.2f}"


def different(out):
    """Programs whose results differ: the sums of pairs."""
    pairs = sorted({path.name.split(".")[0] for path in out.glob("pair-*.bare.*")})
    return [name for name in pairs
            if len({value for side in ("bare", "applied") for value in number_after(outputs(out, name, side), "sum")}) > 1]


def tables(out):
    pairs = sorted({path.name.split(".")[0] for path in out.glob("pair-*.bare.*")})
    parts = [table(("direction", "form", "memory", "size", "bare, GB/s", "applied, GB/s", "times"), copy_rows(out)),
             table(("pair", "bare, ms", "applied, ms", "times"), program_rows(out, pairs, "work_ns", 1e6)),
             table(("program", "bare, ns a call", "applied, ns a call", "times"),
                   program_rows(out, ["overhead"], "median", 1))]
    wrong = different(out)
    if wrong:
        parts.append("Results differ: " + ", ".join(wrong))
    return "\n\n".join(parts)


if __name__ == "__main__":
    print(tables(Path(sys.argv[1])))
