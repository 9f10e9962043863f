#!/usr/bin/env python3
"""What Python frames cost in a call stack: ns per capture, the stack being known, by its depth.

usage: PYTHON python_stacks.py HARNESS [CAPTURES]    (HARNESS: BUILD/lib/librecord_harness.so)

"""
import ctypes
import os
import sys
import tempfile
import threading


def below(depth, function):
    return function() if depth <= 0 else below(depth - 1, function)


def measure(library, depth, captures):
    return below(depth - 2, lambda: min(library.harness_capture_ns(captures) for _ in range(7))) / captures


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    captures = int(sys.argv[2]) if len(sys.argv) == 3 else 20000
    with tempfile.TemporaryDirectory() as folder:
        os.environ["XFERSCOPE_OUTPUT"] = os.path.join(folder, "run.xft")
        library = ctypes.CDLL(sys.argv[1])
        library.harness_capture_ns.restype = ctypes.c_uint64
        library.harness_capture_ns(1)
        print(f"Python {sys.version.split()[0]}, ns per capture, best of 7 x {captures}")
        for depth in (4, 10, 20, 30):
            results = [measure(library, depth, captures)]
            thread = threading.Thread(
                target=lambda: results.append(measure(library, depth - 2, captures)))
            thread.start()
            thread.join()
            print(f"{depth:3d} Python frames  main thread {results[0]:8.0f}  other thread {results[1]:8.0f}")
    sys.stdout.flush()
    os._exit(0)  # the trace is gone: nothing to complete


if __name__ == "__main__":
    main()
