"""Bare Debian systems in a folder, made by mmdebstrap from the mirror that this machine's apt uses, and
commands that run in them. Whoever may not do that (no root, no mirror, no mounts) skips."""
import os
import re
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

from lab import run


def mirror():
    """The address of the archive that this machine's own release comes from; None without one."""
    wanted = re.search(r"^VERSION_CODENAME=(\S+)", Path("/etc/os-release").read_text(), re.M)
    ask = ["apt-get", "indextargets", "--format", "$(REPO_URI)|$(CODENAME)|$(COMPONENT)", "Created-By: Packages"]
    targets = run(ask).stdout
    if not targets:  # it has no lists yet
        run(["apt-get", "-qq", "-o", "DPkg::Lock::Timeout=60", "update"])
        targets = run(ask).stdout
    for line in targets.decode().splitlines():
        address, codename, component = line.split("|")
        if wanted and codename == wanted[1] and component == "main":
            return address
    return None


def missing():
    """Why no tree can be made here; empty when one can."""
    if os.geteuid() != 0:
        return "only root makes a tree to install in"
    lacking = [name for name in ("mmdebstrap", "unshare", "apt-get", "dpkg") if not shutil.which(name)]
    if lacking:
        return f"no {' and no '.join(lacking)}"
    if not mirror():
        return "apt knows no mirror of this system's release"
    if run(["unshare", "--mount", "--pid", "--fork", "--mount-proc", "true"]).returncode != 0:
        return "this root may not mount /proc"
    return ""


class Tree:
    """A system of a release (`bookworm`) with these packages; removed at the end of the test class. One in which
    programs run and nothing is installed is `unpacked`: only these packages and what they depend on, no dpkg."""

    def __init__(self, test_class, suite, packages=(), unpacked=False):
        reason = missing()
        if reason:
            raise unittest.SkipTest(reason)
        base = Path(tempfile.mkdtemp(prefix="xferscope-tree-"))
        test_class.addClassCleanup(shutil.rmtree, base, ignore_errors=True)
        self.root = base / "root"
        options = base / "apt.conf"
        settings = run(["apt-config", "dump", "Acquire"]).stdout.decode().splitlines()
        options.write_text("\n".join(line for line in settings if not line.endswith('"";')) + "\n")
        done = run(["mmdebstrap", "--quiet", "--mode=root",
                    f"--variant={'extract' if unpacked else 'essential'}", f"--aptopt={options}",
                    *([f"--include={','.join(packages)}"] if packages else []), suite, self.root,
                    f"deb {mirror()} {suite} main"])
        if done.returncode != 0:
            why = re.sub(r"\w+://\S+", "the mirror", done.stderr.decode().strip())
            raise unittest.SkipTest(f"no tree of {suite}: {why.splitlines()[-1] if why else 'mmdebstrap failed'}")
        self.into = ["unshare", "--mount", "--pid", "--fork", f"--root={self.root}", "--mount-proc"]

    def run(self, *command):
        env = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C.UTF-8", "DEBIAN_FRONTEND": "noninteractive"}
        return run([*self.into, *command], env=env)

    def put(self, path, *files):
        """Files of this machine, links followed, into a folder of the tree."""
        folder = self.root / path.lstrip("/")
        folder.mkdir(parents=True, exist_ok=True)
        for file in files:
            shutil.copy2(file, folder)

    def put_gpu(self, program, gpu):
        """The simulated GPU and a program for it, in /opt; its JSON library with them."""
        self.put("/opt", program)
        shutil.copytree(gpu, self.root / "opt" / "simgpu")
        self.put("/opt/simgpu", *re.findall(r"=> (/\S*libjansson\S*)", run(["ldd", gpu / "libcuda.so.1"]).stdout.decode()))

    def files(self):
        """Every file but what dpkg and others keep for themselves."""
        kept = re.compile(r"(proc|sys|dev|tmp|run|opt|root|var/(lib/dpkg|cache|log))(/|$)")
        names = (str(path.relative_to(self.root)) for path in self.root.rglob("*"))
        return {name for name in names if not kept.match(name)}


if __name__ == "__main__":
    print(missing())
