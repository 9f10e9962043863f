"""The parameters of the recorded functions of MPI (preload/messages/mpi.def), which are written without its headers,
against the headers that are there: as many, and each of the same kind: an int, 64 bits, a pointer or a handle."""
import argparse
import os
import re
import subprocess
import sys
import unittest

PARSER = argparse.ArgumentParser()
PARSER.add_argument("--source", required=True)
PARSER.add_argument("--compiler", required=True)
PATHS, CHOSEN = PARSER.parse_known_args()

OURS = """
#define XFS_MPI_AS(function, op, parameters, arguments, before, after) @@ function parameters
#define XFS_MADE(name, parameters, arguments, before, after) @@ MPI_##name parameters
#define ONE const void *buffer, int count, xfs_word type, int peer, int tag, xfs_word comm
#define XFS_ONE(name, way) @@ MPI_##name (ONE)
#define XFS_ONE_MORE(name, way) @@ MPI_##name (ONE, void *more)
#define XFS_ONE_WAIT(name) @@ MPI_##name (void *request, void *status)
#define XFS_ONE_TEST(name) @@ MPI_##name (void *request, int *flag, void *status)
#include "preload/messages/mpi.def"
"""


def preprocessed(compiler, text, *options):
    done = subprocess.run([compiler, "-E", "-P", *options, "-x", "c", "-"], input=text, capture_output=True, text=True, check=False)
    if done.returncode:
        raise AssertionError(done.stderr)
    return " ".join(done.stdout.split())


def kind(parameter):
    """A pointer also where a handle is one, or an array of them."""
    if "*" in parameter or "[" in parameter:
        return "pointer"
    words = [word for word in parameter.split() if word != "const"]
    return {"int": "int", "int64_t": "64 bits", "intptr_t": "64 bits", "MPI_Count": "64 bits", "MPI_Aint": "64 bits",
            "void": "none"}.get(words[0], "handle")


def kinds(parameters):
    return [kind(one) for one in parameters.split(",")]


def recorded():
    text = preprocessed(PATHS.compiler, OURS, f"-I{PATHS.source}")
    return {name: kinds(parameters) for name, parameters in re.findall(r"@@ (\w+) \(([^()]*)\)", text)}


def declared(wrapper):
    """By the headers of this compiler's MPI, without their attributes; none where it is not there."""
    show = subprocess.run(["sh", "-c", f"command -v {wrapper}"], capture_output=True, check=False)
    if show.returncode:
        raise unittest.SkipTest(f"no {wrapper}")
    text = preprocessed(wrapper, "#include <mpi.h>\n#if __has_include(<mpi-ext.h>)\n#include <mpi-ext.h>\n#endif\n")
    return {name: kinds(parameters) for name, parameters in re.findall(r"\bint (MPIX?_\w+) ?\(([^()]*)\)", text)}


class Parameters(unittest.TestCase):
    maxDiff = None

    def compare(self, wrapper):
        """What both have is alike; ours, and theirs."""
        ours, theirs = recorded(), declared(wrapper)
        both = ours.keys() & theirs.keys()
        self.assertEqual({name: ours[name] for name in both}, {name: theirs[name] for name in both})
        return ours.keys(), theirs.keys()

    def test_open_mpi(self):
        ours, theirs = self.compare("mpicc")
        self.assertGreater(len(ours & theirs), 90)
        if "MPIX_Barrier_init" in theirs:
            self.assertEqual({name for name in ours - theirs if name.startswith("MPIX_")}, set())

    def test_mpich(self):
        """One of version 4 has all but Open MPI's extension; what moves data between ranks and is not recorded is named."""
        ours, theirs = self.compare("mpicc.mpich")
        if "MPI_Send_c" not in theirs:
            self.skipTest("an MPI before 4")
        self.assertEqual({name for name in ours - theirs if not name.startswith("MPIX_")}, set())
        moves = re.compile(r"MPI_(I?([bsr]?send|recv|bcast|reduce|allreduce|(all)?gather|scatter|alltoall|neighbor|scan|exscan|barrier|mrecv)|"
                           r"P(send|recv)|R?(put|get)(_c)?$|[RG]\w*accumulate|Accumulate|Fetch_and_op|Compare_and_swap)", re.I)
        self.assertEqual({re.sub("_c$", "", name) for name in theirs - ours if moves.match(name)}, {
            "MPI_Isendrecv", "MPI_Isendrecv_replace", "MPI_Reduce_local", "MPI_Accumulate", "MPI_Raccumulate",
            "MPI_Get_accumulate", "MPI_Rget_accumulate", "MPI_Fetch_and_op", "MPI_Compare_and_swap"})


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *CHOSEN])
