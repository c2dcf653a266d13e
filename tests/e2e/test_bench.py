"""The benches that check something, in their short form."""

import subprocess
import sys

import labtool
import pytest

VOID = 3  # what bench lossless says when the machine was too busy for it


def run_bench(name, *words):
    ended = subprocess.run([sys.executable, labtool.ROOT / "tools" / "lib" / f"{name}.py", *map(str, words)],
                           stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=900)
    if ended.returncode == VOID:
        pytest.skip(ended.stdout.splitlines()[-1])
    assert ended.returncode == 0, ended.stdout


def test_conformance_short(hugepages):
    run_bench("conformance", "-n", 100)


def test_lossless_with_pfc_and_not_without(hugepages, tmp_path):
    run_bench("lossless", "--seconds", 2, "-o", tmp_path / "lossless.json")
