"""What the tests of an installed tree share: installing it, and using it as its users do."""
import json
import os
from pathlib import Path

from lab import BUILD, PROGRAMS, SIMGPU, environment, run

PROGRAM = PROGRAMS / "contents"


def install(prefix):
    done = run(["cmake", "--install", BUILD, "--prefix", prefix])
    if done.returncode != 0:
        raise AssertionError((done.stdout + done.stderr).decode())
    return prefix


def use(test, prefix, folder, into=(), gpu=SIMGPU, program=PROGRAM):
    """Records, analyses and probes with the tree at `prefix`; `into` is a command that goes to another
    root first, where `folder`, `gpu` and `program` are then."""
    command = Path(prefix) / "bin" / "xferscope"

    def call(*arguments):
        done = run([*into, command, *arguments], cwd=None if into else folder, env=environment(LD_LIBRARY_PATH=str(gpu)))
        test.assertIn(done.returncode, (0, 3) if arguments[0] == "probe" else (0,), (arguments, done.stdout, done.stderr))
        return done.stdout.decode(), done.stderr.decode()

    test.assertEqual(call("--version")[0], f"xferscope {os.environ['XFERSCOPE_VERSION']}\n")
    run_name, profile = Path(folder) / "run.xft", Path(folder) / "machine.json"
    call("record", "--force", "-o", run_name, "--", program)
    call("probe", "--quiet", "--quick", "--filter", "^copy/pinned/", "-o", profile)
    text = call("analyze", run_name, "-p", profile, "--format", "json")[0]
    document = json.loads(text)
    test.assertGreater(sum(row["transfers"] for row in document["transfers"]), 5)
    sites = [row["site"] for row in document["transfers"]]
    test.assertTrue(any("contents.c" in json.dumps(site) for site in sites), sites)  # names were found
    test.assertTrue(any(row["achievable_gbps"] for row in document["transfers"]))  # and the profile asked
    versions = [line for line in call("dump", run_name)[0].splitlines() if "xferscope.version" in line]
    test.assertTrue(versions and all(os.environ["XFERSCOPE_VERSION"] in line for line in versions), versions)
