"""What the tests of the subcommands analyze and dump share: a command's results, its reports. The third
word of such a test is the schema of a report in JSON."""

import json
import os
import sys

import jsonschema

from lab import Lab

SCHEMA = sys.argv[3]
SANITIZED = os.environ.get("XFERSCOPE_SANITIZED") == "1"


class Result:
    def __init__(self, done):
        self.status = done.returncode
        self.out = done.stdout.decode()
        self.lines = done.stderr.decode().splitlines()


class Commands(Lab):
    def make(self, scenario, name, argument=""):
        return self.path(super().make(scenario, name, argument))

    def run_driver(self, *arguments, **more):
        done = self.drive(*arguments, settings={"COLUMNS": "120", **more})
        self.assertGreaterEqual(done.returncode, 0, done.stderr.decode())
        return Result(done)

    def report(self, *arguments, status=0):
        result = self.run_driver("analyze", *arguments, "--format", "json")
        self.assertEqual(result.status, status, result.lines)
        report = json.loads(result.out)
        with open(SCHEMA) as file:
            jsonschema.Draft202012Validator(json.load(file)).validate(report)
        return report
