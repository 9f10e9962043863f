"""What repeated.c does, for scripts of Python: rounds(step) calls `step` as often as REPEATED_* say, timed."""
import ctypes
import os
import time


def number(name, default=0):
    return int(os.environ.get(name, default))


def pass_on(all_):
    """All is passed on to the driver, or not; where apply is not there, nothing happens."""
    try:
        ctypes.CDLL(None).xferscope_apply_pass_on(ctypes.c_int(all_))
    except AttributeError:
        pass


def is_without(turn, seed):
    """As repeated.c draws it."""
    if turn == 0 or seed == 0:
        return 0
    block, place = divmod(turn - 1, 4)
    mixed = ((seed * 2654435761 + block) * 0x9e3779b97f4a7c15) % 2**64
    return mixed >> 63 ^ (place in (1, 2))


def rounds(step):
    """The first call is a round, too: libraries begin in it."""
    seed, first_end = number("REPEATED_TURNS"), 0
    with open(os.environ.get("REPEATED_TIMES", os.devnull), "a", encoding="utf-8") as times:
        for turn in range(number("REPEATED_ROUNDS", 1)):
            without = is_without(turn, seed)
            if seed:
                pass_on(without)
            start = time.monotonic_ns()
            step()
            end = time.monotonic_ns()
            print(0, end - start, *([without] if seed else []), file=times, flush=True)
            first_end = first_end or end
            if turn + 1 >= number("REPEATED_LEAST") and end - first_end >= number("REPEATED_LONGEST", 2**62):
                break
