"""Line tables of the standard library, decoded by the recorder and by the interpreter itself.

usage: PYTHON python_lines_test.py LIBRARY (python_lines.c as a shared library)
"""
import ctypes
import glob
import os
import random
import sys
import sysconfig
import types

library = ctypes.CDLL(sys.argv[1])
line_of = library.xfs_python_line_310 if sys.version_info < (3, 11) else library.xfs_python_line_311
line_of.argtypes = [ctypes.c_char_p, ctypes.c_size_t, ctypes.c_int32, ctypes.c_int64]
line_of.restype = ctypes.c_uint32


def codes(code):
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from codes(constant)


def check(code):
    table = code.co_linetable
    checked = 0
    for start, end, line in code.co_lines():
        for offset in range(start, end, 2):
            found = line_of(table, len(table), code.co_firstlineno, offset)
            if found != (line or 0):
                sys.exit(f"{code.co_filename}: {code.co_name}+{offset}: line {found}, not {line}")
            checked += 1
    if line_of(table, len(table), code.co_firstlineno, len(code.co_code) + 2) != 0:
        sys.exit(f"{code.co_filename}: {code.co_name}: a line beyond its end")
    return checked


def check_damaged(table):
    """Whatever the bytes are: an answer, and no read beyond them (seen by the sanitizers)."""
    random.seed(1)
    for _ in range(20000):
        damaged = bytes(random.choice(table) ^ (1 << random.randrange(8)) for _ in range(random.randrange(40)))
        line_of(damaged, len(damaged), random.randrange(-5, 1 << 31), random.randrange(-4, 1 << 40))


def main():
    folder = sysconfig.get_paths()["stdlib"]
    checked, tables = 0, []
    for path in sorted(glob.glob(os.path.join(folder, "*.py"))):
        with open(path, "rb") as file:
            source = file.read()
        for code in codes(compile(source, path, "exec")):
            checked += check(code)
            tables.append(code.co_linetable)
    check_damaged(b"".join(tables))
    print(f"{checked} instructions")
    if checked < 10000:
        sys.exit("too few to tell")


main()
