"""Runs every test program and counts single tests over all of them: GoogleTest, scripts, clang-format, pytest."""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree

import labtool
from labtool import BUILD, ROOT

PROGRAM_LIMIT_S = 600
E2E_LIMIT_S = 1500
SKIP_CODE = 77  # as meson and automake have it


class Counts:
    def __init__(self):
        self.passed, self.failed, self.skipped = 0, [], []

    def add_junit(self, file):
        """GoogleTest and pytest both write JUnit's XML."""
        before = (self.passed, len(self.failed), len(self.skipped))
        for case in xml.etree.ElementTree.parse(file).getroot().iter("testcase"):
            name = f"{case.get('classname')}.{case.get('name')}"
            skipped = case.find("skipped")
            if case.find("failure") is not None or case.find("error") is not None:
                self.failed.append(name)
            elif skipped is not None or case.get("status") == "notrun":
                reason = skipped.get("message") if skipped is not None else "disabled"
                self.skipped.append((name, " ".join((reason or "no reason given").split())))
            else:
                self.passed += 1
        return self.passed - before[0], len(self.failed) - before[1], len(self.skipped) - before[2]


def say(text):
    print(f"\n== {text}", flush=True)


def run_program(counts, name, command, scratch, variables=None):
    """A test program of meson's list: its single tests if it is GoogleTest, else its exit code."""
    begin = time.monotonic()
    report = pathlib.Path(scratch) / f"{name}.xml"
    environment = {**os.environ, **(variables or {}), "GTEST_OUTPUT": f"xml:{report}", "GTEST_BRIEF": "1"}
    try:
        ended = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                               text=True, errors="replace", timeout=PROGRAM_LIMIT_S, cwd=ROOT, env=environment)
        code, output = ended.returncode, ended.stdout
    except subprocess.TimeoutExpired as expired:
        code, output = None, f"{expired.stdout or ''}\nno end within {PROGRAM_LIMIT_S} s"
    if report.exists():
        passed, failed, skipped = counts.add_junit(report)
        if code != 0 and failed == 0:
            counts.failed.append(f"{name} (exit code {code} after its tests)")
            failed = 1
    elif code == SKIP_CODE:
        counts.skipped.append((name, output.strip().splitlines()[-1] if output.strip() else "no reason given"))
        passed, failed, skipped = 0, 0, 1
    else:
        passed, failed, skipped = (1, 0, 0) if code == 0 else (0, 1, 0)
        if code != 0:
            counts.failed.append(f"{name} (exit code {code})")
    print(f"{name:<24} {passed} passed, {failed} failed, {skipped} skipped in {time.monotonic() - begin:.1f} s", flush=True)
    if failed:
        print(output.rstrip(), flush=True)


def run_built_programs(counts, scratch):
    say("unit, protocol and layering tests")
    for test in json.loads((BUILD / "meson-info" / "intro-tests.json").read_text()):
        run_program(counts, test["name"], test["cmd"], scratch, test["env"])


def sources():
    listed = subprocess.run(["git", "ls-files", "--", "*.cpp", "*.hpp", "*.h", "*.c"], cwd=ROOT, text=True,
                            stdout=subprocess.PIPE, check=True).stdout.split("\n")
    return [name for name in listed if name and (ROOT / name).exists()]


def check_format(counts, scratch):
    say("format of the sources")
    run_program(counts, "clang-format", ["clang-format", "--dry-run", "--Werror", *sources()], scratch)


def run_e2e(counts, scratch, words):
    say("end-to-end tests")
    report = pathlib.Path(scratch) / "e2e.xml"
    command = [sys.executable, "-m", "pytest", "-ra", "-v", "--tb=short", f"--junitxml={report}", "-p", "no:cacheprovider",
               *(words or ["tests/e2e"])]
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, cwd=ROOT)
    try:
        code = process.wait(timeout=E2E_LIMIT_S)
    except subprocess.TimeoutExpired:
        process.terminate()
        process.wait()
        code = None
    passed, failed, skipped = counts.add_junit(report) if report.exists() else (0, 0, 0)
    if failed == 0 and (code != 0 or passed + skipped == 0):
        counts.failed.append(f"pytest (exit code {code})")


def main():
    counts = Counts()
    labtool.exit_on_signals()
    scratch = tempfile.mkdtemp(prefix="vroce-test-")
    try:
        with labtool.hugepages():
            run_built_programs(counts, scratch)
        check_format(counts, scratch)
        run_e2e(counts, scratch, sys.argv[1:])
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    say("result")
    for name, reason in counts.skipped:
        print(f"skipped: {name}: {reason}")
    for name in counts.failed:
        print(f"FAILED: {name}")
    print(f"{counts.passed} passed, {len(counts.failed)} failed, {len(counts.skipped)} skipped", flush=True)
    return 1 if counts.failed or counts.passed == 0 else 0


sys.exit(main())
