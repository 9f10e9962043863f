#!/usr/bin/env python3
"""What is done with profiles that are there already: resumed, compared, summarised.

usage: profiles_test.py PROBE FAKE_DRIVER_FOLDER SIMGPU_FOLDER
"""
import json
import os
import signal
import subprocess
import sys
import tempfile
import unicodedata
import unittest

PROBE, FAKE, SIMGPU = sys.argv[1:4]
for number in (signal.SIGINT, signal.SIGHUP):  # which nohup and shells' background jobs ignore
    signal.signal(number, signal.SIG_DFL)
SMALL = ["--sizes", "64:64K", "--time-limit", "60", "--filter", "^copy/|^overlap|^concurrent"]


def probe(*options, fault="", driver=FAKE, machine="sim-2socket-4gpu"):
    environment = dict(os.environ, LD_LIBRARY_PATH=driver, FAKE_CUDA_FAULT=fault,
                       XFERSCOPE_SIMGPU_MACHINE=machine)
    return subprocess.run([PROBE, *options], env=environment, capture_output=True, text=True,
                          timeout=120)


def load(name):
    with open(name, encoding="utf-8") as file:
        return json.load(file)


def store(name, profile):
    with open(name, "w", encoding="utf-8") as file:
        json.dump(profile, file)


def names(profile):
    return [item["name"] for part in ("paths", "concurrent", "overlap")
            for item in profile.get(part, [])]


class InFolder(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def file(self, name):
        return os.path.join(self.folder.name, name)

    def measure(self, name, *options, status=0, loads=True, **keywords):
        run = probe("-o", self.file(name), "--quiet", *SMALL, *options, **keywords)
        self.assertEqual(run.returncode, status, run.stderr)
        return load(self.file(name)) if loads else None


class Resume(InFolder):
    def test_an_interrupted_run_is_completed(self):
        whole = self.measure("whole.json")
        cut = self.measure("cut.json", fault="interrupt", status=3)
        self.assertLess(len(names(cut)), len(names(whole)))
        run = probe("--resume", self.file("cut.json"), "--quiet", *SMALL)
        self.assertEqual(run.returncode, 0, run.stderr)
        completed = load(self.file("cut.json"))
        self.assertEqual(names(completed), names(whole))
        self.assertFalse(any("interrupted" in w for w in completed["warnings"]))
        for mine, other in zip(completed["paths"], whole["paths"]):
            self.assertEqual([p["bytes"] for p in mine["points"]],
                             [p["bytes"] for p in other["points"]], mine["name"])

    def test_a_killed_run_leaves_what_it_had(self):
        whole = self.measure("whole.json")
        self.measure("m.json", fault="kill", status=-9, loads=False)
        self.assertEqual(sorted(os.listdir(self.folder.name)), ["m.json.partial", "whole.json"])
        partial = load(self.file("m.json.partial"))
        self.assertTrue(0 < len(names(partial)) < len(names(whole)))
        partial["paths"][0]["points"][0]["n"] = 424242
        store(self.file("m.json.partial"), partial)
        run = probe("--resume", self.file("m.json.partial"), "--quiet", *SMALL)
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertEqual(sorted(os.listdir(self.folder.name)), ["m.json", "whole.json"])
        completed = load(self.file("m.json"))
        self.assertEqual(names(completed), names(whole))
        self.assertEqual(completed["paths"][0]["points"][0]["n"], 424242)

    def test_a_run_that_measured_nothing_leaves_nothing(self):
        """Interrupted in its first copy. An earlier run's part stays."""
        for number in (1, 2, 15):
            run = probe("-o", self.file("m.json"), "--quiet", *SMALL, fault=f"early-{number}")
            self.assertEqual((run.returncode, run.stdout, run.stderr.count("\n")), (1, "", 1), number)
            self.assertIn("nothing was measured", run.stderr)
            self.assertEqual(os.listdir(self.folder.name), [], number)
        store(self.file("m.json.partial"), {"earlier": True})
        probe("-o", self.file("m.json"), "--quiet", *SMALL, fault="early-2")
        self.assertEqual(os.listdir(self.folder.name), ["m.json.partial"])
        self.assertEqual(load(self.file("m.json.partial")), {"earlier": True})

    def test_a_terminal_that_goes_away_interrupts(self):
        cut = self.measure("m.json", fault="hang-up", status=3)
        self.assertTrue(names(cut))
        self.assertEqual(os.listdir(self.folder.name), ["m.json"])

    def test_nohup_is_respected(self):
        environment = dict(os.environ, LD_LIBRARY_PATH=FAKE, FAKE_CUDA_FAULT="hang-up")
        run = subprocess.run(["nohup", PROBE, "-o", self.file("m.json"), "--quiet", *SMALL],
                             env=environment, capture_output=True, text=True, timeout=120)
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertFalse(any("interrupted" in w for w in load(self.file("m.json"))["warnings"]))

    def test_the_profile_is_there_when_nobody_reads_the_table(self):
        environment = dict(os.environ, LD_LIBRARY_PATH=FAKE)
        reader, writer = os.pipe()
        os.close(reader)
        run = subprocess.run([PROBE, "-o", self.file("m.json"), *SMALL], env=environment, stdout=writer,
                             stderr=subprocess.PIPE, text=True, timeout=120)
        os.close(writer)
        self.assertNotEqual(run.returncode, 0)
        self.assertEqual(os.listdir(self.folder.name), ["m.json"])
        self.assertTrue(names(load(self.file("m.json"))))

    def test_output_through_a_link(self):
        with open(self.file("target"), "w", encoding="utf-8") as file:
            file.write("old")
        os.chmod(self.file("target"), 0o620)
        os.symlink("target", self.file("m.json"))
        self.measure("m.json")
        self.assertTrue(os.path.islink(self.file("m.json")))
        self.assertEqual(os.stat(self.file("target")).st_mode & 0o777, 0o620)
        self.assertTrue(names(load(self.file("target"))))
        os.chmod(self.file("target"), 0o444)
        before = os.stat(self.file("target"))
        for name in ("m.json", "target"):
            run = probe("-o", self.file(name), *SMALL)
            self.assertEqual((run.returncode, run.stdout, run.stderr.count("\n")), (1, "", 1))
            self.assertIn("read-only", run.stderr)
        self.assertEqual(os.stat(self.file("target")).st_mtime_ns, before.st_mtime_ns)
        self.assertEqual(sorted(os.listdir(self.folder.name)), ["m.json", "target"])

    def test_pipes_are_not_waited_for(self):
        os.mkfifo(self.file("pipe"))
        self.measure("m.json")
        for options in (["--resume", "pipe"], ["--summary=pipe"], ["--compare", "pipe", "m.json"],
                        ["--compare", "m.json", "pipe"]):
            words = [word.replace("pipe", self.file("pipe")).replace("m.json", self.file("m.json"))
                     for word in options]
            run = probe(*words)
            self.assertEqual((run.returncode, run.stderr.count("\n")), (1, 1), options)
            self.assertIn("not a regular file", run.stderr)
        toolkit = self.file("toolkit")
        os.makedirs(os.path.join(toolkit, "include"))
        for name in ("version.json", "include/cuda.h"):
            os.mkfifo(os.path.join(toolkit, name))
        os.environ["CUDA_HOME"] = toolkit
        self.addCleanup(os.environ.pop, "CUDA_HOME")
        self.measure("n.json")

    def test_what_is_there_is_not_measured_again(self):
        profile = self.measure("m.json")
        marked = profile["paths"][3]
        for point in marked["points"]:
            point["n"] = 424242
        store(self.file("m.json"), profile)
        run = probe("--resume", self.file("m.json"), "-o", self.file("n.json"), "--quiet", *SMALL)
        self.assertEqual(run.returncode, 0, run.stderr)
        again = load(self.file("n.json"))
        self.assertEqual(names(again), names(profile))
        self.assertEqual({p["n"] for p in again["paths"][3]["points"]}, {424242})

    def test_what_was_being_measured_is_measured_again(self):
        """The last of every part: nothing else tells whether it is whole."""
        def mark(item):
            return item["points"][0] if "points" in item else item["both"]

        profile = self.measure("m.json")
        profile["warnings"].append("interrupted: by a test")
        wanted = {}
        for part in ("concurrent", "overlap"):
            self.assertGreater(len(profile[part]), 1, part)
            for item in profile[part]:
                mark(item)["n"] = 424242
                wanted[item["name"]] = item is not profile[part][-1]
        store(self.file("m.json"), profile)
        run = probe("--resume", self.file("m.json"), "--quiet", *SMALL)
        self.assertEqual(run.returncode, 0, run.stderr)
        completed = load(self.file("m.json"))
        kept = {item["name"]: mark(item)["n"] == 424242 for part in ("concurrent", "overlap")
                for item in completed[part]}
        self.assertEqual(kept, wanted)

    def test_both_runs_took_time(self):
        profile = self.measure("m.json")
        self.assertLess(profile["rules"]["seconds"], 1000)
        del profile["paths"][2]
        profile["rules"]["seconds"] = 1000
        store(self.file("m.json"), profile)
        run = probe("--resume", self.file("m.json"), "--quiet", *SMALL)
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertGreaterEqual(load(self.file("m.json"))["rules"]["seconds"], 1000)

    def test_missing_sizes_are_measured(self):
        profile = self.measure("m.json")
        del profile["paths"][2]["points"][4]
        store(self.file("m.json"), profile)
        run = probe("--resume", self.file("m.json"), "--quiet", *SMALL)
        self.assertEqual(run.returncode, 0, run.stderr)
        completed = load(self.file("m.json"))
        path = next(p for p in completed["paths"] if p["name"] == profile["paths"][2]["name"])
        self.assertEqual(len(path["points"]), 11)
        self.assertEqual(sorted(names(completed)), sorted(names(profile)))

    def test_other_machines_are_refused(self):
        profile = self.measure("m.json")
        gpus = profile["machine"]["gpus"]
        last = dict(gpus[-1], uuid="GPU-99999999-1111-2222-3333-444444444444")
        self.assertGreater(len(gpus), 1)
        for change in ({"machine_id": "0123456789abcdef"}, {"driver_version": 11000},
                       {"simulated": False}, {"gpus": gpus[:1]}, {"gpus": [*gpus[:-1], last]}):
            other = dict(profile, machine=dict(profile["machine"], **change))
            store(self.file("other.json"), other)
            run = probe("--resume", self.file("other.json"), *SMALL)
            self.assertEqual((run.returncode, run.stdout), (1, ""), change)
            self.assertIn("--resume: the profile was measured with", run.stderr)
            self.assertEqual(run.stderr.count("\n"), 1)
            self.assertEqual(load(self.file("other.json")), other)

    def test_other_rules_are_refused(self):
        self.measure("m.json", "--no-flush")
        run = probe("--resume", self.file("m.json"), *SMALL)
        self.assertEqual((run.returncode, run.stdout, run.stderr.count("\n")), (1, "", 1))
        self.assertIn("--no-flush", run.stderr)

    def test_a_file_that_is_none(self):
        run = probe("--resume", self.file("none.json"), *SMALL)
        self.assertEqual((run.returncode, run.stderr.count("\n")), (1, 1))
        self.assertFalse(os.path.exists(self.file("none.json")))


class Shown(InFolder):
    """A profile's texts may be anybody's: what has no looks is not passed on to a terminal."""

    MARK = "\u202e\u2066\u200b\u2028\ufeff\u00ad\U000e0041"
    SHOWN = "<U+202E><U+2066><U+200B><U+2028><U+FEFF><U+00AD><U+E0041>"

    def spoiled(self, name):
        profile = self.measure("sound.json")
        for texts in (profile["machine"], *profile["machine"]["gpus"]):  # names of paths have to be ASCII
            for key in ("hostname", "cpu", "kernel", "governor", "name"):
                if isinstance(texts.get(key), str):
                    texts[key] += self.MARK
        profile["warnings"].append("beware" + self.MARK)
        store(self.file(name), profile)
        return profile

    def tame(self, text):
        hidden = {c for c in text if unicodedata.category(c) in ("Cc", "Cf", "Zl", "Zp") and c != "\n"}
        self.assertEqual(hidden, set())
        return text

    def test_names_of_machines(self):
        profile = self.spoiled("a\u202e.json")
        profile["machine"]["machine_id"] = "another"
        store(self.file("a\u202e.json"), profile)
        host = profile["machine"]["hostname"].replace(self.MARK, self.SHOWN)
        run = probe("--compare", self.file("a\u202e.json"), self.file("sound.json"))
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertIn(f"of two machines: {host}, ", self.tame(run.stdout))

    def test_printed_when_resumed(self):
        self.spoiled("a.json")
        run = probe("--resume", self.file("a.json"), "-o", self.file("b\u202e.json"), *SMALL)
        self.assertEqual(run.returncode, 0, run.stderr)
        text = self.tame(run.stdout + run.stderr)
        self.assertIn("b<U+202E>.json", text)
        self.assertIn("warning: beware" + self.SHOWN + "\n", text)

    def test_messages(self):
        for name, content in (("bad\u202e.json", "{]"), ("\x1b[2J.json", '{"\u2028": 1}')):
            with open(self.file(name), "w", encoding="utf-8") as file:
                file.write(content)
            for options in ([f"--summary={self.file(name)}"], ["--resume", self.file(name)],
                            ["--compare", self.file(name), self.file(name)], ["--resume", self.file(name) + "-"]):
                run = probe(*options)
                self.assertEqual((run.returncode, run.stderr.count("\n")), (1, 1), run.stderr)
                self.tame(run.stderr)


class Compare(InFolder):
    def test_two_runs_of_one_machine_agree(self):
        self.measure("a.json")
        self.measure("b.json")
        run = probe("--compare", self.file("a.json"), self.file("b.json"))
        self.assertEqual(run.returncode, 0, run.stdout)
        self.assertIn("0 of ", run.stdout)

    def test_a_slower_path_and_a_missing_one_are_named(self):
        profile = self.measure("a.json")
        for point in profile["paths"][0]["points"]:
            for key in ("median_ns", "min_ns", "max_ns", "ci_low_ns", "ci_high_ns"):
                point[key] *= 1.5
        gone = profile["paths"].pop(5)["name"]
        store(self.file("b.json"), profile)
        run = probe("--compare", self.file("a.json"), self.file("b.json"))
        self.assertEqual(run.returncode, 4, run.stderr)
        self.assertIn(profile["paths"][0]["name"], run.stdout)
        self.assertIn("+50.0 %", run.stdout)
        self.assertIn(f"only in the first: {gone}", run.stdout)
        run = probe("--compare", self.file("a.json"), self.file("b.json"), "--filter",
                    "^" + profile["paths"][1]["name"])
        self.assertEqual(run.returncode, 0, run.stdout)
        run = probe("--compare", self.file("a.json"), self.file("b.json"), "--tolerance", "60",
                    "--filter", profile["paths"][0]["name"])
        self.assertEqual(run.returncode, 0, run.stdout)

    def test_what_cannot_be_compared(self):
        profile = self.measure("a.json")
        store(self.file("empty.json"), dict(profile, paths=[], concurrent=[], overlap=[]))
        for options, status in ((["a.json"], 2), (["a.json", "none.json"], 1),
                                (["none.json", "a.json"], 1), (["a.json", "empty.json"], 1),
                                (["a.json", "a.json", "a.json"], 2)):
            run = probe("--compare", *(self.file(o) for o in options))
            self.assertEqual(run.returncode, status, (options, run.stderr))
            self.assertEqual(run.stderr.count("\n"), 1, options)


class Summary(InFolder):
    QUESTIONS = ("affinity", "binding", "nodes", "direction", "links")

    def answers(self, name):
        run = probe(f"--summary={self.file(name)}")
        self.assertEqual(run.returncode, 0, run.stderr)
        parts = run.stdout.split("?\n")[1:]
        self.assertEqual(len(parts), len(self.QUESTIONS))
        return dict(zip(self.QUESTIONS, parts))

    def pinned(self, machine="sim-2socket-4gpu", filter_="^copy/pinned/"):
        run = probe("-o", self.file("m.json"), "--quiet", "--sizes", "16K:4M", "--no-flush",
                    "--filter", filter_,
                    driver=SIMGPU, machine=machine)
        self.assertEqual(run.returncode, 0, run.stderr)
        return load(self.file("m.json"))

    def slow_down(self, profile, name, factor=1.2):
        slow = next(p for p in profile["paths"] if p["name"] == name)
        for point in slow["points"]:
            for key in ("median_ns", "min_ns", "max_ns", "ci_low_ns", "ci_high_ns"):
                point[key] *= factor
        store(self.file("m.json"), profile)

    def test_two_sockets(self):
        self.pinned()
        said = self.answers("m.json")
        self.assertIn("node0-gpu0", said["affinity"])
        self.assertIn("8 of 8 pairs differ", said["affinity"])
        # what is bound nowhere comes from node 0 on this machine: far from GPUs 2 and 3
        self.assertIn("4 of 8 pairs differ", said["binding"])
        self.assertNotIn("gpu0", said["binding"])
        self.assertIn("0 of 2 pairs differ", said["nodes"])
        self.assertIn("0 of 9 pairs differ", said["direction"])
        self.assertRegex(said["links"], r" 0 of \d+ pairs differ")

    def test_a_slow_link_and_a_slow_direction_are_found(self):
        profile = self.pinned()
        self.slow_down(profile, "copy/pinned/d2h/node0-gpu1")
        said = self.answers("m.json")
        self.assertIn("1 of 9 pairs differ", said["direction"])
        self.assertIn("copy/pinned/d2h/node0-gpu1", said["direction"])
        self.assertIn("3 of ", said["links"])  # against the three other local ones
        self.assertEqual(said["links"].count("GB/s,"), 1)

    def test_what_says_the_same_is_one_line(self):
        """16 pairs of two kinds of memory: one statement, with its range."""
        profile = self.pinned(filter_="^copy/(pinned|registered)/(h2d|d2h)/node")
        self.slow_down(profile, "copy/pinned/h2d/node1-gpu1", 1.03)
        (line, total) = [l for l in self.answers("m.json")["affinity"].splitlines() if l.startswith("  ")]
        self.assertRegex(total, "16 of 16 pairs differ")
        self.assertRegex(line, r"^  copy/\{\w+,\w+\}/\{\w+,\w+\}/\{node0-gpu0,node0-gpu1,node1-gpu2,node1-gpu3\}"
                               r" \(near\) [\d.]+ GB/s, .*\{node1-gpu0,.*\} \(far\) [\d.]+ to [\d.]+ GB/s at 4 MiB: "
                               r"\d+ to \d+ % longer, 16 pairs$")
        far = [p["points"][-1] for p in profile["paths"]
               if p["name"].split("/")[3] in ("node1-gpu0", "node1-gpu1", "node0-gpu2", "node0-gpu3")]
        speeds = [point["bytes"] / point["median_ns"] for point in far]
        self.assertIn(f"(far) {min(speeds):.1f} to {max(speeds):.1f} GB/s", line)
        # another slowdown is another statement
        self.slow_down(profile, "copy/pinned/h2d/node1-gpu0", 1.5)
        lines = [l for l in self.answers("m.json")["affinity"].splitlines() if "GB/s" in l]
        self.assertEqual(len(lines), 2)
        self.assertIn("copy/pinned/h2d/node0-gpu0", lines[0] + lines[1])

    def test_a_slow_way_between_nodes_is_found(self):
        profile = self.pinned()
        self.slow_down(profile, "copy/pinned/h2h/node1-node0")
        said = self.answers("m.json")
        self.assertIn("1 of 2 pairs differ", said["nodes"])
        self.assertIn("copy/pinned/h2h/node1-node1", said["nodes"])
        self.assertIn("1 of 9 pairs differ", said["direction"])
        self.assertRegex(said["links"], r" 0 of \d+ pairs differ")

    def test_noise_is_no_difference(self):
        """A median further away whose interval reaches the other's says nothing."""
        profile = self.pinned()
        self.slow_down(profile, "copy/pinned/d2h/node0-gpu1")
        for p in profile["paths"]:
            for point in p["points"]:
                point["ci_low_ns"] *= 0.8
                point["min_ns"] *= 0.8
        store(self.file("m.json"), profile)
        self.assertIn("0 of 9 pairs differ", self.answers("m.json")["direction"])

    def test_one_gpu_one_node_poses_few_questions(self):
        self.pinned("sim-h200", "^copy/pinned/h2d")
        run = probe(f"--summary={self.file('m.json')}")
        self.assertEqual(run.stdout.count("measured"), len(self.QUESTIONS))
        self.assertNotIn("differ", run.stdout)


class Rules(InFolder):
    def test_flushing_changes_neither_data_nor_figures_of_a_virtual_clock(self):
        plain = self.measure("plain.json", "--no-flush")
        flushed = self.measure("flushed.json")
        self.assertEqual([p["rules"]["flushed"] for p in (plain, flushed)], [False, True])
        self.assertEqual(names(plain), names(flushed))
        for a, b in zip(plain["paths"], flushed["paths"]):
            for p, q in zip(a["points"], b["points"]):
                self.assertLess(abs(p["median_ns"] / q["median_ns"] - 1), 0.05, a["name"])

    def test_the_papers_rule_takes_a_second(self):
        run = probe("--paper", "--no-verify", "--sizes", "64:64", "--format", "json", "--filter",
                    "^copy/device/d2d/gpu0$")
        self.assertEqual(run.returncode, 0, run.stderr)
        point = json.loads(run.stdout)["paths"][0]["points"][0]
        self.assertEqual(point["n"], 1040)  # as many as are kept; otherwise 6 are exact here

    def test_options_that_exclude_each_other(self):
        for options in (["--full", "--quick"], ["--full", "--sizes", "64:1K"],
                        ["--paper", "--quick"], ["--tolerance", "x"], ["--tolerance", "-1"],
                        ["--resume", ""], ["--summary="], ["--compare", "a.json"], ["--tolerance", "5"]):
            run = probe(*options)
            self.assertEqual((run.returncode, run.stderr.count("\n")), (2, 1), options)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[4:]])
