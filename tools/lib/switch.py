"""How fast the switch forwards, beside DPDK's testpmd (macswap, no switch at all) and OVS-DPDK (its normal action).

Each on one core, with memif ports. "closed loop": two ports, at their other ends testpmd sends back what comes; VLAN, QoS,
buffers and PFC are on in ours. "open loop": two ports flood a third with frames between 1,024 pairs of stations, and what
arrives there counts. All in turn, round by round, so that a slow spell of the machine meets all alike.
"""

import argparse
import json
import os
import pathlib
import re
import shutil
import signal
import statistics
import subprocess
import tempfile
import time

import labtool
from labtool import BUILD

HUGEPAGES = 1600
SETTLING = 2  # seconds of the generator that do not count
START_LIMIT_S = 20
BARS = (("closed 64", "ovs", 1.5), ("closed 64", "testpmd", 0.6), ("closed 1082", "testpmd", 0.8), ("open 64", "ovs", 1.5))
OVS_VSWITCHD = "/usr/lib/openvswitch-switch-dpdk/ovs-vswitchd-dpdk"


def processors():
    allowed = sorted(os.sched_getaffinity(0))
    if len(allowed) < 2:
        raise labtool.Failed(f"only processor {allowed[0]} may be used; two are needed: one forwards, one generates")
    return allowed[0], allowed[1]


def start(command, log, stdin=subprocess.DEVNULL, env=None):
    return subprocess.Popen([str(word) for word in command], stdin=stdin, stdout=open(log, "w"), stderr=subprocess.STDOUT,
                            env=env, start_new_session=True)


def stop(process, by=signal.SIGTERM):
    if process.poll() is not None:
        return
    process.send_signal(by)
    try:
        process.wait(10)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def await_files(files, process, log):
    deadline = time.monotonic() + START_LIMIT_S
    while not all(os.path.exists(file) for file in files):
        if process.poll() is not None or time.monotonic() > deadline:
            raise labtool.Failed(f"{process.args[0]} does not come up:\n{pathlib.Path(log).read_text()[-2000:]}")
        time.sleep(0.05)


class Device:
    """Something that forwards between memif sockets of which it is the server."""

    def __init__(self, directory, ports):
        self.directory = pathlib.Path(directory)
        self.directory.mkdir(parents=True)
        self.ports = ports
        self.sockets = [str(self.directory / f"p{i}.memif") for i in range(ports)]
        self.log = self.directory / "log"
        self.processes = []

    def __enter__(self):
        try:
            self.up()
            await_files(self.sockets, self.processes[-1], self.log)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        for process in reversed(self.processes):
            stop(process)


class Vroce(Device):
    queues = 1

    def up(self):
        names = [f"Ethernet{4 * i}" for i in range(self.ports)]
        config = {
            "PORT": {name: {"speed": "400000", "mtu": "9100", "admin_status": "up"} for name in names},
            "VLAN": {"Vlan10": {"vlanid": "10"}},
            "VLAN_MEMBER": {f"Vlan10|{name}": {"tagging_mode": "untagged"} for name in names},
            "VROCE_QOS": {"switch": {"preset": "roce"}},
            "VROCE_PORT": {name: {"devargs": f"net_memif{i},role=server,socket={self.sockets[i]}", "role": "host"}
                           for i, name in enumerate(names)},
        }
        file = self.directory / "config.json"
        file.write_text(json.dumps(config))
        self.processes.append(start([BUILD / "switch" / "vroce-switch", "--name", "sw1", "--config", file, "--run-dir",
                                     self.directory / "run", "--cpu", processors()[0], "--poll", "busy"], self.log))


class Testpmd(Device):
    queues = 1

    def up(self):
        forwards, other = processors()
        devices = [f"--vdev=net_memif{i},role=server,socket={socket},socket-abstract=no,bsize=9216,rsize=8"
                   for i, socket in enumerate(self.sockets)]
        # Its prompt ends with its input, and it with the prompt.
        self.processes.append(start(["dpdk-testpmd", "--in-memory", "--no-pci", "--lcores", f"0@{other},1@{forwards}", "-m", 256,
                                     *devices, "--", "-i", "--auto-start", "--forward-mode=macswap", "--port-topology=paired",
                                     "--total-num-mbufs=16384", "--mbuf-size=9600"], self.log, stdin=subprocess.PIPE))


class Ovs(Device):
    queues = 2  # as its users run it

    def up(self):
        forwards, other = processors()
        run = self.directory / "ovs"
        run.mkdir()
        env = {**os.environ, "OVS_RUNDIR": str(run), "OVS_LOGDIR": str(run), "OVS_DBDIR": str(run)}
        database, remote = run / "conf.db", f"unix:{run}/db.sock"
        subprocess.run(["ovsdb-tool", "create", database, "/usr/share/openvswitch/vswitch.ovsschema"], check=True)
        self.processes.append(start(["ovsdb-server", database, f"--remote=p{remote}", f"--unixctl={run}/db.ctl"], self.log, env=env))
        await_files([run / "db.sock"], self.processes[-1], self.log)

        def vsctl(*words):
            ended = subprocess.run(["ovs-vsctl", f"--db={remote}", "--timeout=20", *map(str, words)], env=env, text=True,
                                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            if ended.returncode != 0:
                raise labtool.Failed(f"ovs-vsctl {' '.join(map(str, words))}: {ended.stdout}")

        vsctl("--no-wait", "init")
        vsctl("--no-wait", "set", "Open_vSwitch", ".", "other_config:dpdk-init=true",
              f"other_config:pmd-cpu-mask={1 << forwards:#x}", f"other_config:dpdk-lcore-mask={1 << other:#x}",
              "other_config:dpdk-socket-mem=384", "other_config:dpdk-extra=--no-pci --in-memory")
        # In a network namespace of its own, with which its persistent interfaces (br0, ovs-netdev) go.
        self.processes.append(start(["unshare", "--net", OVS_VSWITCHD, remote, f"--unixctl={run}/vswitchd.ctl"],
                                    self.directory / "vswitchd", env=env))
        vsctl("add-br", "br0", "--", "set", "bridge", "br0", "datapath_type=netdev")
        for i, socket in enumerate(self.sockets):
            vsctl("add-port", "br0", f"p{i}", "--", "set", "Interface", f"p{i}", "type=dpdk",
                  f"options:dpdk-devargs=net_memif{i},role=server,socket={socket},socket-abstract=no,bsize=9216,rsize=8",
                  f"options:n_rxq={self.queues}", "mtu_request=9000")


DEVICES = {"vroce": Vroce, "testpmd": Testpmd, "ovs": Ovs}


def closed_loop(device, frame_bytes, seconds):
    """testpmd at both ends sends back what comes: packets per second that the device forwarded, both ways together."""
    other = processors()[1]
    queues = [] if device.queues == 1 else [f"--rxq={device.queues}", f"--txq={device.queues}"]
    vdevs = [f"--vdev=net_memif{i},role=client,socket={socket},socket-abstract=no,bsize=9216,rsize=8"
             for i, socket in enumerate(device.sockets)]
    log = device.directory / f"generator-{frame_bytes}"
    process = start(["dpdk-testpmd", "--in-memory", "--no-pci", "--lcores", f"0@{other},1@{other}", "-m", 256, *vdevs, "--",
                     "--forward-mode=macswap", "--port-topology=loop", "--tx-first", f"--txpkts={frame_bytes}",
                     "--stats-period=1", "--total-num-mbufs=16384", "--mbuf-size=9600", *queues], log)
    time.sleep(SETTLING + seconds + 2)  # it takes a second to come up
    stop(process)
    rates = [int(text) for text in re.findall(r"Rx-pps:\s+(\d+)", log.read_text())]
    samples = [sum(pair) for pair in zip(rates[::2], rates[1::2])][SETTLING:]
    if len(samples) < 2 or statistics.median(samples) == 0:
        raise labtool.Failed(f"{type(device).__name__}: nothing came back:\n{log.read_text()[-2000:]}")
    return statistics.median(samples)


def open_loop(device, frame_bytes, seconds):
    """Two ports flood the third: packets per second that arrived there."""
    ended = subprocess.run([str(BUILD / "tools" / "switch_load"), "--cpu", str(processors()[1]), "--seconds", str(seconds),
                            "--bytes", str(frame_bytes), "--queues", str(device.queues),
                            "--directory", str(device.directory), *device.sockets],
                           stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                           timeout=seconds + 60)
    if ended.returncode != 0:
        raise labtool.Failed(f"{type(device).__name__}: {ended.stdout}")
    received = json.loads(ended.stdout.splitlines()[-1])["received_pps"]
    if received == 0:
        raise labtool.Failed(f"{type(device).__name__}: nothing arrived at the flooded port")
    return received


ROWS = (("closed 64", 2, closed_loop, 64, ("vroce", "testpmd", "ovs")),
        ("closed 1082", 2, closed_loop, 1082, ("vroce", "testpmd", "ovs")),
        ("open 64", 3, open_loop, 64, ("vroce", "ovs")))  # testpmd has no ports in threes


def measure(rounds, seconds, scratch):
    found = {title: {name: [] for name in names} for title, _, _, _, names in ROWS}
    for number in range(rounds):
        print(f"round {number + 1} of {rounds}", flush=True)
        for title, ports, load, frame_bytes, names in ROWS:
            for name in names:
                directory = scratch / f"{number}-{title.replace(' ', '-')}-{name}"
                with DEVICES[name](directory, ports) as device:
                    found[title][name].append(load(device, frame_bytes, seconds))
    return found


def table(found):
    middle = {title: {name: statistics.median(values) for name, values in row.items()} for title, row in found.items()}
    print(f"\n{'Mpps forwarded by one core':<28} {'vroce':>8} {'testpmd':>8} {'OVS':>8} {'of testpmd':>11} {'of OVS':>7}")
    for title, row in middle.items():
        cells = [f"{row[name] / 1e6:8.2f}" if name in row else f"{'-':>8}" for name in DEVICES]
        ratios = [f"{row['vroce'] / row[name]:{width}.2f}" if name in row else f"{'-':>{width}}"
                  for name, width in (("testpmd", 11), ("ovs", 7))]
        print(f"{title + ' B':<28} {' '.join(cells)} {' '.join(ratios)}")
    return middle


def main():
    parser = argparse.ArgumentParser(prog="bench switch", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=int, default=4, help="of each measurement (4)")
    parser.add_argument("--rounds", type=int, default=3, help="(3)")
    parser.add_argument("-o", type=pathlib.Path, default=BUILD / "bench" / "switch.json", help="the JSON file")
    arguments = parser.parse_args()
    if not (3 <= arguments.seconds <= 60 and 1 <= arguments.rounds <= 100):
        parser.error("--seconds 3 to 60 and --rounds 1 to 100 are allowed")
    scratch = pathlib.Path(tempfile.mkdtemp(prefix="vroce-bench-switch-"))
    try:
        with labtool.hugepages(HUGEPAGES):
            found = measure(arguments.rounds, arguments.seconds, scratch)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    middle = table(found)
    labtool.write_json(arguments.o, {"cpus": os.cpu_count(), "median_pps": middle, "rounds_pps": found,
                                     "bars": [{"row": row, "beside": beside, "bar": bar} for row, beside, bar in BARS]})
    missed = [f"{row} B: {middle[row]['vroce'] / middle[row][beside]:.2f} of {beside}, the bar is {bar}"
              for row, beside, bar in BARS if middle[row]["vroce"] < bar * middle[row][beside]]
    print("\n" + ("\n".join(["below its bar:", *missed]) if missed else "all bars are reached") + f"\nWritten to {arguments.o}")
    return 1 if missed else 0


labtool.run_main("bench", main)
