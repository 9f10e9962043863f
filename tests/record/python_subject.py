"""A Python program that makes "CUDA calls" through the recorder's harness from all kinds of places,
and notes where it was each time, as the interpreter itself says it.

usage: python_subject.py HARNESS EXPECTED MODE
HARNESS is librecord_harness.so; EXPECTED is where the notes go, as JSON: call number -> frames,
innermost first, each [function, file, line]. The call number is the event's bytes.
"""
import asyncio
import contextlib
import ctypes
import json
import os
import random
import signal
import sys
import threading

HARNESS, EXPECTED, MODE = sys.argv[1:4]
MOST_FRAMES = 32

call = ctypes.CDLL(HARNESS).harness_call  # lets go of the GIL, as PyTorch does
call_holding = ctypes.PyDLL(HARNESS).harness_call
for function in (call, call_holding):
    function.argtypes = [ctypes.c_uint64, ctypes.c_uint64]
    function.restype = ctypes.c_bool

notes = {}
lock = threading.Lock()
last = 0


def note(frame):
    """Notes a frame and its callers under the next call number."""
    global last
    frames = []
    while frame is not None and len(frames) < MOST_FRAMES:
        code = frame.f_code
        name = code.co_qualname if sys.version_info >= (3, 11) else code.co_name
        file = code.co_filename.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
        frames.append([name, file, frame.f_lineno])
        frame = frame.f_back
    with lock:
        last += 1
        notes[last] = frames
        return last


def copy():
    number = note(sys._getframe()); call(number, 0)  # noqa: E702 (one line: the note is about it)


def copy_holding():
    number = note(sys._getframe()); call_holding(number, 0)  # noqa: E702


# ---- places ------------------------------------------------------------------------------------


class Model:
    def forward(self):
        copy()
        return [copy() for _ in range(2)]

    @staticmethod
    def static():
        copy()

    @property
    def loss(self):
        return copy()

    class Inner:
        def __call__(self):
            copy()

        def __enter__(self):
            copy()

        def __exit__(self, *_):
            copy()


def batches(n):
    for _ in range(n):
        copy()
        yield n
        yield from (copy() for _ in range(2))


def nested():
    def inner():
        def innermost():
            copy()

        innermost()
        copy(
        )

    inner()


def recursive(n):
    if n:
        recursive(n - 1)
    else:
        copy()


async def waits():
    copy()
    await asyncio.sleep(0)
    copy()


async def coroutines():
    await asyncio.gather(waits(), waits())
    async for _ in agenerator():
        copy()


async def agenerator():
    for _ in range(2):
        copy()
        yield


def handlers():
    try:
        raise ValueError
    except ValueError:
        copy()
    finally:
        copy()
    with contextlib.suppress(KeyError), Model.Inner():
        copy()
        raise KeyError


def from_c():
    """Python functions called by C, which Python called."""
    list(map(lambda _: copy(), range(2)))
    sorted([3, 1, 2], key=lambda x: (copy(), x)[1])
    set(batches(2))


class Deleted:
    def __del__(self):
        copy()


def traced():
    sys.settrace(lambda *_: None)
    copy()
    sys.settrace(None)
    copy()


def places():
    for place in (Model().forward, Model.static, nested, coroutines, handlers, from_c, traced):
        result = place()
        if asyncio.iscoroutine(result):
            asyncio.run(result)
    Model().loss
    Model.Inner()()
    (lambda: copy())()
    for _ in batches(3):
        copy()
    Deleted()
    recursive(10)
    recursive(100)
    copy_holding()


# ---- code objects that come and go -------------------------------------------------------------


def run(source, file):
    exec(compile(source, file, "exec"), {"copy": copy})


def reused():
    """Code objects of the same size, freed and made again: often at the same addresses."""
    for i in range(300):
        run(f"def f{i % 10}():\n" + "\n" * (i % 7) + f"    copy()\nf{i % 10}()\n", f"made{i % 3}.py")
    for i in range(100):
        scope = {"copy": copy}
        exec(f"def same(x):\n  y = x\n{'# ' if i % 2 else ''}\n  copy()\n", scope)
        scope.pop("same")(i)


def texts():
    """Names in all of Python's string kinds, an undecodable file name, a long one, long code."""
    for name in ("ascii", "größe", "目录", "𝓯"):
        run(f"def {name}():\n  copy()\n{name}()\n", f"/dir/{name}.py")
    run("copy()", os.fsdecode(b"/bytes\xff\xfe.py"))
    run("copy()", "/" + "d" * 900 + "/long.py")
    lines = "".join(f"  x{i} = [\n    {i},\n    x]\n" for i in range(3000))
    run(f"def large(x):\n{lines}  copy()\n  copy(\n  )\nlarge(1)\n", "large.py")
    run("\n" * 70000 + "copy()\n", "far.py")


# ---- threads, processes, ends ------------------------------------------------------------------


def worker():
    for _ in range(20):
        nested()
        Model().forward()
        run(f"def g{random.randrange(50)}(): copy()\n" * 3 + "copy()\n", "thread.py")


def threads():
    workers = [threading.Thread(target=worker) for _ in range(4)]
    for thread in workers:
        thread.start()
    for thread in workers:
        thread.join()


def forever():
    while True:
        call(1, 0)


def main():
    everything = {"places": [places, reused, texts, threads], "fork": [places], "kill": [places]}
    for part in everything.get(MODE, []):
        part()
    if MODE == "fork":
        if os.fork() == 0:
            notes.clear()
            places()
            with open(EXPECTED + ".child", "w") as file:
                json.dump(notes, file)
            sys.exit(0)
        os.wait()
    if MODE == "daemons":  # they are still at it when the interpreter goes
        for _ in range(4):
            threading.Thread(target=forever, daemon=True).start()
        copy()
    with open(EXPECTED, "w") as file:
        json.dump(notes, file)
    if MODE == "kill":
        os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    main()
