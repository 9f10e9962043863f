"""Ranks of an MPI launcher for the tests of the probe's network family."""
import argparse
import json
import os
import subprocess
import sys
import tempfile
import unittest

import jsonschema

PARSER = argparse.ArgumentParser()
for name in ("command", "net", "counted", "other", "simgpu", "schema", "nccl"):
    PARSER.add_argument(f"--{name}", required=True)
PARSER.add_argument("--cable")
PATHS, _ = PARSER.parse_known_args()

# Both libraries' ways to let a container's root start ranks; more ranks than processors.
LET = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
       "OMPI_MCA_rmaps_base_oversubscribe": "1", "PRTE_ALLOW_RUN_AS_ROOT": "1",
       "PRTE_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
       "ASAN_OPTIONS": "detect_leaks=0"}  # of MPI, in a build with sanitizers


def environment(gpu=False, **more):
    """Without what a surrounding run of MPI, or a driver on the path, would add."""
    kept = {name: value for name, value in os.environ.items()
            if not name.startswith(("OMPI_", "PMIX_", "XFERSCOPE_"))}
    kept.update(LET, LD_LIBRARY_PATH=PATHS.simgpu if gpu else "", **more)
    return kept


def mpirun(ranks, *options, program=None, gpu=False, launcher=(), timeout=120, **more):
    """Runs `probe --net` in that many ranks; the finished process."""
    command = ["mpirun", *launcher, "-n", str(ranks), *(program or [PATHS.command, "probe", "--net"]), *options]
    return subprocess.run(command, env=environment(gpu, **more), capture_output=True, text=True, timeout=timeout,
                          check=False)


def load(path):
    """A profile that keeps to its schema."""
    with open(path, encoding="utf-8") as file:
        profile = json.load(file)
    with open(PATHS.schema, encoding="utf-8") as file:
        jsonschema.validate(profile, json.load(file))
    return profile


class Lab(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        said = subprocess.run(["mpirun", "--version"], capture_output=True, text=True, check=False).stdout
        if "Open MPI" not in said:
            raise unittest.SkipTest("ranks are started here by the options of Open MPI's mpirun")

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.output = os.path.join(folder.name, "m.json")

    def counted(self, ranks, *options, **how):
        """measured(), by counted.c's clock, to which nothing takes long."""
        return self.measured(ranks, "--quick", "--time-limit", "1000", *options,
                             program=[PATHS.counted, "--net"], **how)

    def measured(self, ranks, *options, **how):
        run = mpirun(ranks, "-o", self.output, "--quiet", *options, **how)
        self.assertEqual(run.returncode, 0, run.stderr)
        return load(self.output)


def main():
    unittest.main(argv=[sys.argv[0]])
