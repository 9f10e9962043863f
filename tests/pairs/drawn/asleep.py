"""Stages whose thread sleeps between its calls (grammar.draw_sleeping draws them; schedule.py says what a schedule is): until
threads without CUDA calls have something for it, or room for what it has; until helpers are done; for a time."""


def item_ns(stage, number):
    """Half as long to half as long again, by turns, where they differ."""
    return stage["item_ns"] * (2 + number * 3 % 5) // 4 if stage.get("uneven") else stage["item_ns"]


def host_ns(stage, number):
    """The host's own work of a step: a tenth less to a tenth more, by turns, where it varies."""
    return stage["host_ns"] * (36 + number * 7 % 9) // 40 if stage.get("host_varies") else stage["host_ns"]


class Never:
    """It does not."""

    def __init__(self, writer, stage):
        self.w, self.s = writer, stage

    def ahead(self, number):
        """Before the host fills what it uploads."""

    def filled(self):
        """Behind that."""

    def behind(self, number):
        """With the results of a step."""


class Queue(Never):
    """Threads without CUDA calls make items, so many ahead as there are slots; what the host fills is made of one."""

    def __init__(self, writer, stage):
        super().__init__(writer, stage)
        self.items, self.free = writer.declare("#", 0), writer.declare("#", stage["slots"])
        for first in range(stage["others"]):
            writer.beside(self.make, range(first, stage["steps"], stage["others"]))

    def make(self, numbers):
        for number in numbers:
            self.w.do("<", 0, self.free)
            self.w.do("H", 0, item_ns(self.s, number), 0)
            self.w.do(">", 0, self.items, 1)

    def ahead(self, number):
        self.w.do("<", 0, self.items)

    def filled(self):
        self.w.do(">", 0, self.free, 1)


class Drain(Queue):
    """Such threads work on the results, which the host has slots for."""

    def make(self, numbers):
        for number in numbers:
            self.w.do("<", 0, self.items)
            self.w.do("H", 0, item_ns(self.s, number), 0)
            self.w.do(">", 0, self.free, 1)

    def ahead(self, number):
        pass

    def filled(self):
        pass

    def behind(self, number):
        self.w.do("<", 0, self.free)
        self.w.do(">", 0, self.items, 1)


class Join(Never):
    """Helpers without CUDA calls do a part of the host's work, and the host waits for them: before it fills, or behind the results."""

    def __init__(self, writer, stage):
        super().__init__(writer, stage)
        self.go, self.done = writer.declare("#", 0), writer.declare("#", 0)
        for _ in range(stage["others"]):
            writer.beside(self.help)

    def help(self):
        for number in range(self.s["steps"]):
            self.w.do("<", 0, self.go)
            self.w.do("H", 0, item_ns(self.s, number), 0)
            self.w.do(">", 0, self.done, 1)

    def join(self):
        self.w.do(">", 0, self.go, self.s["others"])
        for _ in range(self.s["others"]):
            self.w.do("<", 0, self.done)

    def ahead(self, number):
        if self.s["ahead_of_fill"]:
            self.join()

    def behind(self, number):
        if not self.s["ahead_of_fill"]:
            self.join()


class Timer(Never):
    """A pause in each step, or until the next tick, if that is still to come ("ticks")."""

    def pause(self, number):
        self.w.do("s", 0, item_ns(self.s, number), int(self.s["sleeps"] == "ticks"))

    def ahead(self, number):
        if self.s["ahead_of_fill"]:
            self.pause(number)

    def behind(self, number):
        if not self.s["ahead_of_fill"]:
            self.pause(number)


KINDS = {"queue": Queue, "drain": Drain, "join": Join, "timer": Timer, "ticks": Timer}


def of(writer, stage):
    return KINDS.get(stage.get("sleeps"), Never)(writer, stage)
