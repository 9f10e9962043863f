"""Programs on the simulated GPU, for the tests of plans: SCRIPT BIN SIMGPU."""

import os
import re
import subprocess
import sys
from pathlib import Path

BIN, SIMGPU = map(Path, sys.argv[1:3])
XFERSCOPE = BIN / "xferscope"


def run(*command, **settings):
    environment = {**os.environ, "LD_LIBRARY_PATH": str(SIMGPU), "LC_ALL": "C.UTF-8",
                   "XDG_CACHE_HOME": os.devnull, **settings}  # nothing is kept
    runtime = environment.pop("XFERSCOPE_ASAN_RUNTIME", "")
    if runtime:  # programs are built without sanitizers: it has to come before our library
        environment.update(LD_PRELOAD=runtime, ASAN_OPTIONS="verify_asan_link_order=0:detect_leaks=0")
    return subprocess.run(list(map(str, command)), capture_output=True, text=True, env=environment, timeout=300,
                          check=False)


def time_ns(done):
    """What a program says that its work took, by the virtual clock."""
    return int(re.search(r"simulated: (\d+) ns", done.stderr)[1])
