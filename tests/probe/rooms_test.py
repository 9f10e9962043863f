"""Who includes whom in the probe: what architecture.md says its rooms may use, and no more."""
import os
import pathlib
import re
import sys

ROOT = pathlib.Path(sys.argv[1])
FILES = "analyzer/base/files.h"  # files that users name, for all commands

# Each room: what its files may include besides their own room's and the contracts. A name that ends
# in .h is that file, another one every file of that room.
MAY_USE = {
    "probe/profile": [FILES],
    "probe/device": [],
    "probe/measure": ["probe/device", "probe/session.h"],
    "probe/bench": ["probe/device", "probe/measure", "probe/profile", "probe/session.h",
                    "probe/progress.h"],
    "probe/machine": ["probe/device", "probe/profile", "probe/session.h", "probe/bench/bench.h",
                      FILES],
    "probe/report": ["probe/profile", "probe/progress.h", "common"],
}
# What session.h brings with it: nothing that would lead upward again.
SESSION = ["probe/device/device.h", "probe/probe.h", "include/xferscope/profile.h"]


def included(file):
    """Paths from the root, of the project's headers and .def files."""
    for name in re.findall(r'^\s*#\s*include "(.*)"', file.read_text(), re.M):
        places = (file.parent / name, ROOT / name, ROOT / "include" / name)
        found = [place for place in places if place.exists()]
        assert found, f"{file}: {name} is nowhere"
        yield os.path.relpath(os.path.realpath(found[0]), os.path.realpath(ROOT))


def main():
    seen = bad = 0
    for room, may in MAY_USE.items():
        files = [file for file in sorted((ROOT / room).iterdir()) if file.suffix in (".c", ".h")]
        assert len(files) > 3, room
        for file in files:
            for path in included(file):
                seen += 1
                folder = os.path.dirname(path)
                if folder not in [room, "include/xferscope"] + may and path not in may:
                    print(f"{file.relative_to(ROOT)} includes {path}")
                    bad += 1
    for path in included(ROOT / "probe/session.h"):
        if path not in SESSION:
            print(f"probe/session.h includes {path}")
            bad += 1
    print(f"{seen} includes, {bad} that architecture.md does not allow")
    return bad != 0 or seen < 100


if __name__ == "__main__":
    sys.exit(main())
