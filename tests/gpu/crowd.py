"""Many processes at a time: how many is measured while they run, since they start one after the other on all GPUs."""
import collections
import contextlib
import subprocess
import sys
import threading
import time

LATELY_S = 10
# What a process keeps that is there for its contexts alone: each device's own, until it may end.
KEEP = """
import ctypes, sys
driver = ctypes.CDLL("libcuda.so.1")
count = ctypes.c_int()
if driver.cuInit(0) == 0 and driver.cuDeviceGetCount(ctypes.byref(count)) == 0:
    print(sum(driver.cuDevicePrimaryCtxRetain(ctypes.byref(ctypes.c_void_p()), device) == 0 for device in range(count.value)), flush=True)
    sys.stdin.read()
"""


@contextlib.contextmanager
def contexts():
    """Keeps a context on each GPU meanwhile: the driver starts others faster then. Gives how many; none where there is no driver."""
    with subprocess.Popen([sys.executable, "-c", KEEP], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, text=True) as keeper:
        try:
            yield int(keeper.stdout.readline() or 0)
        finally:
            keeper.stdin.close()


class Crowd:
    """Threads that run the tasks of `work`: next(rate) gives one or None, run(task) runs it, ended(task, what run() gave) is told.
    All but run() are called by one thread at a time. Nothing is left when next() gives none and none runs."""

    def __init__(self, work, most):
        self.work, self.limit, self.active, self.over, self.failed = work, 0, 0, False, None
        self.changed, self.ends, self.start = threading.Condition(), collections.deque(), time.monotonic()
        self.threads = [threading.Thread(target=self.serve) for _ in range(most)]

    def rate(self):
        """Processes that ended lately, in a second."""
        now = time.monotonic()
        while self.ends and self.ends[0] < now - LATELY_S:
            self.ends.popleft()
        return len(self.ends) / max(0.1, min(LATELY_S, now - self.start))

    def take(self):
        """The next task; None: nothing is left."""
        with self.changed:
            while not self.over:
                task = self.work.next(self.rate()) if self.active < self.limit else None
                if task:
                    self.active += 1
                    return task
                self.over = self.limit > 0 and not self.active
                self.changed.wait(0.2) if not self.over else self.changed.notify_all()
        return None

    def serve(self):
        while task := self.take():
            result = None
            try:
                result = self.work.run(task)
            except Exception as error:  # pylint: disable=broad-except; it ends the measurement, in the thread that waits
                self.failed = error
            with self.changed:
                self.active -= 1
                self.over |= self.failed is not None
                self.ends.append(time.monotonic())
                if result is not None:
                    self.work.ended(task, result)
                self.changed.notify_all()

    def set_limit(self, limit):
        with self.changed:
            self.limit = limit
            self.changed.notify_all()

    def measure(self, limit, seconds):
        """Processes in a second with so many at a time, or None: nothing is left. The first third is not counted: until then
        those end that began before."""
        self.set_limit(limit)
        counts = []
        for part in (seconds / 3, seconds * 2 / 3):
            with self.changed:
                before, end = time.monotonic(), time.monotonic() + part
                while not self.over and time.monotonic() < end:
                    self.changed.wait(end - time.monotonic())
                counts.append(sum(moment >= before for moment in self.ends) / part)
        return None if self.over else counts[1]


def run(work, jobs, trial):
    """Runs all of it; what is to be said of how many at a time there were, as (what, value)."""
    crowd, rates = Crowd(work, max(jobs)), {}
    for thread in crowd.threads:
        thread.start()
    for limit in jobs if len(jobs) > 1 else ():
        rate = crowd.measure(limit, trial)
        if rate is None:
            break
        rates[limit] = round(rate, 2)
    crowd.set_limit(max(rates, key=rates.get) if rates else jobs[-1])
    for thread in crowd.threads:
        thread.join()
    if crowd.failed:
        raise crowd.failed
    return [("processes in a second, by how many at a time", rates), ("at a time then", crowd.limit)]
