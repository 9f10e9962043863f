"""Is tools/tidy a rule that holds? A project of two files, one of them ill: what is found, what is
looked at again, and what is not."""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(sys.argv[1])
COMPILER = sys.argv[2]

SOUND = '#include "common/number.h"\nint add(int *p)\n{\n    return p ? *p + NUMBER : 0;\n}\n'
ILL = "int take(int *p)\n{\n    return p ? 0 : *p;\n}\n"
EXCUSED = "int take(int *p)\n{\n    /* only a test */\n    return p ? 0 : *p; // NOLINT\n}\n"
LONG = "int walk(int n)\n{\n" + "    n += n / 3;\n" * 101 + "    return n;\n}\n"


class Project:
    def __init__(self, folder, stamps):
        self.root = pathlib.Path(folder)
        self.stamps = pathlib.Path(stamps)
        for name in ("tools", "common", "tests", "build"):
            (self.root / name).mkdir(parents=True)
        shutil.copy(ROOT / "tools/tidy", self.root / "tools")
        shutil.copy(ROOT / ".clang-tidy", self.root)
        self.write("common/number.h", "#define NUMBER 1\n")
        self.write("common/sound.c", SOUND)
        self.write("tests/ill.c", ILL)  # no component of the project's own: never looked at

    def write(self, name, text):
        (self.root / name).write_text(text)

    def tidy(self, *names, flags="", folders=()):
        entries = [{"directory": str(self.root / "build"), "file": str(self.root / name),
                    "command": f"{COMPILER} -I{self.root} {flags} -fno-fat-lto-objects "
                               f"-mmemcpy-strategy=libcall:-1:noalign -Werror -o x.o -c {self.root / name}"} for name in names]
        self.write("build/compile_commands.json", json.dumps(entries))
        command = [str(self.root / "tools/tidy"), str(self.root / "build"), *folders]
        done = subprocess.run(command if folders else command[:1], universal_newlines=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              cwd="/", env=dict(os.environ, LC_ALL="C", XFERSCOPE_TIDY_STAMPS=str(self.stamps)))
        print(done.stdout)
        return done.returncode, done.stdout


def expect(what, got, status, *texts):
    assert got[0] == status, f"{what}: exit status {got[0]}, not {status}"
    for text in texts:
        assert text in got[1], f"{what}: it does not say '{text}'"


with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as other, \
        tempfile.TemporaryDirectory() as stamps:
    project = Project(folder, stamps)
    both = ("common/sound.c", "tests/ill.c")
    expect("sound", project.tidy(*both), 0, "1 files, 1 of them new or changed, 0 with findings")
    expect("again", project.tidy(*both), 0, "1 files, 0 of them new or changed, 0 with findings")
    clone = Project(pathlib.Path(other) / "another", stamps)
    expect("another clone", clone.tidy(*both), 0, "1 files, 0 of them new or changed, 0 with findings")
    for stamp in pathlib.Path(stamps).iterdir():
        os.utime(stamp, (1, 1))
    expect("long ago", clone.tidy(*both), 0, "1 files, 1 of them new or changed, 0 with findings")
    project.write("common/number.h", "#define NUMBER 2\n")
    expect("its header changed", project.tidy(*both), 0, "1 of them new or changed")
    expect("its options changed", project.tidy(*both, flags="-DOTHER"), 0, "1 of them new")

    project.write("common/ill.c", ILL)
    expect("not compiled", project.tidy(*both), 0, "common/ill.c: not in this build")
    both = ("common/sound.c", "common/ill.c")
    for what in ("ill", "ill and known to be"):
        expect(what, project.tidy(*both), 1, "core.NullDereference",
               "2 files, 1 of them new or changed, 1 with findings")
    expect("another folder", project.tidy(*both, folders=["tools"]), 2)
    expect("this folder", project.tidy(*both, folders=["common"]), 1, "2 files")
    project.write("common/ill.c", EXCUSED)
    expect("excused", project.tidy(*both), 0, "1 of them new or changed, 0 with findings")
    project.write("common/ill.c", EXCUSED.replace("// NOLINT", ""))
    expect("no longer excused", project.tidy(*both), 1, "core.NullDereference")
    project.write("common/ill.c", LONG)
    expect("a long function", project.tidy(*both), 1, "readability-function-size")
    project.write("common/ill.c", "int f(void) { return missing; }\n")
    expect("does not compile", project.tidy(*both), 1, "undeclared identifier")
    project.write("common/number.h", "static inline int f(int *p)\n{\n    int *q = 0;\n    return p ? *q : 0;\n}\n"
                                     "#define NUMBER f(p)\n")
    expect("a finding in a header", project.tidy("common/sound.c"), 1, "number.h:4")
    expect("nothing to look at", project.tidy("tests/ill.c"), 2)
