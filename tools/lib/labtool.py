"""A lab as Python sees it: up, down, commands on its hosts, perftest pairs. Shared by demo, bench and the e2e tests."""

import contextlib
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("VROCE_BUILD", ROOT / "build"))
VROCE = BUILD / "tools" / "vroce"
PERFTEST_PORT = 18515


HUGEPAGES = 512  # of 2 MiB: five processes of a lab and room for one more


@contextlib.contextmanager
def hugepages(count=HUGEPAGES):
    """Reserves them while the block runs and gives back what was taken; without them a lab runs with --no-huge."""
    file = pathlib.Path("/proc/sys/vm/nr_hugepages")
    before = 0
    try:
        before = int(file.read_text())
        if before < count:
            file.write_text(str(count))
        have = int(file.read_text())
    except OSError:
        have = before
    if have < count:
        print(f"hugepages: only {have} of {count} could be reserved; a lab that needs more runs with --no-huge", flush=True)
    else:
        print(f"hugepages: {have} reserved", flush=True)
    try:
        yield have >= count
    finally:
        if have > before:
            with contextlib.suppress(OSError):
                file.write_text(str(before))


def exit_on_signals():
    """TERM and HUP unwind as Ctrl-C does, so that every `finally` takes its lab down."""

    def leave(number, _):
        sys.exit(128 + number)

    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, leave)


class Failed(Exception):
    """One clear line, perhaps with output after it."""


def run_main(name, main):
    """Ends this process with main's exit code, or with one line on stderr: 1 when something failed, 130 after Ctrl-C."""
    exit_on_signals()
    try:
        sys.exit(main())
    except (Failed, subprocess.SubprocessError, OSError) as failed:
        print(f"{name}: {failed}", file=sys.stderr)
        sys.exit(1)
    except KeyboardInterrupt:
        print(f"{name}: interrupted", file=sys.stderr)
        sys.exit(130)


def write_json(path, data):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(data, indent=2) + "\n")


def listening(pid, port):
    """True when the network namespace of the process has a TCP listener on the port."""
    wanted = ":%04X" % port
    for table in ("tcp", "tcp6"):
        try:
            lines = pathlib.Path(f"/proc/{pid}/net/{table}").read_text().splitlines()[1:]
        except OSError:
            continue
        if any(line.split()[1].endswith(wanted) and line.split()[3] == "0A" for line in lines):
            return True
    return False


def await_listener(process, port, timeout=15):
    """Until the process of ours listens on the TCP port; False when it ended first or did not come to it in time."""
    deadline = time.monotonic() + timeout
    while process.poll() is None and not listening(process.pid, port):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return process.poll() is None


class Ended:
    """A command that ended: its exit code and what it printed."""

    def __init__(self, argv, code, output):
        self.argv, self.code, self.output = argv, code, output

    def __repr__(self):
        return f"{' '.join(map(str, self.argv))}: exit code {self.code}\n{self.output}"


def finish(process, timeout):
    """Waits for a process of ours; past the time it is killed and the code is None."""
    try:
        output, _ = process.communicate(timeout=timeout)
        return Ended(process.args, process.returncode, output)
    except subprocess.TimeoutExpired:
        process.kill()
        output, _ = process.communicate()
        return Ended(process.args, None, output + f"\n(no end within {timeout} s; killed)")


class Lab:
    def __init__(self, file, name, run_dir):
        self.file, self.name, self.run_dir = str(file), name, str(run_dir)

    # --- the command ---------------------------------------------------------------------------------------------

    def vroce(self, *words, timeout=120, check=False):
        argv = [str(VROCE), *map(str, words[:2]), "--run-dir", self.run_dir, *map(str, words[2:])]
        process = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                   text=True)
        ended = finish(process, timeout)
        if check and ended.code != 0:
            raise Failed(repr(ended))
        return ended

    def up(self):
        return self.vroce("lab", "up", self.file, "name", self.name, check=True)

    def down(self, force=True):
        return self.vroce("lab", "down", *(["--force"] if force else []), check=True)

    def show(self, what, *words):
        return json.loads(self.vroce("show", what, "-j", *words, check=True).output)

    def status(self):
        return json.loads(self.vroce("lab", "status", "-j").output)

    def pid(self, name):
        """The process of a switch or a host."""
        return next(p["pid"] for p in self.status()["processes"] if p["name"] == name)

    # --- commands on hosts ---------------------------------------------------------------------------------------

    def popen(self, host, *command, **options):
        argv = [str(VROCE), "lab", "exec", "--run-dir", self.run_dir, host, "--", *map(str, command)]
        settings = dict(stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        return subprocess.Popen(argv, **{**settings, **options})

    def run(self, host, *command, timeout=60):
        return finish(self.popen(host, *command), timeout)

    def class_dir(self, host, vm="vm1"):
        return pathlib.Path(self.run_dir) / host / vm / "class"

    def gid_index(self, host, vm="vm1", device="vroce0"):
        """The first IPv4-mapped RoCE v2 GID."""
        port = self.class_dir(host, vm) / "infiniband" / device / "ports" / "1"
        for index in range(256):
            try:
                gid = (port / "gids" / str(index)).read_text().strip()
                kind = (port / "gid_attrs" / "types" / str(index)).read_text().strip()
            except OSError:
                break
            if gid.startswith("0000:0000:0000:0000:0000:ffff:") and kind == "RoCE v2":
                return index
        raise Failed(f"{host}/{vm}: no IPv4 RoCE v2 GID below {port}")

    def pair(self, command, server="h1", client="h2", address="10.0.0.1", timeout=60, port=PERFTEST_PORT):
        """The command on the server, then with the server's address on the client; (server, client) as Ended."""
        serving = self.popen(server, *command)
        try:
            await_listener(serving, port)
            if serving.poll() is not None:
                return finish(serving, 1), Ended(command, None, "(not started: the server had ended)")
            asking = self.run(client, *command, address, timeout=timeout)
            if asking.code != 0:
                serving.send_signal(signal.SIGTERM)
            return finish(serving, 10), asking
        finally:
            if serving.poll() is None:
                serving.kill()
                serving.communicate()

    def pingpong(self, *options, timeout=60):
        return self.pair(["ibv_rc_pingpong", "-d", "vroce0", "-g", self.gid_index("h1"), "-c", *options], timeout=timeout)


# --- what perftest prints ------------------------------------------------------------------------------------------


def rows(output):
    """The rows of numbers of a perftest table."""
    found = []
    for line in output.splitlines():
        if re.fullmatch(r"[\s\d.+-]+", line) and len(line.split()) >= 5:
            found.append([float(word) for word in line.split()])
    return found


def passed(ended, lines=1):
    """True when perftest ended well and printed its result rows."""
    return ended.code == 0 and len(rows(ended.output)) >= lines


def bandwidth_gbps(output):
    """The average of the last row of an ib_*_bw table in MB/s (2^20), as Gb/s; -b and -D have the same column."""
    row = rows(output)[-1]
    return row[3] * 2**20 * 8 / 1e9


def latency_us(output):
    """(typical, 99 %) of the last row of an ib_*_lat table; the 99 % column is missing with -D."""
    row = rows(output)[-1]
    return row[4], (row[7] if len(row) > 7 else None)


def pingpong_us(output):
    found = re.search(r"=\s*([\d.]+)\s*usec/iter", output)
    return float(found.group(1)) if found else None
