"""The machine profile that nobody names: where it is looked for, whose it has to be, and what is said.

machine_profile_test.py DRIVER MAKE_TRACE SCHEMA. The made runs are of the host "testhost", as the made
profiles are; "other" is a profile of another machine of that name.
"""

import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import unittest

import jsonschema

DRIVER, MAKE, SCHEMA = sys.argv[1:4]
NOWHERE = "/nonexistent"


class MachineProfile(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="xferscope-")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.trace = self.make("mixed", "run.trace")

    def path(self, name):
        return os.path.join(self.folder, name)

    def make(self, scenario, name, argument=""):
        os.makedirs(os.path.dirname(self.path(name)), exist_ok=True)
        subprocess.run([MAKE, scenario, self.path(name), argument], check=True)
        return self.path(name)

    def analyze(self, *arguments, verb="analyze", status=0, **variables):
        environment = {key: value for key, value in os.environ.items()
                       if key not in ("XFERSCOPE_PROFILE", "XDG_DATA_HOME")}
        environment.update({"HOME": NOWHERE, "COLUMNS": "200"}, **variables)
        done = subprocess.run([DRIVER, verb, *arguments], capture_output=True, env=environment, text=True,
                              cwd=self.folder, timeout=60, check=False)
        self.assertEqual(done.returncode, status, done.stderr)
        self.said = done.stderr
        return done.stdout

    def machine(self, *arguments, **more):
        arguments = arguments or (self.trace,)
        report = json.loads(self.analyze(*arguments, "--format", "json", **more))
        with open(SCHEMA, encoding="utf-8") as file:
            jsonschema.Draft202012Validator(json.load(file)).validate(report)
        machine = report["machine"]
        known = any(row["achievable_gbps"] is not None for row in report["transfers"])
        self.assertEqual(known, machine["profile"] is not None)
        return machine

    def used(self, path, by, *arguments, **more):
        machine = self.machine(*arguments, **more)
        self.assertEqual((machine["profile"], machine["profile_by"], machine["matches"], machine["warnings"]),
                         (path, by, True, []))
        self.assertEqual(self.said, "")

    def unused(self, words, *arguments, **more):
        machine = self.machine(*arguments, **more)
        self.assertEqual((machine["profile"], machine["profile_by"]), (None, None))
        self.assertEqual(len(self.said.splitlines()), 1)
        self.assertIn(words, self.said)
        self.assertEqual(len(machine["warnings"]), 1)
        self.assertIn(machine["warnings"][0], self.said)

    # ---- the network of another one ---------------------------------------------------------------

    def exchanged(self, *more, **how):
        """What is known of transfers, and of messages."""
        ranks = [self.make("exchange", f"rank{rank}.trace", str(rank)) for rank in range(4)]
        report = json.loads(self.analyze(*ranks, "-f", "json", *more, **how))
        return (any(row["achievable_gbps"] for row in report["transfers"]),
                any(row["achievable_gbps"] for row in report["messages"]["rows"]), report["machine"]["warnings"])

    def test_network(self):
        self.make("profile", "machine.json")
        self.make("profile", "network.json", "network")
        self.assertEqual(self.exchanged("-p", "machine.json")[:2], (True, False))
        self.assertEqual(self.exchanged("-p", "machine.json", "--network", "network.json"), (True, True, []))
        self.assertEqual(self.exchanged("--no-profile", "--network", "network.json")[1], True)
        known = self.exchanged("-p", "machine.json", "--network", "machine.json", status=3)
        self.assertEqual(known[:2], (True, False))
        self.assertIn("machine.json has no network", self.said)
        self.exchanged("-p", "machine.json", "--network", "missing.json", status=3)
        self.assertIn("missing.json", self.said)
        self.analyze(self.trace, "--network", "network.json", "--replay", status=2)
        self.analyze(self.trace, "--network", "network.json", "-o", "network.json", status=2)

    # ---- where ------------------------------------------------------------------------------------

    def test_none(self):
        machine = self.machine()
        self.assertEqual((machine["profile"], machine["warnings"], self.said), (None, [], ""))

    def test_beside_the_user(self):
        self.make("profile", "testhost.json")
        self.used("testhost.json", "host-name")
        self.assertIn("testhost.json (looked up by the host's name)", self.analyze(self.trace))

    def test_with_the_users_data(self):
        profile = self.make("profile", "data/xferscope/testhost.json")
        self.used(profile, "host-name", XDG_DATA_HOME=self.path("data"))
        home = self.make("profile", "home/.local/share/xferscope/testhost.json")
        self.used(home, "host-name", HOME=self.path("home"))

    def test_variable(self):
        self.make("profile", "testhost.json", "other")
        profile = self.make("profile", "mine.json")
        self.used(profile, "environment", XFERSCOPE_PROFILE=profile)
        self.assertIn("mine.json (by XFERSCOPE_PROFILE)", self.analyze(self.trace, XFERSCOPE_PROFILE="mine.json"))

    def test_named_comes_first(self):
        self.make("profile", "testhost.json", "other")
        self.make("profile", "named.json")
        self.used("named.json", "option", self.trace, "--profile", "named.json", XFERSCOPE_PROFILE=NOWHERE)

    def test_by_this_hosts_name(self):
        """A run of a container is called after that one, and is of this machine."""
        name = "".join(c if c.isascii() and (c.isalnum() or c in "-_.") else "_" for c in socket.gethostname())
        self.make("profile", f"{name}.json")
        self.used(f"{name}.json", "host-name")

    def test_refused(self):
        self.make("profile", "testhost.json")
        machine = self.machine(self.trace, "--no-profile", XFERSCOPE_PROFILE="testhost.json")
        self.assertEqual((machine["profile"], machine["warnings"], self.said), (None, [], ""))
        for verb, more in (("analyze", ()), ("export", ("--format", "csv"))):
            self.analyze(self.trace, "--no-profile", "--profile", "x", *more, verb=verb, status=2)
            self.assertIn("--profile or --no-profile", self.said)

    @unittest.skipUnless("CTEST_INTERACTIVE_DEBUG_MODE" in os.environ, "not run by ctest")
    def test_those_of_who_runs_the_tests(self):
        """No test finds them."""
        self.assertEqual((os.environ.get("XDG_DATA_HOME"), os.environ.get("XFERSCOPE_PROFILE")), (NOWHERE, None))

    # ---- whose ------------------------------------------------------------------------------------

    def test_of_another_machine(self):
        self.make("profile", "testhost.json", "other")
        self.unused("testhost.json is of another machine than the run (machine id: the trace has aaaa1111, the "
                    "profile bbbb2222): it is not used")
        self.unused("testhost.json is of another machine", XFERSCOPE_PROFILE="testhost.json")
        self.assertIn("NOT USED", self.analyze(self.trace))
        machine = self.machine(self.trace, "--profile", "testhost.json")  # who names it gets it
        self.assertEqual((machine["profile"], machine["matches"]), ("testhost.json", False))

    def test_a_later_trace_of_another_machine(self):
        """All of the run, or nothing: two hosts' transfers are not compared with one's figures."""
        self.make("profile", "testhost.json")
        other = self.make("rank", "second.trace", "2")
        self.unused("another machine", self.trace, other)

    def test_simulated_is_not_real(self):
        shutil.copy(self.make("profile", "made.json", "simulated"), self.path("testhost.json"))
        self.unused("GPU: the trace has a real GPU, the profile a simulated GPU")

    def test_no_profile_at_all(self):
        """A file of that name that is something else was asked for by nobody, and is no loss."""
        for text in ("", "{}", "[1, 2]"):
            with open(self.path("testhost.json"), "w", encoding="utf-8") as file:
                file.write(text)
            self.unused("testhost.json")
        self.machine(XFERSCOPE_PROFILE=NOWHERE, status=3)  # that one was asked for
        self.assertIn("going on without what is achievable", self.said)

    # ---- who else ---------------------------------------------------------------------------------

    def test_compare(self):
        self.make("profile", "testhost.json")
        found = self.analyze("--compare", self.trace, self.trace, "--format", "json")
        self.assertEqual(found, self.analyze("--compare", self.trace, self.trace, "--format", "json", "-p",
                                             "testhost.json"))
        self.assertNotEqual(found, self.analyze("--compare", self.trace, self.trace, "--format", "json",
                                                "--no-profile"))

    def test_per_transfer_and_export(self):
        self.make("profile", "testhost.json")
        for arguments, verb in (((self.trace, "--per-transfer"), "analyze"),
                                ((self.trace, "--format", "csv"), "export")):
            found = self.analyze(*arguments, verb=verb)
            self.assertEqual(found, self.analyze(*arguments, "-p", "testhost.json", verb=verb))
            self.assertNotEqual(found, self.analyze(*arguments, "--no-profile", verb=verb))

    def test_replay_writes_into_no_file_that_nobody_named(self):
        profile = self.make("profile", "testhost.json")
        with open(profile, "rb") as file:
            before = file.read()
        self.analyze(self.trace, "--replay", "--format", "json", status=3)
        with open(profile, "rb") as file:
            self.assertEqual(file.read(), before)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
