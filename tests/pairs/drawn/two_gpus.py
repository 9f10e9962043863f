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
    """Each GPU has work of its own: the host fills a buffer, it is uploaded, a kernel works, and the host waits; results are fetched in each
    step ("down") or in the end. A thread for each GPU does that; with the waste one thread does it for both by turns."""

    def __init__(self, writer, stage, wastes):
        self.w, self.s, self.apart = writer, stage, not {"turns", "turns-asked"} & set(wastes)
        declare, size = writer.declare, stage["bytes"]
        self.streams = [declare("S", "n"), declare("S", "x")]
        self.hosts = [declare("B", "p", size) for _ in (0, 1)]
        self.devices = [declare("B", memory, size) for memory in "de"]
        self.made = [declare("B", memory, size) for memory in "de"]
        self.results = [declare("B", "p", LOOKS) for _ in (0, 1)]

    def fetch(self, gpu):
        self.w.do("C", 5, self.results[gpu], 0, self.made[gpu], 0, LOOKS, self.streams[gpu], DOWN, 0)
        self.w.do("W", 6, self.streams[gpu])
        self.w.do("R", 7, self.s["read_ns"], self.results[gpu] + 1)

    def step(self, gpu):
        self.w.do("@", 0, gpu)
        self.w.do("H", 1, self.s["host_ns"], self.hosts[gpu] + 1)
        self.w.do("C", 2, self.devices[gpu], 0, self.hosts[gpu], 0, self.s["bytes"], self.streams[gpu], UP, 0)
        self.w.do("K", 3, self.streams[gpu], self.s["kernel_ns"], self.devices[gpu] + 1, 0, self.made[gpu] + 1, self.s["bytes"])
        if self.s["down"]:
            self.fetch(gpu)
        else:
            self.w.do("W", 4, self.streams[gpu])

    def all_of(self, gpu):
        for _ in range(self.s["steps"]):
            self.step(gpu)
        self.end(gpu)

    def end(self, gpu):
        self.w.do("@", 0, gpu)
        if not self.s["down"]:
            self.fetch(gpu)

    def play(self):
        if self.apart:
            self.all_of(0)
            self.w.lines.append("T 1")
            self.all_of(1)
            return
        for _ in range(self.s["steps"]):
            self.step(0)
            self.step(1)
        self.end(0)
        self.end(1)


KINDS = {"exchange": Exchange, "turns": Turns}
