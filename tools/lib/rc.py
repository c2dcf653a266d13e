"""How fast RC is through NIC, switch, NIC: beside the bare copies of the same path and the kernel's TCP, in turn."""

import argparse
import json
import os
import pathlib
import statistics
import subprocess

import labtool
from labtool import BUILD, Lab, ROOT

MESSAGE_BYTES = 65536
BAR = 0.3  # of the copy floor: shows that the shape is right


def run(*command, timeout=60):
    return subprocess.run([str(word) for word in command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, timeout=timeout)


class Veth:
    """Two namespaces joined by a veth pair, with iperf3's server in one."""

    def __init__(self):
        self.names = [f"vroce-bench-{side}-{os.getpid()}" for side in "ab"]

    def __enter__(self):
        a, b = self.names
        for command in (f"netns add {a}", f"netns add {b}", f"-n {a} link add veth0 type veth peer name veth0 netns {b}",
                        f"-n {a} addr add 10.99.0.1/24 dev veth0", f"-n {b} addr add 10.99.0.2/24 dev veth0",
                        f"-n {a} link set veth0 up", f"-n {b} link set veth0 up"):
            ended = run("ip", *command.split())
            if ended.returncode != 0:
                self.__exit__()
                raise labtool.Failed(f"ip {command}: {ended.stdout.strip()}")
        self.server = subprocess.Popen(["ip", "netns", "exec", a, "iperf3", "-s"], stdout=subprocess.DEVNULL)
        labtool.await_listener(self.server, 5201)
        return self

    def __exit__(self, *_):
        if hasattr(self, "server"):
            self.server.kill()
            self.server.wait()
        for name in self.names:
            run("ip", "netns", "del", name)

    def gbps(self, seconds):
        ended = run("ip", "netns", "exec", self.names[1], "iperf3", "-c", "10.99.0.1", "-t", seconds, "-J", timeout=60)
        try:
            return json.loads(ended.stdout)["end"]["sum_received"]["bits_per_second"] / 1e9
        except (ValueError, KeyError):
            raise labtool.Failed(f"iperf3: {ended.stdout[-500:]}") from None


def floor_gbps(seconds):
    ended = run(BUILD / "tools" / "copy_floor", seconds, MESSAGE_BYTES)
    if ended.returncode != 0:
        raise labtool.Failed(f"copy_floor: {ended.stdout}")
    return json.loads(ended.stdout)["gigabits_per_second"]


def perftest(lab, *command):
    server, client = lab.pair(list(command), timeout=120)
    if server.code != 0 or not labtool.passed(client):
        raise labtool.Failed(f"{client}\n{server}")
    return client.output


def measure(lab, veth, rounds, seconds):
    """Everything once a round, so that a slow spell of the machine meets all alike."""
    found = {"floor": [], "write": [], "send": [], "read": [], "tcp": [], "write_lat": [], "send_lat": []}
    for number in range(1, rounds + 1):
        print(f"round {number} of {rounds}", flush=True)
        found["floor"].append(floor_gbps(seconds))
        for kind in ("write", "send", "read"):
            output = perftest(lab, f"ib_{kind}_bw", "-d", "vroce0", "-F", "-s", MESSAGE_BYTES, "-D", seconds + 1, "-f", 1)
            found[kind].append(labtool.bandwidth_gbps(output))
        found["tcp"].append(veth.gbps(seconds))
        for kind in ("write", "send"):
            output = perftest(lab, f"ib_{kind}_lat", "-d", "vroce0", "-F", "-s", 64, "-n", 5000)
            found[f"{kind}_lat"].append(labtool.latency_us(output)[0])
    return found


def table(found):
    middle = {key: statistics.median(values) for key, values in found.items()}
    floor, tcp = middle["floor"], middle["tcp"]
    rows = [("the copies alone (floor)", "floor"), (f"ib_write_bw -s {MESSAGE_BYTES}", "write"),
            (f"ib_send_bw -s {MESSAGE_BYTES}", "send"), (f"ib_read_bw -s {MESSAGE_BYTES}", "read"),
            ("iperf3, TCP over veth", "tcp")]
    print(f"\n{'':<28} {'Gb/s':>8} {'of floor':>9} {'of TCP':>9}   all rounds")
    for title, key in rows:
        each = " ".join(f"{value:.2f}" for value in found[key])
        print(f"{title:<28} {middle[key]:8.2f} {middle[key] / floor:9.2f} {middle[key] / tcp:9.2f}   {each}")
    print(f"\n{'':<28} {'us':>8}")
    for title, key in (("ib_write_lat -s 64, typical", "write_lat"), ("ib_send_lat -s 64, typical", "send_lat")):
        print(f"{title:<28} {middle[key]:8.1f}" + " " * 23 + " ".join(f"{value:.1f}" for value in found[key]))
    return middle


def main():
    parser = argparse.ArgumentParser(prog="bench rc", description=__doc__)
    parser.add_argument("--seconds", type=int, default=3, help="of each measurement (3)")
    parser.add_argument("--rounds", type=int, default=3, help="(3)")
    parser.add_argument("-o", type=pathlib.Path, default=BUILD / "bench" / "rc.json", help="the JSON file")
    arguments = parser.parse_args()
    if not (2 <= arguments.seconds <= 60 and 1 <= arguments.rounds <= 100):
        parser.error("--seconds 2 to 60 and --rounds 1 to 100 are allowed")
    lab = Lab(ROOT / "configs/lab/two-hosts-400g.json", f"bench-{os.getpid()}", f"/run/vroce-bench-{os.getpid()}")
    try:
        with labtool.hugepages(), Veth() as veth:
            lab.up()
            found = measure(lab, veth, arguments.rounds, arguments.seconds)
    finally:
        lab.vroce("lab", "down", "--force")
    middle = table(found)
    ratio = middle["write"] / middle["floor"]
    labtool.write_json(arguments.o, {"cpus": os.cpu_count(), "message_bytes": MESSAGE_BYTES, "median": middle,
                                     "rounds": found, "write_of_floor": ratio, "bar": BAR})
    print(f"\nib_write_bw reaches {ratio:.2f} of the floor; the bar is {BAR}. Written to {arguments.o}")
    return 0 if ratio >= BAR else 1


labtool.run_main("bench", main)
