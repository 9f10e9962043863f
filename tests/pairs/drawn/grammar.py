"""What a seed stands for: a program with its wastes (schedule.py writes it down for player.cu).

A program is a list of stages, one behind the other, or each in a thread of its own; a stage is a dictionary of plain values, so that a
program can be kept as JSON, and shrunk value by value. Its clean form has nothing to gain: copies are
page-locked, asynchronous, and hidden behind what is longer ("bound"). A waste is the inverse of a remedy.
"""
import random

UP, DOWN, WITHIN = 1, 2, 3  # cudaMemcpyKind
MOST_ALLOCATED = 167 << 10  # bytes: beyond, registering takes less time (sim-h200-locking)
COPY_NS_PER_BYTE, COPY_NS = 1 / 55.4, 3500  # about: only chooses times, no figure rests on it

# A waste: findings of which any one is right.
WASTES = {
    "pageable": {"pageable-host-memory", "synchronous-transfer", "serial-transfer-and-compute"},
    "small": {"small-transfers"},
    "blocking": {"synchronous-transfer", "serial-transfer-and-compute"},
    "serial": {"serial-transfer-and-compute", "wait-beyond-result"},  # an event behind the upload may mend as much
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
    # Not drawn one by one: all threads hold one lock, which is for the GPU's work, over what the host fills and reads, too. A question as well.
    "held": {"threads-by-turns"},
    # Results are fetched into pageable memory that is kept, or ("fresh", with it) that is new each time; page-locked memory mends both.
    "fetched": {"pageable-host-memory", "synchronous-transfer", "serial-transfer-and-compute"},
    "fresh": {"fresh-memory", "pageable-host-memory", "synchronous-transfer", "serial-transfer-and-compute"},
    "swap": {"copy-instead-of-swap"},  # only of solvers, which have no other
    "again": {"graph-instantiated-again"},  # only of stages that capture a graph in each step
    "poll": {"polled-wait"},  # the host sleeps between queries
    # The host waits for the kernel, though it is the upload that reads what it fills again. (More streams mend that, too.)
    "late": {"wait-beyond-result", "overbroad-wait", "serial-transfer-and-compute"},
    # Only of programs with two GPUs, which have no other.
    "staged": {"staged-peer-copy"},
    "turns": {"gpus-by-turns", "serial-transfer-and-compute"},  # one thread may do, if it waits later
    "turns-asked": {"gpus-by-turns"},  # results come back: whether the host's work for one GPU needs the other's no record shows
    "few": {"serial-transfer-and-compute"},  # not drawn: a program without wastes that more streams make faster
}
EXCLUDES = {frozenset(pair) for pair in (("mapped", "pageable"), ("mapped", "small"), ("mapped", "blocking"),
                                         ("small", "blocking"), ("small", "pageable"), ("serial", "blocking"),
                                         ("serial", "device-wait"), ("blocking", "device-wait"))}
SIMPLEST = {"down": False, "streams": 2, "kind": "n", "wait": "stream", "parts": 16, "read_ns": 0, "graph": False,
            "varies": False, "thread": 0, "rows": False}
SIMPLEST_ASLEEP = {"sleeps": None, "uneven": False, "host_varies": False, "others": 1, "slots": 1}
ROWS = (1024, 4096, 16384)  # bytes. (On the simulated GPU rows take as long as the same bytes in one piece: no waste.)
NOT_DRAWN = {"few", "legacy", "demand", "locking", "beyond", "function", "lock", "fetched", "fresh", "swap", "again", "poll", "late", "staged",
             "turns", "turns-asked", "held"}
QUESTIONS = {"lock", "held", "turns-asked"}  # wastes whose findings are questions: what they save is judged by the answer yes
MANAGED_NS = 400000  # about, to move 1 MiB of managed memory: only chooses times
# What captured kernels are given is not recorded, so that nobody can tell whether they use or change what was copied.
UNSEEN = {"repeated", "unused"}
IN_GRAPHS = {"allocation", "device-wait", "serial", "default", "beyond", "function", "again", "poll"}  # what leaves the captured work alone


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
           and not stage["rows"] and not {"solver", "poll_ns"} & set(stage)
           and not {"pageable", "mapped", "legacy", "fetched", "late"} & set(stage["wastes"])]
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


def free_stages(program, *without):
    """Stages of those whose work is only copies, kernels and waits, with none of these wastes."""
    special = {"managed", "arena", "tail_ns", "function_ns", "solver"}
    return [stage for stage in program["stages"]
            if not special & set(stage) and not {"legacy", "lock", *without} & set(stage["wastes"])]


def draw_fetched(program):
    """In one of ten programs a stage fetches its results into pageable memory: new each time, or kept."""
    rng = random.Random(f"fetched {program['seed']}")
    fit = [stage for stage in free_stages(program, "blocking", "mapped", "pageable", "device-wait") if not stage["graph"] and not stage["varies"]]
    if not fit or rng.random() >= 0.1:
        return
    stage, size = rng.choice(fit), rng.choice([1, 2]) << 20
    copy = COPY_NS + size * COPY_NS_PER_BYTE
    stage.update({"bytes": size, "down": True, "bound": "host",
                  "kernel_ns": int(copy * rng.uniform(0.3, 1.0)), "host_ns": int(copy * rng.uniform(2.6, 6))})
    stage["wastes"] += ["fetched", *(["fresh"] if rng.random() < 0.7 else [])]


def draw_again(program):
    """In a third of the stages with a graph it is captured in each step, and updates what was instantiated; or, the waste, it is
    instantiated anew."""
    rng = random.Random(f"again {program['seed']}")
    for stage in free_stages(program):
        if stage["graph"] and set(stage["wastes"]) <= IN_GRAPHS and rng.random() < 0.35:
            stage["anew"] = True
            stage["wastes"] += ["again"] if rng.random() < 0.75 else []


def draw_poll(program):
    """In one of ten programs a stage with long kernels and small copies polls (not one that fetches 1 MiB and more): it asks whether a stream or an event is done, and sleeps in between (the
    waste), asks again at once, or has work of its own to do in between."""
    rng = random.Random(f"poll {program['seed']}")
    fit = free_stages(program, "device-wait", "blocking", "serial", "fetched")
    if not fit or rng.random() >= 0.1:
        return
    stage, how = rng.choice(fit), rng.choice(["sleeps", "sleeps", "sleeps", "asks", "works"])
    interval = rng.randint(50, 150) * 1000
    stage.update({"kernel_ns": int(interval * rng.uniform(0.6, 3)), "streams": rng.choice([1, 1, 2]), "varies": False,
                  "bytes": rng.choice([64, 100]) << 10})
    stage["poll_ns"] = {"sleeps": interval, "asks": 0, "works": rng.randint(5, 20) * 1000}[how]
    if how == "works":
        stage["side_ns"] = int(stage["kernel_ns"] * rng.uniform(0.5, 2))
    if how == "sleeps":
        stage["wastes"].append("poll")


def draw_late(program):
    """In one of ten programs a stage that only uploads waits for its kernels before it fills again what the upload has read."""
    rng = random.Random(f"late {program['seed']}")
    fit = [stage for stage in free_stages(program, "mapped", "device-wait", "blocking")
           if not stage["down"] and not stage["graph"] and "poll_ns" not in stage]
    if not fit or rng.random() >= 0.1:
        return
    stage = rng.choice(fit)
    copy = COPY_NS + stage["bytes"] * COPY_NS_PER_BYTE
    stage.update({"streams": rng.choice([1, 1, 2, 3]), "kernel_ns": int(copy * rng.uniform(0.5, 1.5)), "host_ns": int(copy * rng.uniform(0.3, 1.5))})
    stage["wastes"].append("late")


def draw_solver(program):
    """One program of ten has a solver as its last stage, or in a thread of its own: it copies its states (the waste), swaps them, or
    saves one that it compares the next one with."""
    rng = random.Random(f"solver {program['seed']}")
    stages = program["stages"]
    if rng.random() >= 0.1 or len(stages) > 3 or {"legacy", "lock"} & set(wastes_of(program)):
        return
    how = rng.choice(["copies", "copies", "copies", "swaps", "saves"])
    thread = stages[-1]["thread"] + 1 if stages[-1]["thread"] else 0
    stages.append({**draw_stage(rng), "solver": True, "thread": thread, "streams": 1, "kind": rng.choice("bn"), "graph": False, "varies": False,
                   "rows": False, "steps": rng.randint(24, 48), "bytes": rng.choice([2, 4, 8]) << 20, "states": 2 if how == "saves" else rng.choice([2, 3]),
                   "saves": how == "saves", "kernel_ns": rng.randint(5, 40) * 1000, "every": rng.choice([1, 4, 8, 16]),
                   "check_bytes": rng.choice([4, 64]) << 10, "wastes": ["swap"] if how == "copies" else []})


def draw_two(program):
    """One program of ten has one stage, which uses two GPUs: they exchange the borders of a state, or have work of their own."""
    rng = random.Random(f"two {program['seed']}")
    if rng.random() >= 0.1:
        return
    stage = {**draw_stage(rng), "two": rng.choice(["exchange", "turns"]), "streams": 1, "kind": "n", "wait": "stream", "graph": False, "varies": False,
             "rows": False, "steps": rng.randint(24, 64), "wastes": []}
    if stage["two"] == "exchange":
        stage.update({"bytes": rng.choice([8, 32, 128, 512]) << 10, "state_bytes": 1 << 20, "kernel_ns": rng.randint(5, 60) * 1000, "every": rng.choice([8, 16, 64]),
                      "waits": rng.random() < 0.5})
        stage["wastes"] += ["staged"] if rng.random() < 0.75 else []
    else:
        # A GPU is done with a step before the host has filled the next one: whether kernels of several streams run side by side no record shows.
        copy, kernel = COPY_NS + stage["bytes"] * COPY_NS_PER_BYTE, rng.randint(5, 80) * 1000
        stage.update({"down": rng.random() < 0.3, "kernel_ns": kernel, "host_ns": int((3 * copy + kernel) * rng.uniform(1, 2))})
        stage["wastes"] += ["turns-asked" if stage["down"] else "turns"] if rng.random() < 0.75 else []
        stage["streams"] = 1 if stage["wastes"] else 2  # a clean one does not wait for what it has just begun
    program["stages"] = [stage]


def draw_sleeping(program):
    """A program whose threads sleep between their calls: of threads, in half of those whose wastes allow it, they hold a lock over the GPU's work, and
    with the waste "held" over the host's as well. Else one stage, in six of ten programs the only one, has threads without CUDA calls that make what it
    uploads, or work on its results, or help it; or it sleeps for a time. What they do takes a third of the host's own part of a step to three of it."""
    rng = random.Random(f"sleeping {program['seed']}")
    if hold_lock(rng, program["stages"]):
        return
    fit = [stage for stage in program["stages"] if not {"managed", "solver", "poll_ns", "two", "function_ns"} & set(stage)
           and not {"legacy", "lock", "late"} & set(stage["wastes"])]
    if not fit:
        return
    stage = rng.choice(fit)
    if rng.random() < 0.6:
        program["stages"] = [stage]
        stage["thread"] = 0
    enlarge(rng, stage)
    others = rng.choice([1, 1, 1, 2, 3])
    step = stage["host_ns"] * 3 ** rng.uniform(-1, 1)
    stage["sleeps"] = rng.choice(["queue", "queue", "queue", "queue", "drain", "drain", "join", "join", "timer", "ticks"])
    stage.update({"others": others, "slots": rng.randint(1, 4), "uneven": rng.random() < 0.3, "ahead_of_fill": rng.random() < 0.7,
                  "item_ns": int(step * (others if stage["sleeps"] in ("queue", "drain") else 1))})
    if stage["sleeps"] in ("timer", "ticks"):  # by whose sleep a record tells them apart: no host works as long each time
        stage["host_varies"] = True
        stage["uneven"] = stage["uneven"] and stage["sleeps"] == "timer"


MOST_SLEEPING = 2 << 20


def enlarge(rng, stage):
    """Its steps take 0.1 ms and more, which the host bounds, and it has more of them: no record has sleep of a few us, nor that of the first ms."""
    stage["bytes"] = max(stage["bytes"], min(stage["bytes"] * rng.choice([2, 4]), MOST_SLEEPING))
    copy = COPY_NS + stage["bytes"] * COPY_NS_PER_BYTE
    kernel = rng.choice([40000, 80000, 160000, 320000]) * rng.uniform(0.5, 1)
    stage.update({"bound": "host", "kernel_ns": int(kernel), "host_ns": int((2 * copy + kernel) * rng.uniform(1.1, 2)), "steps": 3 * stage["steps"]})
    if "tail_ns" in stage:
        stage["tail_ns"] = int((stage["host_ns"] - kernel) * rng.uniform(0.4, 0.95))


def hold_lock(rng, stages):
    """Whether it is such a program now."""
    if not stages[-1]["thread"] or rng.random() >= 0.5 or any({"managed", "solver", "two"} & set(stage) or {"legacy", "lock"} & set(stage["wastes"])
                                                              for stage in stages):
        return False
    wastes = ["held"] if rng.random() < 0.75 else []
    for stage in stages:
        kernel = rng.randint(20, 150) * 1000
        turn = (2 if stages[0]["down"] else 1) * (COPY_NS + stage["bytes"] * COPY_NS_PER_BYTE) + kernel
        for key in {"tail_ns", "wide", "function_ns", "poll_ns", "side_ns", "anew"} & set(stage):
            del stage[key]
        stage.update({key: stages[0][key] for key in ("down", "wait", "rows")})
        if stage["rows"]:
            stage["row"] = stages[0]["row"]
        stage.update({"holds": True, "wastes": list(wastes), "graph": False, "streams": 1, "kernel_ns": kernel, "host_ns": int(turn * rng.uniform(0.2, 2))})
    return True


def sleeps(program):
    """The word of how its threads sleep between their calls; None: they do not."""
    return next((stage.get("sleeps") or "lock" for stage in program["stages"] if stage.get("sleeps") or stage.get("holds")), None)


def wastes_of(program):
    return [waste for stage in program["stages"] for waste in stage["wastes"]]


def draw(seed, locking=True, sleeping=False):
    """The program of a seed. One in four is clean. locking: programs may take page-locked memory in the region (in
    rounds they would take it again and again, which is another waste). sleeping: threads sleep between their calls, in all programs that allow it."""
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
        for more in (draw_fetched, draw_again, draw_poll, draw_late, draw_solver):  # on a GPU: not measured yet
            more(program)
        stages = program["stages"]
        program["stages"] = [{**stage, "pays": True} for stage in stages]
        draw_locking(program)
        draw_two(program)
    if sleeping:
        draw_sleeping(program)
    return program
