"""The programs of grammar.py written down for player.cu, with their wastes and without: their schedules.

A schedule is text: declarations, then one statement to a line (player.cu says which). The fixed program is the fastest
of the forms that fixed_forms() names.
"""
from grammar import (ACCESSED_BY, DOWN, IN_GRAPHS, MOST_ALLOCATED, PREFERRED, QUESTIONS, READ_MOSTLY, ROWS, SIMPLEST, SIMPLEST_ASLEEP,
                     UP, WASTES, WITHIN, draw, sleeps, wastes_of)
import asleep
import two_gpus

TAKEN = ((1, 1), (1, 0), (0, 0))  # threads that touch page-locked memory, 0: the driver; in ordinary pages
DECIDES = 4096  # bytes: a host that looks at so few is taken to decide by them how to go on

__all__ = ["QUESTIONS", "WASTES", "changed", "draw", "fixed_forms", "lower", "sleeps", "smaller", "takes_memory", "wastes_of", "with_streams"]


def takes_memory(program):
    """Page-locked memory, in the measured region: its wasteful form, or a fixed one."""
    return any(stage.get("arena") or stage.get("pays") for stage in program["stages"])


class Writer:
    """The lines of a schedule. Indices count from 0, buffers of kernels from 1."""

    def __init__(self):
        self.declared, self.lines, self.counts, self.site = [], [], {"B": 0, "S": 0, "E": 0, "G": 0, "J": 0, "#": 0}, 0
        self.others = []  # lines of each thread without CUDA calls
        self.prepared = []  # lines of what comes before the measured region, as memory and streams do

    def declare(self, what, *words):
        self.declared.append(" ".join([what, *map(str, words)]))
        self.counts[what] += 1
        return self.counts[what] - 1

    def new(self, what):
        """The number of one more that is not declared."""
        self.counts[what] += 1
        return self.counts[what] - 1

    def do(self, what, place, *numbers):
        """place: tells the call sites of a stage apart."""
        self.lines.append(" ".join([what, str(self.site + place), *map(str, numbers)]))

    def lines_of(self, make, *arguments):
        lines, self.lines = self.lines, []
        make(*arguments)
        made, self.lines = self.lines, lines
        return made

    def prepare(self, make, *arguments):
        """What make(...) does is done before the region."""
        self.prepared += self.lines_of(make, *arguments)

    def beside(self, make, *arguments):
        """What make(...) does is done by a thread of its own, which makes no CUDA calls."""
        self.others.append(self.lines_of(make, *arguments))


def can_be_soon(stage):
    """What it fills is read by a copy alone, behind which an event can be: nothing else is waited for."""
    other = {"managed", "solver", "arena", "function_ns", "poll_ns", "holds"} & set(stage)
    return not (stage["down"] or stage["graph"] or other or {"mapped", "legacy", "lock", "device-wait"} & set(stage["wastes"]))


def way_of(stage, size):
    """How it takes page-locked memory: allocated by the driver, or its own registered."""
    allocates = size <= MOST_ALLOCATED if stage.get("pays") else stage.get("allocates")
    return "AF" if allocates else "NU"


class Stage:
    """Steps in turns over slots, each a stream with buffers of its own; a slot's last step is waited for
    before the host fills its buffer again."""

    def __init__(self, writer, stage, wastes):
        page_locked = {"fresh"} if "fetched" not in wastes else set()  # and kept
        self.w, self.s, self.wastes = writer, stage, [waste for waste in wastes if waste not in page_locked]
        self.legacy = "legacy" in wastes
        self.at_once = bool({"lock", "held"} & set(wastes)) or bool(stage.get("holds"))  # it waits for a step before the next
        self.asleep = asleep.of(writer, stage)
        pageable = {"pageable", "legacy"} & set(stage["wastes"])
        way = way_of(stage, stage["bytes"])
        size, memory = stage["bytes"], "g" if pageable else "m" if "mapped" in wastes else "p"
        # The fixed program page-locks it, or has the driver allocate it: the stage pays for that.
        self.locks = "" if not pageable or pageable & set(wastes) else way
        memory = "v" if stage.get("arena") else "h" if self.locks == "AF" else memory
        self.threads = 0 if "locking" in wastes else stage.get("touch", 1)  # that touch what is not the driver's
        slots = 1 if "serial" in wastes or self.at_once or self.legacy else stage["streams"]
        alone = {"serial", "legacy", "lock"} & set(stage["wastes"])
        had = slots if not stage.get("pays") else 1 if alone else stage.get("had", stage["streams"])
        declare = writer.declare
        self.streams = [declare("S", "l" if self.legacy else stage["kind"]) for _ in range(slots)]
        self.size = size  # of the step at hand
        self.is_graph = stage["graph"] and set(stage["wastes"]) <= IN_GRAPHS
        self.events = [declare("E") for _ in range(slots)]
        # Packed copies, and what is not copied, are not made in rows.
        self.rows = stage.get("row", ROWS[1]) if stage["rows"] and not {"small", "mapped"} & set(stage["wastes"]) else 0
        apart = 2 if self.rows else 1
        # More slots than it had have page-locked memory that the stage pays for, too.
        self.had = had
        more = "h" if way == "AF" else "g"
        self.hosts = [declare("B", memory, stage.get("arena") or apart * size) if slot < had else
                      declare("B", more, apart * size) for slot in range(slots)]
        self.devices = [declare("B", "d", size) for _ in range(slots)]
        self.results = [declare("B", "d", size) for _ in range(slots)]
        self.fetched, unlocked = self.declare_fetched(slots, way)
        self.locked = self.hosts[0 if self.locks else had:] + self.fetched[unlocked:]
        self.way = way
        self.table, self.d_table = declare("B", "p", size), declare("B", "d", size)
        self.zeros, self.d_zeros = declare("B", "p", size), declare("B", "d", size)
        self.extra = declare("B", "l", size)
        self.graphs = []
        self.after = [declare("B", "d", size) for _ in range(slots)] if "tail_ns" in stage else []
        self.jobs = [writer.new("J") for _ in range(slots)] if "function_ns" in stage else []
        # What is filled again is waited for behind the upload, not behind the kernel.
        self.soon = can_be_soon(stage) and "beyond" not in wastes and stage.get("soon", "late" in stage["wastes"] and "late" not in wastes)
        self.flags, self.default = [], -1
        if "default" in stage["wastes"]:  # each step clears flags of its own
            self.flags = [declare("B", "d", 4096) for _ in range(slots)]
            self.default = declare("S", "l")

    def declare_fetched(self, slots, way):
        """Memory for results, and from which of it on the stage page-locks it."""
        fresh, self.taken = "fresh" in self.s["wastes"], ""
        if fresh:  # the fixed program has none before: it takes pages once, by hand as it page-locks them
            self.taken = "Oo" if "fetched" not in self.wastes else "" if "fresh" in self.wastes else "nu"
        if fresh or "fetched" in self.wastes:
            kind = "v" if self.taken == "Oo" else "w" if fresh else "g"
            return [self.w.declare("B", kind, self.size) for _ in range(slots)], slots
        had = 0 if "fetched" in self.s["wastes"] else self.had if self.s["down"] else slots
        more = "h" if way == "AF" else "g"
        return [self.w.declare("B", "p" if slot < had else more, self.size) for slot in range(slots)], had

    def copy(self, place, to, source, size, slot, kind, at=0):
        blocking = int("blocking" in self.wastes or self.legacy)
        self.w.do("C", place, to, at, source, at, size, self.streams[slot], kind, blocking)

    def upload(self, slot):
        if self.rows:  # the host keeps them as far apart as they are long
            self.w.do("2", 0, self.devices[slot], self.hosts[slot], self.rows, self.size // self.rows, 2 * self.rows,
                      self.streams[slot], UP, int("blocking" in self.wastes or self.legacy))
            return
        parts = self.s["parts"] if "small" in self.wastes else 1
        size = self.size // parts
        for part in range(parts):
            self.copy(0, self.devices[slot], self.hosts[slot], size, slot, UP, part * size)

    def kernel(self, slot):
        source = self.hosts if "mapped" in self.wastes else self.devices
        table = self.d_table + 1 if "repeated" in self.s["wastes"] else 0
        kernels = 3 if "mapped" in self.s["wastes"] else 1
        for _ in range(kernels):
            self.w.do("K", 3, self.streams[slot], self.s["kernel_ns"] * self.size // (kernels * self.s["bytes"]),
                      source[slot] + 1, table, self.results[slot] + 1, self.size)

    def additions(self, slot, first):
        """Statements of wastes: the clean form has them not, or in another form."""
        size = self.size
        if "repeated" in self.wastes or ("repeated" in self.s["wastes"] and first):
            self.copy(4, self.d_table, self.table, size, slot, UP)  # once is needed
        if "unused" in self.s["wastes"]:  # the remedy leaves out the copy alone
            self.w.do("H", 5, 0, self.zeros + 1)
        if "unused" in self.wastes:
            self.copy(6, self.d_zeros, self.zeros, size, slot, UP)

    def clear(self, slot):
        if self.flags:
            stream = self.default if "default" in self.wastes else self.streams[slot]
            self.w.do("M", 7, self.flags[slot], stream)

    def call(self, slot, ahead):
        """A function of the host, where the stage has one there: with work of its own, or for the program's thread."""
        if self.jobs and self.s["ahead"] == ahead:
            reads = 0 if ahead or not self.s["down"] else self.fetched[slot] + 1
            self.w.do("J", 13, self.jobs[slot], self.s["function_ns"], reads, self.streams[slot], int("function" not in self.wastes))

    def go_on(self, slot):
        """What the host need not wait for: behind the event that it waits for."""
        if self.after:
            self.w.do("K", 12, self.streams[slot], self.s["tail_ns"], self.results[slot] + 1, 0, self.after[slot] + 1, self.size)

    def wait(self, slot):
        if "beyond" in self.wastes:
            self.w.do("D", 8) if self.s.get("wide") else self.w.do("W", 8, self.streams[slot])
        elif "poll_ns" in self.s and ("poll" in self.wastes or "poll" not in self.s["wastes"]):
            self.poll(slot)
        elif self.s["wait"] == "event" or self.soon:
            self.w.do("Y", 8, self.events[slot])
        else:
            self.w.do("W", 8, self.streams[slot])
        if self.jobs and "function" not in self.wastes:
            self.w.do("Z", 8, self.jobs[slot])

    def poll(self, slot):
        """The host asks, and sleeps in between; or it has work to do in between ("side_ns"), of which it does the rest then."""
        event = self.s["wait"] == "event"
        self.w.do("q", 8, int(event), (self.events if event else self.streams)[slot], self.s["poll_ns"], self.s.get("side_ns", 0))

    def read(self, slot):
        if self.s["down"]:
            self.w.do("R", 9, self.s["read_ns"], self.fetched[slot] + 1)
        if "fresh" in self.wastes:
            self.w.do("u", 14, self.fetched[slot])

    def consume(self, slot, number):
        self.wait(slot)
        self.read(slot)
        self.asleep.behind(number)

    def compute(self, slot):
        if "fresh" in self.wastes:
            self.w.do("n", 14, self.fetched[slot])
        self.kernel(slot)
        if self.s["down"]:
            if "blocking" in self.wastes:  # no stream orders such a copy behind the kernel of a non-blocking one
                self.w.do("W", 2, self.streams[slot])
            self.copy(1, self.fetched[slot], self.results[slot], self.size, slot, DOWN)

    def capture(self, slot):
        if len(self.graphs) <= slot:
            self.graphs.append(self.w.new("G"))
        self.w.do("G", 0, self.streams[slot])
        self.upload(slot)
        self.compute(slot)
        self.w.do("g", 0, self.streams[slot], self.graphs[slot])

    def launch(self, slot):
        """A graph that is captured in each step updates what was instantiated, or the waste: is instantiated."""
        if self.s.get("anew"):
            self.capture(slot)
        self.w.do("L", 3, self.graphs[slot], self.streams[slot])
        if "again" in self.wastes:
            self.w.do("d", 5, self.graphs[slot])

    def step(self, number):
        slot = number % len(self.streams)
        if self.s["varies"]:  # an eighth less to a half less, by turns
            self.size = self.s["bytes"] // 8 * (8 - number * 3 % 5)
        if number >= len(self.streams) and not self.at_once:
            self.consume(slot, number - len(self.streams))
        if "allocation" in self.wastes:
            self.w.do("A", 10, self.extra)
        self.fill(slot, number)
        if "mapped" not in self.wastes and not self.is_graph:
            self.upload(slot)
        self.additions(slot, number == 0)
        self.clear(slot)
        self.call(slot, True)
        if self.soon:
            self.w.do("V", 12, self.events[slot], self.streams[slot])
        if self.is_graph:
            self.launch(slot)
        else:
            self.compute(slot)
        self.call(slot, False)
        if self.s["wait"] == "event" and "beyond" not in self.wastes and not self.soon:
            self.w.do("V", 12, self.events[slot], self.streams[slot])
        self.go_on(slot)
        if "device-wait" in self.wastes:
            self.w.do("D", 13)
        if "allocation" in self.wastes:
            self.w.do("F", 14, self.extra)
        if self.at_once:
            self.finish(slot)

    def fill(self, slot, number):
        """The host's own work before the upload, which a lock is held over with the waste "held"."""
        self.asleep.ahead(number)
        if "held" in self.wastes:
            self.w.do("(", 15)
        self.w.do("H", 11, asleep.host_ns(self.s, number), self.hosts[slot] + 1, *([self.size] if self.s.get("arena") else []))
        self.asleep.filled()
        if self.at_once and "held" not in self.wastes:
            self.w.do("(", 15)

    def finish(self, slot):
        self.wait(slot)
        if "held" in self.wastes:
            self.read(slot)
        self.w.do(")", 15)
        if "held" not in self.wastes:
            self.read(slot)

    def play(self):
        for host in self.hosts[:self.had] if self.s.get("arena") else []:
            self.w.do("O", 14, host, self.threads)
        for host in self.locked:
            self.w.do(self.way[0], 14, host)
        for host in self.fetched if self.taken else ():
            self.w.do(self.taken[0], 14, host, *(self.s.get("taken", TAKEN[0]) if self.taken == "Oo" else []))
        for slot in range(len(self.streams)) if self.is_graph and not self.s.get("anew") else ():
            if slot < self.had:
                self.w.prepare(self.capture, slot)
            else:  # its memory is there now
                self.capture(slot)
        for number in range(self.s["steps"]):
            self.step(number)
        for number in range(max(0, self.s["steps"] - len(self.streams)), self.s["steps"]) if not self.at_once else ():
            self.consume(number % len(self.streams), number)
        for stream in self.streams if self.soon else ():
            self.w.do("W", 8, stream)
        for host in self.locked:
            self.w.do(self.way[1], 15, host)
        for host in self.fetched if self.taken else ():
            self.w.do(self.taken[1], 15, host, self.s.get("taken", TAKEN[0])[0])
        for host in self.hosts[:self.had] if self.s.get("arena") else []:
            self.w.do("o", 15, host, self.threads)


class ManagedStage:
    """The same with managed memory: of each slot one buffer that the host fills, and one that it reads the result of.
    Without the waste both go where they are needed next: to the GPU before the kernel, and to the host behind it
    ("early"), or when the host comes to use them."""

    def __init__(self, writer, stage, wastes, again):
        self.w, self.s, self.demand, self.again = writer, stage, "demand" in wastes, again
        self.early = stage.get("early", True)
        declare, slots = writer.declare, range(stage["streams"])
        self.streams = [declare("S", stage["kind"]) for _ in slots]
        self.events = [declare("E") for _ in slots]
        self.inputs = [declare("B", "u", stage["bytes"]) for _ in slots]
        self.results = [declare("B", "u", stage["bytes"]) for _ in slots]
        self.stays, self.table = stage.get("advice") == "stays", 0
        if self.stays:
            writer.prepare(self.let_stay)
        if stage.get("advice") == "table":
            self.table = declare("B", "u", stage["bytes"]) + 1
            writer.prepare(self.have_copies)

    def let_stay(self):
        """Kernels reach it over the link."""
        for buffer in self.inputs:
            self.w.do("v", 0, buffer, PREFERRED, 0)
            self.w.do("v", 0, buffer, ACCESSED_BY, 1)

    def have_copies(self):
        """One on each side, for the host and kernels to read."""
        self.w.do("v", 0, self.table - 1, READ_MOSTLY, 1)
        self.prefetch(0, self.table - 1, True, 0)
        self.w.do("W", 0, self.streams[0])

    def prefetch(self, place, buffer, to_device, slot):
        self.w.do("P", place, buffer, int(to_device), self.streams[slot])

    def to_host(self, place, buffer, slot):
        """Behind the kernel if early, else now, with a wait."""
        if not self.demand and not self.early and not (self.stays and buffer in self.inputs):
            self.prefetch(place, buffer, False, slot)
            self.w.do("W", place + 1, self.streams[slot])

    def consume(self, slot):
        if self.s["wait"] == "event":
            self.w.do("Y", 8, self.events[slot])
        else:
            self.w.do("W", 8, self.streams[slot])
        if self.s["down"]:
            self.to_host(4, self.results[slot], slot)
            self.w.do("R", 9, self.s["read_ns"], self.results[slot] + 1)

    def kernel(self, slot, last):
        if not self.demand:
            if not self.stays:
                self.prefetch(0, self.inputs[slot], True, slot)
            if self.s["down"]:
                self.prefetch(1, self.results[slot], True, slot)
        result = self.results[slot] + 1 if self.s["down"] else 0
        self.w.do("K", 3, self.streams[slot], self.s["kernel_ns"], self.inputs[slot] + 1, self.table, result, self.s["bytes"])
        if not self.demand and self.early:
            if self.s["down"]:
                self.prefetch(2, self.results[slot], False, slot)
            if (self.again or not last) and not self.stays:  # else the host does not fill it again
                self.prefetch(10, self.inputs[slot], False, slot)
        if self.s["wait"] == "event":
            self.w.do("V", 12, self.events[slot], self.streams[slot])

    def play(self):
        slots, steps = len(self.streams), self.s["steps"]
        for number in range(steps):
            if number >= slots:
                self.consume(number % slots)
            if number >= slots or self.again:
                self.to_host(6, self.inputs[number % slots], number % slots)
            if self.table:
                self.w.do("R", 8, 0, self.table)
            self.w.do("H", 11, self.s["host_ns"], self.inputs[number % slots] + 1)
            self.kernel(number % slots, number + slots >= steps)
        for number in range(max(0, steps - slots), steps):
            self.consume(number % slots)


class Solver:
    """A state that a kernel makes the next one of, again and again. The waste "swap" copies the newer states to where the kernel reads
    them; without it the buffers take turns. One that "saves" copies the state, works on it in place, and compares: that is needed. What
    the host looks at it waits for at once, or later by so many steps ("lag"), in memory of its own each, fetched in a stream of its own."""

    def __init__(self, writer, stage, wastes):
        self.w, self.s, self.swaps = writer, stage, "swap" not in wastes
        declare, looks, size = writer.declare, range(stage.get("lag", 0) + 1), stage["check_bytes"]
        self.stream, self.events = declare("S", stage["kind"]), [declare("E") for _ in looks]
        self.fetching = declare("S", "n") if stage.get("lag") else self.stream
        self.made = declare("E") if stage.get("lag") else None
        self.states = [declare("B", "d", stage["bytes"]) for _ in range(stage["states"])]
        self.way = way_of(stage, size)
        more = "p" if not stage.get("pays") else "h" if self.way == "AF" else "g"
        self.found = [declare("B", "d", size) for _ in looks]
        self.results = [declare("B", more if look else "p", size) for look in looks]
        self.locked, self.checks = self.results[1:] if more != "p" else [], 0

    def copy(self, place, to, source):
        self.w.do("C", place, self.states[to], 0, self.states[source], 0, self.s["bytes"], self.stream, WITHIN, 0)

    def step(self):
        if self.s["saves"]:
            found = self.found[self.checks % len(self.found)]
            self.copy(1, 1, 0)
            self.w.do("Q", 3, self.states[0], self.s["bytes"], self.s["kernel_ns"], self.stream)
            self.w.do("K", 4, self.stream, 0, self.states[1] + 1, 0, found + 1, self.s["bytes"])
            return
        before = self.states[0] + 1 if len(self.states) == 3 else 0
        self.w.do("+", 3, self.stream, self.s["kernel_ns"], self.states[-2], self.states[-1], before)
        if self.swaps:
            self.states = [*self.states[1:], self.states[0]]
            return
        for state in range(1, len(self.states)):
            self.copy(state, state - 1, state)

    def check(self):
        """The host has a part of the newest state fetched, and waits for that, or for an earlier one."""
        at, size = self.checks % len(self.results), self.s["check_bytes"]
        source = self.found[at] if self.s["saves"] else self.states[-2]
        if self.s.get("lag"):
            self.w.do("V", 12, self.made, self.stream)
            self.w.do("X", 12, self.made, self.fetching)
        self.w.do("C", 5, self.results[at], 0, source, 0, size, self.fetching, DOWN, 0)
        if self.s["wait"] == "event" or self.s.get("lag"):
            self.w.do("V", 12, self.events[at], self.fetching)
        self.checks += 1
        if self.checks >= len(self.results):
            self.look(self.checks % len(self.results))

    def look(self, at):
        if self.s["wait"] == "event" or self.s.get("lag"):
            self.w.do("Y", 8, self.events[at])
        else:
            self.w.do("W", 8, self.stream)
        self.w.do("R", 9, self.s["read_ns"], self.results[at] + 1)

    def play(self):
        for result in self.locked:
            self.w.do(self.way[0], 14, result)
        for number in range(1, self.s["steps"] + 1):
            self.step()
            if number % self.s["every"] == 0 or number == self.s["steps"]:
                self.check()
        for number in range(max(0, self.checks - len(self.results) + 1), self.checks):
            self.look(number % len(self.results))
        for result in self.locked:
            self.w.do(self.way[1], 15, result)


def changed(program, change):
    """The program with change(stage), a dictionary, made in each stage."""
    return {**program, "stages": [{**stage, **change(stage)} for stage in program["stages"]]}


def with_streams(stage, number):
    """So many, or as many as it had. Advice on managed memory does not make it more buffers, nor that on a lock. Whether long
    kernels (of stages that poll) run side by side in several streams no record shows: the simulated GPU lets them, and they fill a real one."""
    had = 1 if {"serial", "legacy"} & set(stage["wastes"]) else stage.get("had", stage["streams"])
    if stage.get("solver"):
        waits = stage["check_bytes"] <= DECIDES
        return {} if waits else {"lag": number - 1 if stage["saves"] else 1}  # in buffers of its own, or of the state before
    kept = stage.get("managed") or stage.get("two") == "exchange" or stage.get("holds") or "turns-asked" in stage["wastes"] or "poll_ns" in stage or "lock" in stage["wastes"]
    return {} if kept else {"streams": max(number, had), "had": had}


def fixed_forms(program, streams=(2, 3, 4, 8)):
    """Programs and the wastes that are left in them: none, and each one alone, since mending it may cost more than
    it saves (a buffer that is read over the link while the GPU would be idle); none, or mapped memory alone, with so many
    streams, or those that there were, since their number is part of a remedy: two are too few where a step's latency is
    longer than a copy, and each more has buffers to pay for; with memory that the driver allocates in place of registered one; and of memory that was new each
    time, in any way to have it once. Managed memory is sent to the host behind the
    kernel, or when the host needs it. What is filled again may be waited for behind its upload. The fastest is the fixed program."""
    wastes = sorted(set(wastes_of(program)))
    streams = (1, *streams) if "legacy" in wastes else streams  # page-locked memory may be enough
    bases = [program]
    if {"pageable", "legacy"} & set(wastes) and not program["stages"][0].get("pays"):
        bases.append(changed(program, lambda stage: {"allocates": True}))
    if "fresh" in wastes:
        bases += [changed(program, lambda stage, way=way: {"taken": way}) for way in TAKEN[1:]]
    if "demand" in wastes:
        bases.append(changed(program, lambda stage: {"early": False}))
    shared = [stage for stage in program["stages"] if stage["kind"] == "t" and "poll_ns" not in stage]
    if any({"beyond", "function", "late"} & set(stage["wastes"]) for stage in shared):
        bases.append(changed(program, lambda stage: {"kind": "n"} if stage["kind"] == "t" and "poll_ns" not in stage else {}))  # streams of their own
    if any(can_be_soon(stage) and stage.get("pays") and "late" not in stage["wastes"] for stage in program["stages"]):
        bases.append(changed(program, lambda stage: {"soon": True}))
    forms = []
    for base in bases:
        forms += [(base, [])] + ([(base, [waste]) for waste in wastes] if len(wastes) > 1 else [])
        if wastes == ["serial"] and any(stage.get("soon") for stage in base["stages"]):  # that may be enough
            forms.append((base, wastes))
        left = [[], *([["mapped"]] if "mapped" in wastes and len(wastes) > 1 else []), *([wastes] if wastes == ["turns"] else [])]
        forms += [(changed(base, lambda stage, n=n: with_streams(stage, n)), some) for some in left for n in streams]
    return forms


def lower(program, wastes, again=False):
    """The schedule's text, with these of its wastes. again: it is played more than once, and sends managed memory to
    where the next time needs it, too."""
    writer, thread = Writer(), 0
    for stage in program["stages"]:
        if stage["thread"] != thread:
            thread = stage["thread"]
            writer.lines.append(f"T {thread}")
        left = [waste for waste in stage["wastes"] if waste in wastes]
        kind = ManagedStage if stage.get("managed") else Solver if stage.get("solver") else two_gpus.KINDS.get(stage.get("two"), Stage)
        kind(writer, stage, left, *([again] if kind is ManagedStage else [])).play()
        if "lock" not in stage["wastes"] and not stage.get("holds"):  # those threads run one function
            writer.site += 16
    for lines in writer.others:
        thread += 1
        writer.lines += [f"T {thread}", *lines]
    prepared = ["I", *writer.prepared, "T 0"] if writer.prepared else []
    return "\n".join([*writer.declared, *prepared, *writer.lines]) + "\n"


def smaller(program):
    """Programs a little simpler than this one, the boldest first."""
    for i, stage in enumerate(program["stages"]):
        others = program["stages"][:i], program["stages"][i + 1:]
        if others[0] or others[1]:
            yield {**program, "stages": [*others[0], *others[1]]}
        asks = "poll" in stage["wastes"]  # without that waste it waits
        changes = [{"wastes": [w for w in stage["wastes"] if w != waste]} for waste in stage["wastes"] if waste != "poll"]
        changes += [{"steps": stage["steps"] // 2}] if stage["steps"] >= 16 else []
        changes += [{key: value} for key, value in SIMPLEST.items() if stage[key] != value]
        changes += [{key: value} for key, value in SIMPLEST_ASLEEP.items() if stage.get(key, value) != value]
        for change in changes:
            yield {**program, "stages": [*others[0], {**stage, **change}, *others[1]]}
        if asks:
            quiet = {key: value for key, value in stage.items() if key != "poll_ns"}
            yield {**program, "stages": [*others[0], {**quiet, "wastes": [w for w in stage["wastes"] if w != "poll"]}, *others[1]]}
    if program["helper"]:
        yield {**program, "helper": program["helper"] - 1}
