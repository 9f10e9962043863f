"""Stages of programs that use two GPUs (grammar.draw_two draws them; schedule.py says what a schedule is)."""
from grammar import DOWN, UP

LOOKS = 4096  # bytes of a result that the host looks at


class Exchange:
    """Each GPU has a part of a state, of which a kernel makes the next one with the border of the other's part. Borders go
    from GPU to GPU, behind events; with the waste "staged" by way of the host, which waits for them. Places of borders take turns, so that
    nothing is overwritten that is still read."""

    def __init__(self, writer, stage, wastes):
        self.w, self.s, self.staged = writer, stage, "staged" in wastes
        declare, size = writer.declare, stage["bytes"]
        self.streams = [declare("S", "n"), declare("S", "x")]
        self.events = [declare("E", gpu) for gpu in (0, 1)]
        self.states = [declare("B", memory, stage["state_bytes"]) for memory in "de"]
        self.borders = [[declare("B", memory, size) for _ in range(2)] for memory in "de"]
        self.hosts = [[declare("B", "p", size) for _ in range(2)] for _ in (0, 1)]
        self.results = [declare("B", "p", LOOKS) for _ in (0, 1)]
        if not self.staged:
            writer.prepare(writer.do, "&", 0)

    def each(self, make, *arguments):
        for gpu in (0, 1):
            self.w.do("@", 0, gpu)
            make(gpu, *arguments)

    def compute(self, gpu, now):
        self.w.do("K", 1, self.streams[gpu], self.s["kernel_ns"], self.borders[gpu][now] + 1, 0, self.states[gpu] + 1, self.s["bytes"])

    def down(self, gpu, now):
        self.w.do("C", 2, self.hosts[gpu][now], 0, self.states[gpu], 0, self.s["bytes"], self.streams[gpu], DOWN, 0)

    def wait(self, gpu, place=3):
        self.w.do("W", place, self.streams[gpu])

    def up(self, gpu, now):
        self.w.do("C", 4, self.borders[gpu][1 - now], 0, self.hosts[1 - gpu][now], 0, self.s["bytes"], self.streams[gpu], UP, 0)

    def across(self, gpu, now):
        self.w.do("=", 2, self.borders[1 - gpu][1 - now], self.states[gpu], self.s["bytes"], self.streams[gpu], 1 - gpu, gpu)
        self.w.do("V", 3, self.events[gpu], self.streams[gpu])

    def follow(self, gpu):
        self.w.do("X", 4, self.events[1 - gpu], self.streams[gpu])

    def look(self, gpu):
        self.w.do("C", 6, self.results[gpu], 0, self.states[gpu], 0, LOOKS, self.streams[gpu], DOWN, 0)

    def read(self, gpu):
        self.wait(gpu, 7)
        self.w.do("R", 8, self.s["read_ns"], self.results[gpu] + 1)

    def step(self, number):
        now = number % 2
        self.each(self.compute, now)
        if self.staged:
            self.each(self.down, now)
            self.each(self.wait)
            self.each(self.up, now)
            if self.s["waits"]:
                self.each(self.wait, 5)
        else:
            self.each(self.across, now)
            self.each(self.follow)

    def play(self):
        for number in range(1, self.s["steps"] + 1):
            self.step(number)
            if number % self.s["every"] == 0 or number == self.s["steps"]:
                self.each(self.look)
                self.each(self.read)


class Turns:
    """Each GPU has work of its own: the host fills a buffer, it is uploaded, a kernel works, and the host waits before it fills that again; results
    are fetched in each step ("down") or in the end. A thread for each GPU does that; with the waste one thread does it for both by turns.
    With several streams, each has buffers of its own, for steps in turn."""

    def __init__(self, writer, stage, wastes):
        self.w, self.s, self.apart = writer, stage, not {"turns", "turns-asked"} & set(wastes)
        declare, size, slots = writer.declare, stage["bytes"], range(stage["streams"])
        self.streams = [[declare("S", kind) for _ in slots] for kind in "nx"]
        self.hosts = [[declare("B", "p", size) for _ in slots] for _ in (0, 1)]
        self.devices = [[declare("B", memory, size) for _ in slots] for memory in "de"]
        self.made = [[declare("B", memory, size) for _ in slots] for memory in "de"]
        self.results = [[declare("B", "p", LOOKS) for _ in slots] for _ in (0, 1)]

    def fetch(self, gpu, slot):
        self.w.do("C", 5, self.results[gpu][slot], 0, self.made[gpu][slot], 0, LOOKS, self.streams[gpu][slot], DOWN, 0)

    def finish(self, gpu, slot):
        self.w.do("W", 6, self.streams[gpu][slot])
        if self.s["down"]:
            self.w.do("R", 7, self.s["read_ns"], self.results[gpu][slot] + 1)

    def step(self, gpu, number):
        slot, size = number % self.s["streams"], self.s["bytes"]
        stream, host, device = (of[gpu][slot] for of in (self.streams, self.hosts, self.devices))
        self.w.do("@", 0, gpu)
        if number >= self.s["streams"] > 1:
            self.finish(gpu, slot)
        self.w.do("H", 1, self.s["host_ns"], host + 1)
        self.w.do("C", 2, device, 0, host, 0, size, stream, UP, 0)
        self.w.do("K", 3, stream, self.s["kernel_ns"], device + 1, 0, self.made[gpu][slot] + 1, size)
        if self.s["down"]:
            self.fetch(gpu, slot)
        if self.s["streams"] == 1:
            self.finish(gpu, slot)

    def end(self, gpu):
        self.w.do("@", 0, gpu)
        slots, steps = self.s["streams"], self.s["steps"]
        for number in range(max(0, steps - slots), steps) if slots > 1 else ():
            self.finish(gpu, number % slots)
        if not self.s["down"]:
            last = (steps - 1) % slots
            self.fetch(gpu, last)
            self.w.do("W", 8, self.streams[gpu][last])
            self.w.do("R", 9, self.s["read_ns"], self.results[gpu][last] + 1)

    def play(self):
        steps = range(self.s["steps"])
        if not self.apart:
            for number in steps:
                self.step(0, number)
                self.step(1, number)
            self.end(0)
            self.end(1)
            return
        for gpu in (0, 1):
            self.w.lines += [f"T {gpu}"] * gpu
            for number in steps:
                self.step(gpu, number)
            self.end(gpu)


KINDS = {"exchange": Exchange, "turns": Turns}
