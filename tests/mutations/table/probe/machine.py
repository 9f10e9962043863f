"""Changes in probe/machine/; tests/mutations/row.py says how a row reads."""
from row import M

ROWS = [
    M("toolkit-minor", "probe/machine/machine_host.c",
      "    return major ? major * 1000 + minor * 10 :",
      "    return major ? major * 1000 + minor * 100 :",
      "the profile names a CUDA toolkit that does not exist",
      "probe.machine"),
    M("mixed-governors", "probe/machine/machine_host.c",
      """            return strdup("mixed");
        memcpy(first""",
      """            break;
        memcpy(first""",
      "processors with mixed power settings are called uniform",
      "probe.machine"),
]
