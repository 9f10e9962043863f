"""Draws programs for player.cu: what a seed stands for, with its wastes and without.

A program is a list of stages, one behind the other, or each in a thread of its own; a stage is a dictionary of plain values, so that a
program can be kept as JSON, and shrunk value by value. Its clean form has nothing to gain: copies are
page-locked, asynchronous, and hidden behind what is longer ("bound"). A waste is the inverse of a remedy.
"""
import random

UP, DOWN = 1, 2  # cudaMemcpyKind
MOST_ALLOCATED = 167 << 10  # bytes: beyond, registering takes less time (sim-h200-locking)
COPY_NS_PER_BYTE, COPY_NS = 1 / 55.4, 3500  # about: only chooses times, no figure rests on it

# A waste: findings of which any one is right.
WASTES = {
    "pageable": {"pageable-host-memory", "synchronous-transfer", "serial-transfer-and-compute"},
    "small": {"small-transfers"},
    "blocking": {"synchronous-transfer", "serial-transfer-and-compute"},
    "serial": {"serial-transfer-and-compute"},
    "repeated": {"repeated-transfer"},
    "unused": {"unused-transfer"},
    "allocation": {"repeated-allocation"},
    "device-wait": {"early-wait", "serial-transfer-and-compute", "overbroad-wait", "wait-beyond-result"},
    "mapped": {"mapped-memory"},
    "default": {"default-stream-serialization"},
    # Not drawn one by one: all threads copy pageable memory in the legacy default stream, and wait.
    "legacy": {"pageable-host-memory", "synchronous-transfer", "serial-transfer-and-compute",
               "default-stream-serialization"},
    "locking": {"slow-page-locking"},  # not drawn with others: the driver allocates larger buffers, in the region
    "demand": {"managed-demand-migration"},  # only of stages with managed memory, which have no other
    # The host waits for the stream or the device, behind work that is none of its business. (More streams mend that, too.)
    "beyond": {"wait-beyond-result", "overbroad-wait", "serial-transfer-and-compute"},
    "function": {"host-function-in-stream", "serial-transfer-and-compute"},  # it works in the stream that calls it; so do they there
    # Not drawn one by one: all threads hold one lock over a step's copies, kernel and wait. A question: no record shows a lock.
    "lock": {"threads-by-turns"},
    "few": {"serial-transfer-and-compute"},  # not drawn: a program without wastes that more streams make faster
}
EXCLUDES = {frozenset(pair) for pair in (("mapped", "pageable"), ("mapped", "small"), ("mapped", "blocking"),
                                         ("small", "blocking"), ("small", "pageable"), ("serial", "blocking"),
                                         ("serial", "device-wait"), ("blocking", "device-wait"))}
SIMPLEST = {"down": False, "streams": 2, "kind": "n", "wait": "stream", "parts": 16, "read_ns": 0, "graph": False,
            "varies": False, "thread": 0, "rows": False}
ROWS = (1024, 4096, 16384)  # bytes. (On the simulated GPU rows take as long as the same bytes in one piece: no waste.)
NOT_DRAWN = {"few", "legacy", "demand", "locking", "beyond", "function", "lock"}
QUESTIONS = {"lock"}  # wastes whose findings are questions: what they save is judged by the answer yes
MANAGED_NS = 400000  # about, to move 1 MiB of managed memory: only chooses times
# What captured kernels are given is not recorded, so that nobody can tell whether they use or change what was copied.
UNSEEN = {"repeated", "unused"}
IN_GRAPHS = {"allocation", "device-wait", "serial", "default", "beyond", "function"}  # what leaves the captured work alone


def draw_stage(rng):
    stage = {"steps": rng.randint(16, 48), "bytes": rng.choice([64, 100, 256, 500, 1024]) << 10,
             "down": rng.random() < 0.5, "streams": rng.randint(2, 4), "kind": rng.choice("bn"),
             "wait": rng.choice(["stream", "event"]), "parts": rng.choice([8, 16, 32, 64]),
             "bound": rng.choice(["copy", "host"]), "read_ns": rng.choice([0, 2000]), "wastes": []}
    copy = COPY_NS + stage["bytes"] * COPY_NS_PER_BYTE
    if stage["bound"] == "copy":
        stage["kernel_ns"], stage["host_ns"] = int(copy * rng.uniform(0.2, 0.5)), 0
        stage["down"], stage["read_ns"] = False, 0
    else:
        stage["kernel_ns"] = int(copy * rng.uniform(0.3, 1.0))
        stage["host_ns"] = int((copy * 2 + stage["kernel_ns"]) * rng.uniform(1.1, 2))
        if rng.random() < 0.15:
            stage["kind"], stage["wait"] = "t", "event"  # the thread's default stream, one for all: the host is slower
    stage["graph"] = rng.random() < 0.2  # a step's copies and kernel are captured once, and launched
    stage["varies"] = not stage["graph"] and rng.random() < 0.25  # each step has another size
    stage["thread"] = 0
    stage["rows"] = rng.random() < 0.1  # uploads are rows that lie apart on the host
    return stage


def make_managed(rng, stage):
    """Its buffers are managed: prefetched ahead by the clean program, found by faults with the waste "demand"."""
    stage.update({"managed": True, "bytes": rng.choice([1, 2, 4]) << 20, "steps": rng.randint(6, 20), "graph": False,
                  "varies": False, "rows": False, "streams": rng.randint(1, 3), "kind": rng.choice("bn"),
                  "kernel_ns": int(MANAGED_NS * rng.uniform(0.1, 1)), "host_ns": int(MANAGED_NS * rng.uniform(0, 2)),
                  "read_ns": rng.choice([0, 2000])})


READ_MOSTLY, PREFERRED, ACCESSED_BY = 1, 3, 5  # cudaMemoryAdvise


def draw_advice(program):
    """In a third of the stages with managed memory that is not found by faults it is advised: what kernels read stays with
    the host ("stays"), or they read a table that the host reads, too ("table")."""
    rng = random.Random(f"advice {program['seed']}")
    for stage in program["stages"]:
        if stage.get("managed") and not stage["wastes"] and rng.random() < 0.33:
            stage["advice"] = rng.choice(["stays", "table"])


def draw_threads(rng):
    """Two to four threads, each with a stage; in one program of three they share the default stream."""
    stages = [{**draw_stage(rng), "thread": thread} for thread in range(rng.randint(2, 4))]
    if rng.random() < 0.33:
        for stage in stages:
            stage.update({"wastes": ["legacy"], "graph": False, "kind": rng.choice("bn")})
    return stages


def draw_lock(program):
    """In a third of the programs of threads that are no "legacy" ones, and have no managed memory, the threads hold one lock over a step's copies, kernel
    and wait; what the host fills, and reads, is each one's own."""
    rng = random.Random(f"lock {program['seed']}")
    stages = program["stages"]
    if not stages[-1]["thread"] or any(stage.get("managed") or "legacy" in stage["wastes"] for stage in stages) or rng.random() >= 0.33:
        return
    for stage in stages:
        kernel = rng.randint(20, 150) * 1000
        turn = (2 if stages[0]["down"] else 1) * (COPY_NS + stage["bytes"] * COPY_NS_PER_BYTE) + kernel
        stage.update({key: stages[0][key] for key in ("down", "wait", "rows")})  # they run one function
        stage.update({"wastes": ["lock"], "graph": False, "streams": 1, "kernel_ns": kernel, "host_ns": int(turn * rng.uniform(0.1, 0.6))})


def draw_rows(program):
    """How long rows are, of stages whose uploads are made in rows."""
    rng = random.Random(f"rows {program['seed']}")
    for stage in program["stages"]:
        if stage["rows"]:
            stage["row"] = rng.choice(ROWS)


def draw_locking(program):
    """In one of ten programs of one thread a stage takes its buffers within the region: of memory that the driver allocates
    (the waste), or that the program maps, touches and page-locks. Of its buffers it uses the begin."""
    rng = random.Random(f"locking {program['seed']}")
    fit = [stage for stage in program["stages"] if not stage.get("managed") and not stage["graph"]
           and not stage["rows"] and not {"pageable", "mapped", "legacy"} & set(stage["wastes"])]
    if not fit or any(stage["thread"] for stage in program["stages"]) or rng.random() >= 0.1:
        return
    stage = rng.choice(fit)
    stage["arena"] = rng.choice([2, 4, 8]) << 20
    if rng.random() < 0.75:
        stage["wastes"].append("locking")


def draw_tail(program):
    """In one of eight programs the results of a stage go on to a kernel of the device's own, which the host has nothing to do
    with: it waits for an event before that or, the waste, for the stream, or for all of the device ("wide"). The stage's
    kernels take no longer together than the host, or the link: whether those of several streams run side by side no record shows."""
    rng = random.Random(f"tail {program['seed']}")
    fit = [stage for stage in program["stages"] if not stage.get("managed") and not stage.get("arena")
           and not {"legacy", "lock", "blocking", "device-wait"} & set(stage["wastes"])]
    if not fit or rng.random() >= 0.125:
        return
    stage = rng.choice(fit)
    step = stage["host_ns"] or COPY_NS + stage["bytes"] * COPY_NS_PER_BYTE
    stage["tail_ns"] = int((step - stage["kernel_ns"]) * rng.uniform(0.4, 0.95))
    stage["streams"] = min(stage["streams"], rng.choice([1, 2, 2, 3]))
    stage["wait"] = "event"
    if rng.random() < 0.75:
        stage["wastes"].append("beyond")
        stage["wide"] = rng.random() < 0.3 and len(program["stages"]) == 1


def draw_function(program):
    """In one of eight programs streams call functions of the host, before the kernel ("ahead") or behind its results, which they
    read. They have work of their own: the waste, or hand it to a thread."""
    rng = random.Random(f"function {program['seed']}")
    fit = [stage for stage in program["stages"] if not stage.get("managed") and not {"legacy", "lock", "blocking"} & set(stage["wastes"])]
    if not fit or rng.random() >= 0.125:
        return
    stage = rng.choice(fit)
    stage["function_ns"], stage["ahead"] = rng.randint(20, 300) * 1000, rng.random() < 0.7
    if rng.random() < 0.75:
        stage["wastes"].append("function")


def draw(seed, locking=True):
    """The program of a seed. One in four is clean. locking: programs may take page-locked memory in the region (in
    rounds they would take it again and again, which is another waste)."""
    rng = random.Random(seed)
    threads = rng.random() < 0.2
    stages = draw_threads(rng) if threads else [draw_stage(rng) for _ in range(rng.randint(1, 3))]
    shared = "legacy" in stages[0]["wastes"]
    other = random.Random(f"managed {seed}") if threads else rng
    if not shared and other.random() < 0.2:
        make_managed(other, other.choice(stages))
    for _ in range(0 if shared else rng.choice([0, 1, 1, 1, 2, 2, 3, 4])):
        stage, one = rng.choice(stages), rng.choice(sorted(set(WASTES) - NOT_DRAWN))
        wastes = stage["wastes"]
        if stage.get("managed"):
            one = "demand"
        if one == "default" and stage["kind"] == "n":
            continue  # the rules of the default stream hold for blocking streams
        if threads and one == "device-wait":
            continue  # it would wait for the other threads, too: they are not known to be apart
        if one in UNSEEN and threads and any(other["graph"] for other in stages):
            continue  # graphs are launched meanwhile
        if one in ("repeated", "mapped") and stage["varies"]:
            continue  # the table is sent with a step's size; what kernels read of mapped memory no record shows
        if one not in wastes and not any(frozenset((one, other)) in EXCLUDES for other in wastes):
            wastes.append(one)
    program = {"seed": seed, "helper": rng.choice([0, 0, 0, 0, 0, 0, 1, 2]), "stages": stages}
    draw_advice(program)
    draw_lock(program)
    draw_rows(program)
    draw_tail(program)
    draw_function(program)
    if locking:
        program["stages"] = [{**stage, "pays": True} for stage in stages]
        draw_locking(program)
    return program


def takes_memory(program):
    """Page-locked memory, in the measured region: its wasteful form, or a fixed one."""
    return any(stage.get("arena") or stage.get("pays") for stage in program["stages"])


def wastes_of(program):
    return [waste for stage in program["stages"] for waste in stage["wastes"]]


class Writer:
    """The lines of a schedule. Indices count from 0, buffers of kernels from 1."""

    def __init__(self):
        self.declared, self.lines, self.counts, self.site = [], [], {"B": 0, "S": 0, "E": 0, "G": 0, "J": 0}, 0
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

    def prepare(self, make, *arguments):
        """What make(...) does is done before the region."""
        lines, self.lines = self.lines, []
        make(*arguments)
        self.prepared += self.lines
        self.lines = lines


def way_of(stage, size):
    """How it takes page-locked memory: allocated by the driver, or its own registered."""
    allocates = size <= MOST_ALLOCATED if stage.get("pays") else stage.get("allocates")
    return "AF" if allocates else "NU"


class Stage:
    """Steps in turns over slots, each a stream with buffers of its own; a slot's last step is waited for
    before the host fills its buffer again."""

    def __init__(self, writer, stage, wastes):
        self.w, self.s, self.wastes = writer, stage, wastes
        self.legacy = "legacy" in wastes
        pageable = {"pageable", "legacy"} & set(stage["wastes"])
        way = way_of(stage, stage["bytes"])
        size, memory = stage["bytes"], "g" if pageable else "m" if "mapped" in wastes else "p"
        # The fixed program page-locks it, or has the driver allocate it: the stage pays for that.
        self.locks = "" if not pageable or pageable & set(wastes) else way
        memory = "v" if stage.get("arena") else "h" if self.locks == "AF" else memory
        self.threads = 0 if "locking" in wastes else stage.get("touch", 1)  # that touch what is not the driver's
        slots = 1 if {"serial", "lock"} & set(wastes) or self.legacy else stage["streams"]
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
        more = "p" if not stage["down"] else "h" if way == "AF" else "g"
        self.fetched = [declare("B", "p" if slot < had else more, size) for slot in range(slots)]
        self.locked = self.hosts[0 if self.locks else had:] + (self.fetched[had:] if stage["down"] else [])
        self.way = way
        self.table, self.d_table = declare("B", "p", size), declare("B", "d", size)
        self.zeros, self.d_zeros = declare("B", "p", size), declare("B", "d", size)
        self.extra = declare("B", "l", size)
        self.graphs = []
        self.after = [declare("B", "d", size) for _ in range(slots)] if "tail_ns" in stage else []
        self.jobs = [writer.new("J") for _ in range(slots)] if "function_ns" in stage else []
        self.flags, self.default = [], -1
        if "default" in stage["wastes"]:  # each step clears flags of its own
            self.flags = [declare("B", "d", 4096) for _ in range(slots)]
            self.default = declare("S", "l")

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
        elif self.s["wait"] == "event":
            self.w.do("Y", 8, self.events[slot])
        else:
            self.w.do("W", 8, self.streams[slot])
        if self.jobs and "function" not in self.wastes:
            self.w.do("Z", 8, self.jobs[slot])

    def read(self, slot):
        if self.s["down"]:
            self.w.do("R", 9, self.s["read_ns"], self.fetched[slot] + 1)

    def consume(self, slot):
        self.wait(slot)
        self.read(slot)

    def compute(self, slot):
        self.kernel(slot)
        if self.s["down"]:
            if "blocking" in self.wastes:  # no stream orders such a copy behind the kernel of a non-blocking one
                self.w.do("W", 2, self.streams[slot])
            self.copy(1, self.fetched[slot], self.results[slot], self.size, slot, DOWN)

    def capture(self, slot):
        self.w.do("G", 0, self.streams[slot])
        self.upload(slot)
        self.compute(slot)
        self.w.do("g", 0, self.streams[slot], self.w.counts["G"])
        self.graphs.append(self.w.counts["G"])
        self.w.counts["G"] += 1

    def step(self, number):
        slot = number % len(self.streams)
        if self.s["varies"]:  # an eighth less to a half less, by turns
            self.size = self.s["bytes"] // 8 * (8 - number * 3 % 5)
        if number >= len(self.streams) and "lock" not in self.wastes:
            self.consume(slot)
        if "allocation" in self.wastes:
            self.w.do("A", 10, self.extra)
        self.w.do("H", 11, self.s["host_ns"], self.hosts[slot] + 1, *([self.size] if self.s.get("arena") else []))
        if "lock" in self.wastes:
            self.w.do("(", 15)
        if "mapped" not in self.wastes and not self.is_graph:
            self.upload(slot)
        self.additions(slot, number == 0)
        self.clear(slot)
        self.call(slot, True)
        if self.is_graph:
            self.w.do("L", 3, self.graphs[slot], self.streams[slot])
        else:
            self.compute(slot)
        self.call(slot, False)
        if self.s["wait"] == "event" and "beyond" not in self.wastes:
            self.w.do("V", 12, self.events[slot], self.streams[slot])
        self.go_on(slot)
        if "device-wait" in self.wastes:
            self.w.do("D", 13)
        if "allocation" in self.wastes:
            self.w.do("F", 14, self.extra)
        if "lock" in self.wastes:
            self.wait(slot)
            self.w.do(")", 15)
            self.read(slot)

    def play(self):
        for host in self.hosts[:self.had] if self.s.get("arena") else []:
            self.w.do("O", 14, host, self.threads)
        for host in self.locked:
            self.w.do(self.way[0], 14, host)
        for slot in range(len(self.streams)) if self.is_graph else ():
            if slot < self.had:
                self.w.prepare(self.capture, slot)
            else:  # its memory is there now
                self.capture(slot)
        for number in range(self.s["steps"]):
            self.step(number)
        for number in range(max(0, self.s["steps"] - len(self.streams)), self.s["steps"]) if "lock" not in self.wastes else ():
            self.consume(number % len(self.streams))
        for host in self.locked:
            self.w.do(self.way[1], 15, host)
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


def changed(program, change):
    """The program with change(stage), a dictionary, made in each stage."""
    return {**program, "stages": [{**stage, **change(stage)} for stage in program["stages"]]}


def with_streams(stage, number):
    """So many, or as many as it had. Advice on managed memory does not make it more buffers, nor that on a lock."""
    had = 1 if {"serial", "legacy"} & set(stage["wastes"]) else stage.get("had", stage["streams"])
    return {} if stage.get("managed") or "lock" in stage["wastes"] else {"streams": max(number, had), "had": had}


def fixed_forms(program, streams=(2, 3, 4, 8)):
    """Programs and the wastes that are left in them: none, and each one alone, since mending it may cost more than
    it saves (a buffer that is read over the link while the GPU would be idle); none, or mapped memory alone, with so many
    streams, or those that there were, since their number is part of a remedy: two are too few where a step's latency is
    longer than a copy, and each more has buffers to pay for; and with memory that the driver allocates in place of registered one. Managed memory is sent to the host behind the
    kernel, or when the host needs it. The fastest is the fixed program."""
    wastes = sorted(set(wastes_of(program)))
    bases = [program]
    if {"pageable", "legacy"} & set(wastes) and not program["stages"][0].get("pays"):
        bases.append(changed(program, lambda stage: {"allocates": True}))
    if "demand" in wastes:
        bases.append(changed(program, lambda stage: {"early": False}))
    if any(stage["kind"] == "t" and {"beyond", "function"} & set(stage["wastes"]) for stage in program["stages"]):
        bases.append(changed(program, lambda stage: {"kind": "n"} if stage["kind"] == "t" else {}))  # streams of their own
    forms = []
    for base in bases:
        forms += [(base, [])] + ([(base, [waste]) for waste in wastes] if len(wastes) > 1 else [])
        left = [[], *([["mapped"]] if "mapped" in wastes and len(wastes) > 1 else [])]
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
        (ManagedStage(writer, stage, left, again) if stage.get("managed") else Stage(writer, stage, left)).play()
        if "lock" not in stage["wastes"]:  # those threads run one function
            writer.site += 16
    prepared = ["I", *writer.prepared, "T 0"] if writer.prepared else []
    return "\n".join([*writer.declared, *prepared, *writer.lines]) + "\n"


def smaller(program):
    """Programs a little simpler than this one, the boldest first."""
    for i, stage in enumerate(program["stages"]):
        others = program["stages"][:i], program["stages"][i + 1:]
        if others[0] or others[1]:
            yield {**program, "stages": [*others[0], *others[1]]}
        changes = [{"wastes": [w for w in stage["wastes"] if w != waste]} for waste in stage["wastes"]]
        changes += [{"steps": stage["steps"] // 2}] if stage["steps"] >= 16 else []
        changes += [{key: value} for key, value in SIMPLEST.items() if stage[key] != value]
        for change in changes:
            yield {**program, "stages": [*others[0], {**stage, **change}, *others[1]]}
    if program["helper"]:
        yield {**program, "helper": program["helper"] - 1}
