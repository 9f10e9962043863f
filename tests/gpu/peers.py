"""What the comparisons with other benchmarks share: running xferscope probe, figures, tables."""
import dataclasses
import datetime
import json
import os
import re
import statistics
import subprocess
import tempfile
import time


class CompareError(Exception):
    """One line saying what could not be compared."""


@dataclasses.dataclass
class Figure:
    """One measured case: bandwidth, and half its interval (or a deviation) relative to it."""
    gbps: float
    spread: float


def without_node(name):
    """copy/pinned/h2d/gpu0 for copy/pinned/h2d/node1-gpu0."""
    return re.sub(r"node\d+-", "", name)


def _add(figures, name, size, moved, point, median="median_ns", low="ci_low_ns", high="ci_high_ns"):
    if not point.get("n") or not point[median] > 0:
        return
    figure = Figure(moved / point[median], (point[high] - point[low]) / 2 / point[median])
    for key in {(name, size), (without_node(name), size)}:
        if key not in figures or figures[key].gbps < figure.gbps:
            figures[key] = figure


def profile_figures(profile):
    """{(name, bytes): Figure} of a machine profile; under a name without node, the fastest node's."""
    figures = {}
    for path in profile.get("paths", []):
        for point in path["points"]:
            _add(figures, path["name"], point["bytes"], point["bytes"], point)
    for group in profile.get("concurrent", []):
        for point in group["points"]:
            _add(figures, group["name"], point["bytes"], point["bytes"] * len(group["flows"]), point)
    for table in profile.get("tables", []):
        if table["by"] == "bytes each way":
            for row in table["rows"]:
                _add(figures, table["name"], row["at"], 2 * row["at"], row, "median", "ci_low", "ci_high")
    return figures


def run_timed(command, accepted=(0,), **options):
    """The standard output and the wall time in seconds."""
    start = time.monotonic()
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              check=False, **options)
    except OSError as error:
        raise CompareError(f"{command[0]}: {error.strerror}") from error
    seconds = time.monotonic() - start
    if done.returncode not in accepted:
        said = (done.stderr.strip() or done.stdout.strip() or "no message").splitlines()[-1]
        raise CompareError(f"{os.path.basename(command[0])}: exit status {done.returncode}: {said}")
    return done.stdout, seconds


class Probe:
    """xferscope probe of a build folder."""

    def __init__(self, build):
        self.program = os.path.join(build, "bin", "xferscope")
        self.commands = []

    def measure(self, pattern, sizes, *options):
        """Figures and wall time. Benchmarks that a machine lacks are simply not among them."""
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "profile.json")
            arguments = ["probe", "--quiet", "--sizes", sizes, "--filter", pattern, *options]
            self.commands.append("xferscope " + " ".join(
                f"'{a}'" if re.search(r"[^\w:./=-]", a) else a for a in arguments))
            # 3: something was cut short; what is missing then shows as a missing figure
            _, seconds = run_timed([self.program, *arguments, "-o", path], accepted=(0, 3))
            try:
                with open(path, encoding="utf-8") as file:
                    return profile_figures(json.load(file)), seconds
            except (OSError, ValueError) as error:
                raise CompareError(f"xferscope probe wrote no profile: {error}") from error


def of_runs(figures):
    """Median of several runs, and their standard deviation over their mean (None of one run)."""
    values = [figure.gbps for figure in figures]
    if len(values) < 2:
        return Figure(values[0], None)
    return Figure(statistics.median(values), statistics.stdev(values) / statistics.mean(values))


def percent(value):
    return "" if value is None else f"{value * 100:.2f}"


def size_text(size):
    for shift, unit in ((30, "GiB"), (20, "MiB"), (10, "KiB")):
        if size >= 1 << shift and size % (1 << shift) == 0:
            return f"{size >> shift} {unit}"
    return f"{size} B"


def markdown(titles, rows):
    """A table whose first column is text and the others figures."""
    lines = ["| " + " | ".join(titles) + " |", "|---|" + "---:|" * (len(titles) - 1)]
    lines += ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join(lines)


def _output(command):
    try:
        return subprocess.run(command, capture_output=True, text=True, check=False).stdout
    except OSError:
        return ""


def machine_line():
    """GPU, link, driver, processor and date of the machine this runs on."""
    query = "name,driver_version,pcie.link.gen.max,pcie.link.width.max"
    gpus = _output(["nvidia-smi", f"--query-gpu={query}", "--format=csv,noheader"]).strip().splitlines()
    cpu = re.search(r"^model name\s*:\s*(.*)$", _output(["cat", "/proc/cpuinfo"]), re.M)
    parts = []
    if gpus:
        name, driver, generation, width = [field.strip() for field in gpus[0].split(",")]
        parts = [f"{len(gpus)} x {name}", f"PCIe {generation}.0 x{width}", f"driver {driver}"]
    parts.append(f"{os.cpu_count()} processors" + (f" ({cpu.group(1)})" if cpu else ""))
    parts.append(datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d %H:%M UTC"))
    return ", ".join(parts)
