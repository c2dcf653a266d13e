"""The short form of the conformance matrix: the long one is `tools/bench conformance`."""

import subprocess
import sys

import labtool


def test_conformance_short(hugepages):
    ended = subprocess.run([sys.executable, labtool.ROOT / "tools" / "lib" / "conformance.py", "-n", "100"],
                           stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=900)
    assert ended.returncode == 0, ended.stdout
