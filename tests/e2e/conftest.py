"""What the end-to-end tests share: a lab of their own, beside which another may run, and visible reasons to skip."""

import os
import pathlib
import shutil
import subprocess
import sys
import time

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools" / "lib"))

import labtool  # noqa: E402

LAB_FILE = ROOT / "configs" / "lab" / "two-hosts.json"


def missing():
    """Why no lab can run here, or None."""
    if os.geteuid() != 0:
        return "needs root: network namespaces and TAP interfaces"
    if not labtool.VROCE.exists():
        return f"{labtool.VROCE} is not built"
    if subprocess.run(["unshare", "-nm", "true"], stderr=subprocess.DEVNULL).returncode != 0:
        return "the kernel refuses network or mount namespaces"
    if not pathlib.Path("/dev/net/tun").exists():
        return "no /dev/net/tun: TAP interfaces cannot be made"
    for program in ("ib_send_bw", "ibv_rc_pingpong", "ping"):
        if shutil.which(program) is None:
            return f"{program} is not installed"
    return None


REASON = missing()


def pytest_collection_modifyitems(items):
    for item in items:
        if REASON:
            item.add_marker(pytest.mark.skip(reason=REASON))


def eventually(what, condition, seconds):
    """Waits for the condition; the test fails with `what` when it does not come true in time."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"not within {seconds} s: {what}"
        time.sleep(0.02)


class Traces:
    """Everything that a lab could leave on the machine."""

    def __init__(self, run_dir):
        self.namespaces = self.listed("/run/netns")
        self.run_dirs = sorted(str(p) for p in pathlib.Path("/run").glob("vroce*"))
        self.links = self.listed("/sys/class/net")
        self.hugepage_files = sorted(str(p) for p in pathlib.Path("/dev/hugepages").glob("*"))
        self.free_hugepages = pathlib.Path("/sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages").read_text() \
            if pathlib.Path("/sys/kernel/mm/hugepages/hugepages-2048kB").exists() else ""
        self.sockets = sorted({line.split()[-1] for line in pathlib.Path("/proc/net/unix").read_text().splitlines()
                               if str(run_dir) in line})
        self.mounts = [line for line in pathlib.Path("/proc/self/mounts").read_text().splitlines()
                       if str(run_dir) in line or "netns/vroce-" in line]
        self.processes = sorted(p for p in self.marked(run_dir))

    @staticmethod
    def listed(folder):
        return sorted(os.listdir(folder)) if os.path.isdir(folder) else []

    @staticmethod
    def marked(run_dir):
        for entry in pathlib.Path("/proc").iterdir():
            try:
                if entry.name.isdigit() and f"VROCE_LAB={run_dir}".encode() in (entry / "environ").read_bytes().split(b"\0"):
                    yield (entry / "cmdline").read_text()
            except OSError:
                pass

    def __eq__(self, other):
        return vars(self) == vars(other)

    def __repr__(self):
        return repr(vars(self))


class OwnLab(labtool.Lab):
    """A lab under a name that only this test run has."""

    def __init__(self, label, file=LAB_FILE):
        name = f"e2e-{label}-{os.getpid()}"
        super().__init__(file, name, f"/run/vroce-{name}")

    def traces(self):
        return Traces(self.run_dir)

    def netns(self, host):
        return f"/run/netns/vroce-{self.name}-{host}"

    def counter(self, process, *keys):
        value = self.show("counters", "on", process)[process]
        for key in keys:
            value = value[key]
        return value


@pytest.fixture(scope="session", autouse=True)
def hugepages():
    if REASON:
        yield
        return
    with labtool.hugepages():
        yield


@pytest.fixture(scope="session")
def lab(hugepages):
    """The lab that most tests use; tests that kill parts of it have one of their own."""
    own = OwnLab("main")
    own.up()
    yield own
    own.down()


@pytest.fixture
def healthy(lab):
    """The common lab, without faults, and with no queue pair left of the test before."""
    yield lab
    for port in ("sw1/Ethernet0", "sw1/Ethernet4", "h1/uplink", "h2/uplink"):
        lab.vroce("fault", "clear", "dev", port)


@pytest.fixture
def fresh(request):
    """A lab of the test's own, not yet up; whatever the test does, it is down afterwards."""
    own = OwnLab(request.node.name.split("[")[0].removeprefix("test_").replace("_", "-")[:12])
    yield own
    own.vroce("lab", "down", "--force")
