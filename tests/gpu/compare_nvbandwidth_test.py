#!/usr/bin/env python3
"""compare_nvbandwidth.sh with stand-ins for both programs: it must see what differs."""
import os
import subprocess
import tempfile
import unittest

SCRIPT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "compare_nvbandwidth.sh")

PEER = """#!/bin/sh
[ "$1 $2 $3" = "-b 64 -t" ] || exit 9
shift 3
for name; do
    case $name in
    *bidirectional*) a=45.4 b=44 ;;
    *) a=55.35 b=50 ;;
    esac
    printf 'Running %s.\\nmemcpy CE CPU(row) <-> GPU(column) bandwidth (GB/s)\\n' "$name"
    printf '           0         1\\n 0     %s     %s\\n\\nSUM %s 99.99\\n\\n' $a $b "$name"
done
"""

OWN = """#!/bin/sh
echo "name,bytes,gbps"
for way in h2d d2h; do
    echo "copy/pinned/$way/node0-gpu0,67108864,{fast}"
    echo "copy/pinned/$way/node1-gpu0,67108864,31.5"
    echo "copy/pinned/$way/node0-gpu1,67108864,31"
    echo "copy/pinned/$way/node1-gpu1,67108864,50.1"
    echo "copy-both-ways/pinned/$way/node0-gpu0,67108864,45.5"
    echo "copy-both-ways/pinned/$way/node1-gpu1,67108864,43.9"
done
"""


class Compare(unittest.TestCase):
    def run_script(self, own, peer=PEER):
        with tempfile.TemporaryDirectory() as folder:
            os.makedirs(os.path.join(folder, "bin"))
            for name, text in (("nvbandwidth", peer), ("bin/xferscope", own)):
                path = os.path.join(folder, name)
                with open(path, "w", encoding="utf-8") as file:
                    file.write(text)
                os.chmod(path, 0o755)
            return subprocess.run([SCRIPT, os.path.join(folder, "nvbandwidth"), folder, "3", "64"],
                                  capture_output=True, text=True, check=False)

    def test_alike(self):
        done = self.run_script(OWN.format(fast="55.3"))
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        lines = done.stdout.splitlines()[1:]
        self.assertEqual(len(lines), 8)
        self.assertRegex(lines[0], r"^host_to_device_memcpy_ce +0 +55.35 GB/s .* 55.30 GB/s .* 0.9991$")
        self.assertRegex(lines[1], r"^host_to_device_memcpy_ce +1 +50.00 GB/s .* 50.10 GB/s .* 1.0020$")
        self.assertRegex(lines[5], r"^host_to_device_bidirectional_memcpy_ce +1 .* 0.9977$")

    def test_a_difference_shows(self):
        done = self.run_script(OWN.format(fast="53.0"))
        self.assertEqual(done.returncode, 3, done.stdout + done.stderr)
        self.assertIn("0.9575", done.stdout)

    def test_nothing_to_compare(self):
        self.assertEqual(self.run_script("#!/bin/sh\necho name,bytes,gbps\n").returncode, 1)
        done = self.run_script(OWN.format(fast="55.3"), "#!/bin/sh\necho no such test\n")
        self.assertEqual(done.returncode, 1)
        self.assertIn("no figure", done.stderr)


if __name__ == "__main__":
    unittest.main()
