"""tests/pairs/random: what its programs do whose threads sleep between their calls, and what is recorded of it."""
import os
import tempfile
import types
import unittest
from pathlib import Path

from scripts import loaded

BUILD = Path(os.environ["XFERSCOPE_BUILD"])

drawn = loaded("random")
STAGE = {"steps": 24, "bytes": 1 << 20, "down": True, "streams": 2, "kind": "n", "wait": "event", "parts": 16, "bound": "host", "read_ns": 0,
         "kernel_ns": 15000, "host_ns": 60000, "graph": False, "varies": False, "thread": 0, "rows": False, "wastes": [], "pays": True,
         "others": 1, "slots": 2, "ahead_of_fill": True}


def program(**stage):
    return {"seed": 1, "helper": False, "stages": [{**STAGE, **stage}]}


class Sleeping(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.lab = drawn.Lab(types.SimpleNamespace(build=BUILD, gpu=False, keep=None, profile=None), folder.name)

    def share_saved(self, **stage):
        """What the waste costs of the wasteful form, the same in each run."""
        form = program(**{"wastes": ["blocking"], **stage})
        before, again, after = (self.lab.play(form, wastes) for wastes in (["blocking"], ["blocking"], []))
        self.assertEqual(before, again)
        return (before - after) / before

    def test_threads_that_make_and_use(self):
        """Where they are the slower ones the waste of the thread with CUDA calls costs next to nothing; else it costs what it costs without them."""
        alone = self.share_saved()
        self.assertGreater(alone, 0.4)
        for sleeps in ("queue", "drain"):
            for others in (1, 3):
                with self.subTest(sleeps=sleeps, others=others):
                    self.assertLess(self.share_saved(sleeps=sleeps, others=others, item_ns=others * 200000), 0.05)
                    self.assertAlmostEqual(self.share_saved(sleeps=sleeps, others=others, item_ns=others * 20000), alone, delta=0.03)
        took = [self.lab.play(program(slots=slots, steps=22, sleeps="queue", item_ns=200000, uneven=uneven), [])
                for slots, uneven in ((1, False), (4, False), (4, True))]
        self.assertGreater(took[0], 22 * 260000)  # the one slot has to be empty before the next item is begun
        self.assertAlmostEqual(took[1], 22 * 200000, delta=200000)
        self.assertNotEqual(took[1], took[2])

    def test_helpers_and_timers(self):
        """They take the same of each step, whatever else it takes; a tick what is left of its time."""
        item, wake, steps = 200000, 5000, STAGE["steps"]
        for waste in ([], ["blocking"]):
            alone = self.lab.play(program(wastes=["blocking"]), waste)
            for more, cost in (({"sleeps": "join"}, item + 2 * wake), ({"sleeps": "join", "others": 3}, item + 2 * wake), ({"sleeps": "timer"}, item)):
                for ahead in (False, True):
                    with self.subTest(waste=waste, ahead=ahead, **more):
                        took = self.lab.play(program(**{**more, "item_ns": item, "ahead_of_fill": ahead}, wastes=["blocking"]), waste)
                        if waste:  # whatever the GPU does meanwhile
                            self.assertAlmostEqual(took - alone, steps * cost, delta=2 * wake)
                        self.assertGreater(took, steps * item)
        self.assertLess(self.share_saved(sleeps="ticks", item_ns=item), 0.02)
        self.assertGreater(self.share_saved(sleeps="ticks", item_ns=30000), 0.4)

    def test_a_clock_is_known(self):
        """A host whose own work takes now less, now more, and that sleeps until a tick, is known to save nothing; for a time, as much as its waste costs."""
        for sleeps in ("ticks", "timer"):
            with self.subTest(sleeps=sleeps):
                found = self.lab.judge(program(wastes=["blocking"], steps=96, sleeps=sleeps, item_ns=250000 if sleeps == "ticks" else 100000, host_varies=True))
                self.assertTrue(found["near"], found)
                self.assertEqual(found["saved"] > 0.1 * found["before"], sleeps == "timer")

    def test_processor_time_of_threads_that_sleep(self):
        """What others work while a thread sleeps is recorded: those whose items it waits for all the time, helpers while it waits, timers nothing."""
        for sleeps, asleep, awake in (("queue", 1, 1), ("join", 1, 0), ("timer", 0, 0)):
            with self.subTest(sleeps=sleeps):
                form = program(wastes=["blocking"], sleeps=sleeps, item_ns=200000)
                self.assertEqual(self.lab.record(form, 0)[0], self.lab.play(form, ["blocking"]))
                dumped = self.lab.run(self.lab.xferscope, "dump", "-f", "json", "-k", "processor", self.folder / "run0.xft")
                events = [event for event in map(drawn.json.loads, dumped.splitlines()) if event.get("kind") == "processor" and event["src"] != "0x3"]
                steady = [(event["end_ns"] - event["start_ns"], event["aux"], event["width"] - 1) for event in events[4:-4]]
                self.assertGreater(len(steady), STAGE["steps"])
                for lasted, own, others in steady:
                    slept, worked = lasted - own, others
                    self.assertAlmostEqual(worked, asleep * slept + awake * own, delta=10001)  # in which who waits wakes up
                self.assertGreater(max(lasted - own for lasted, own, _ in steady), 50000)

    def test_threads_that_would_be_waited_for(self):
        """A thread that never sleeps, and would if its waste were gone: what the busiest of the others works in the run is recorded, and no more is promised
        than they rest. Of the run, within 2 %."""
        step = self.lab.play(program(wastes=["blocking"]), ["blocking"]) / STAGE["steps"]
        for others in (1, 2):
            with self.subTest(others=others):
                item = int(0.8 * step * others)
                form = program(wastes=["blocking"], steps=240, sleeps="queue", slots=4, others=others, item_ns=item)
                self.assertEqual(self.lab.record(form, 0)[0], self.lab.play(form, ["blocking"]))
                dumped = self.lab.run(self.lab.xferscope, "dump", "-f", "json", "-k", "processor", self.folder / "run0.xft")
                events = [event for event in map(drawn.json.loads, dumped.splitlines()) if event.get("kind") == "processor"]
                self.assertEqual({event["src"] for event in events}, {"0x3"})
                for event in events[1:-1]:
                    lasted = event["end_ns"] - event["start_ns"]
                    self.assertAlmostEqual(event["aux"] / lasted, 0.8, delta=0.08)
                    self.assertAlmostEqual((event["width"] - 1) / lasted, 0.8 * others, delta=0.16)
                    self.assertEqual(event["count"], others)
                found = self.lab.judge(form)
                saved = [ns / found["before"] for ns in (found["saved"], *found["predicted"])]
                self.assertAlmostEqual(saved[2], saved[0], delta=0.02)
                self.assertLess(saved[0], 0.25)
                self.assertGreater(saved[3], 0.4)

    def test_a_lock_held_too_long(self):
        """Over the host's work as well it keeps the other threads; held over the GPU's work alone by all forms, the kernels take turns."""
        stage = {**STAGE, "streams": 1, "kernel_ns": 60000, "host_ns": 90000, "holds": True, "wastes": ["held"]}
        both = {**program(), "stages": [stage, {**stage, "thread": 1}, {**stage, "thread": 2}]}
        took = [self.lab.play(both, wastes) for wastes in (["held"], ["held"], [])]
        self.assertEqual(took[0], took[1])
        self.assertGreater(took[0], 3 * stage["steps"] * 150000)
        self.assertLess(3 * stage["steps"] * 60000, took[2])
        self.assertLess(took[2], 0.75 * took[0])
        for form, wastes in drawn.schedule.fixed_forms(both):
            lines = drawn.schedule.lower(form, wastes).splitlines()
            self.assertEqual(sum(line[0] == "(" for line in lines), 3 * stage["steps"])

    def test_draw_sleeping(self):
        """All ways to sleep are drawn, and only when they are asked for; what is lowered has as many of each semaphore taken as given."""
        programs = [drawn.schedule.draw(seed, sleeping=True) for seed in range(200)]
        self.assertEqual({drawn.schedule.sleeps(each) for each in programs}, {None, "queue", "drain", "join", "timer", "ticks", "lock"})
        self.assertFalse(any(drawn.schedule.sleeps(drawn.schedule.draw(seed)) for seed in range(200)))
        for each in programs:
            for stage in each["stages"]:
                self.assertEqual(bool(stage.get("host_varies")), stage.get("sleeps") in ("timer", "ticks"))
                self.assertFalse(stage.get("sleeps") == "ticks" and stage["uneven"])
            for form, wastes in [(each, drawn.schedule.wastes_of(each)), *drawn.schedule.fixed_forms(each)]:
                given = drawn.collections.Counter()
                for line in drawn.schedule.lower(form, wastes).splitlines():
                    if line[0] in "<>":
                        given[line.split()[2]] += int(line.split()[3]) if line[0] == ">" else -1
                self.assertEqual(set(given.values()) - {0}, set())


if __name__ == "__main__":
    unittest.main()
