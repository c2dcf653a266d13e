"""RoCE through a port that is too slow for its senders, beside iperf3: once with PFC, once without.

h1 writes to h3 with perftest in the class that PFC protects, h2 fills the same port with iperf3 in a lossy class. Exits 0
only if the first run lost nothing that PFC protects and the second one, the control, did; 3 if no run of the first kind
counts, because time and again a ring between two processes was full and held back what PFC should have held back.
"""

import argparse
import json
import os
import pathlib
import sys

import labtool
from labtool import BUILD, Lab, ROOT

HUGEPAGES = 1600
LOSSLESS_TOS = 104  # DSCP 26, class 3 of the preset
LOSSLESS = "3"
LOSSY_DSCP = 0  # class 0
SENDERS = ("Ethernet0", "Ethernet4")
RECEIVER = "Ethernet8"
SENDING, RECEIVING = ("h1", "h2"), "h3"
HOSTS = (*SENDING, RECEIVING)
ADDRESS = "10.0.0.3"
IPERF3_PORT = 5201
VOID = 3  # exit code
ATTEMPTS = 6  # of a run that does not count


def run_traffic(lab, seconds):
    """What perftest and iperf3 printed, side by side on one port."""
    sink = lab.popen(RECEIVING, "iperf3", "-s", "-1")
    filler = None
    try:
        if not labtool.await_listener(sink, IPERF3_PORT):
            raise labtool.Failed("iperf3 -s does not listen on h3")
        filler = lab.popen("h2", "iperf3", "-c", ADDRESS, "--dscp", LOSSY_DSCP, "-t", seconds + 2, "-J")
        server, client = lab.pair(["ib_write_bw", "-d", "vroce0", "-F", "-s", 65536, "-D", seconds, "--tclass", LOSSLESS_TOS],
                                  server=RECEIVING, client="h1", address=ADDRESS, timeout=seconds + 30)
        filled = labtool.finish(filler, seconds + 30)
    finally:
        for process in (filler, sink):
            if process is not None and process.poll() is None:
                process.kill()
                process.communicate()
    if server.code != 0 or not labtool.passed(client):
        raise labtool.Failed(f"{client}\n{server}")
    try:
        end = json.loads(filled.output)["end"]
        return {"perftest_gbps": labtool.bandwidth_gbps(client.output),
                "iperf3_gbps": end["sum_received"]["bits_per_second"] / 1e9,
                "iperf3_retransmits": end["sum_sent"]["retransmits"]}
    except (ValueError, KeyError):
        raise labtool.Failed(f"iperf3: {filled.output[-500:]}") from None


def dropped(port, priority):
    """By the port's priority group and by its queue of that number."""
    return sum(sum(port[of][priority]["drop"].values()) for of in ("priority_group", "queue"))


def read_counters(lab):
    """The counters of the run: the lab is new, so all of them are its own."""
    ports = lab.show("counters", "on", "sw1")["sw1"]["ports"]
    nics = {host: lab.show("counters", "on", host)[host] for host in HOSTS}
    senders = [ports[name] for name in SENDERS]
    groups = [port["priority_group"][LOSSLESS] for port in senders]
    pauses = [port["pause"]["priority"][LOSSLESS] for port in senders]

    def engines(counter):
        return sum(nic["engine"][counter] for nic in nics.values())

    return {
        "xoff": sum(pause["tx_xoff"] for pause in pauses),
        "paused_ns": sum(pause["tx_paused_ns"] for pause in pauses),
        "headroom_bytes_max": max(group["headroom_bytes_max"] for group in groups),
        "headroom_size_bytes": min(group["headroom_size_bytes"] for group in groups),
        "rx_hold_ns": sum(port["rx"]["rx_hold_ns"] for port in senders),
        "tx_ring_full": ports[RECEIVER]["tx"]["tx_ring_full"]
        + sum(nics[host]["ports"]["uplink"]["tx_ring_full"] for host in SENDING),
        "sequence_gaps": engines("rx_sequence_gaps"),
        "sequence_naks": engines("rx_nak_sequence"),
        "ack_timeouts": engines("ack_timeouts"),
        "lossless_drops": sum(dropped(port, LOSSLESS) for port in ports.values()),
        "lossy_drops": sum(dropped(port, str(other)) for port in ports.values() for other in range(8) if str(other) != LOSSLESS),
    }


def run_once(lab, pfc, seconds):
    print(f"run: PFC {'on' if pfc else 'off'}", flush=True)
    try:
        lab.up()
        if not pfc:
            for port in (*(f"sw1/{name}" for name in (*SENDERS, RECEIVER)), *(f"{host}/uplink" for host in HOSTS)):
                lab.vroce("dcb", "pfc", "set", "dev", port, "prio-pfc", "all:off", check=True)
        traffic = run_traffic(lab, seconds)
        return {**traffic, **read_counters(lab)}
    finally:
        lab.vroce("lab", "down", "--force")


def what_voids(run):
    """The rings between the processes, if they did what PFC should have done; they hold back, but they are no network."""
    return [f"{name} {run[name]}" for name in ("rx_hold_ns", "tx_ring_full") if run[name] != 0]


def run_that_counts(lab, seconds):
    """With PFC; None when the machine has no time for a run without full rings."""
    for _ in range(ATTEMPTS):
        run = run_once(lab, True, seconds)
        void = what_voids(run)
        if not void:
            return run
        print(f"void, not counted: {', '.join(void)}", flush=True)
    return None


ROWS = (  # title, key, unit's divisor, format
    ("ib_write_bw h1 to h3, class 3, Gb/s", "perftest_gbps", 1, ".3f"),
    ("iperf3 h2 to h3, class 0, Gb/s", "iperf3_gbps", 1, ".3f"),
    ("pauses begun by the switch (XOFF)", "xoff", 1, "d"),
    ("time paused by the switch, ms", "paused_ns", 1e6, ".1f"),
    ("headroom watermark, bytes", "headroom_bytes_max", 1, "d"),
    ("headroom of a priority group, bytes", "headroom_size_bytes", 1, "d"),
    ("rx_hold_ns of the senders' ports", "rx_hold_ns", 1, "d"),
    ("tx_ring_full on the way to the receiver", "tx_ring_full", 1, "d"),
    ("drops of class 3 in the switch", "lossless_drops", 1, "d"),
    ("sequence errors at the receiver", "sequence_gaps", 1, "d"),
    ("NAKs for sequence errors, at the sender", "sequence_naks", 1, "d"),
    ("ACK timeouts", "ack_timeouts", 1, "d"),
    ("drops of the other classes", "lossy_drops", 1, "d"),
    ("iperf3's retransmits", "iperf3_retransmits", 1, "d"),
)


def table(with_pfc, without):
    print(f"\n{'':<42} {'PFC on':>12} {'PFC off':>12}")
    for title, key, unit, style in ROWS:
        print(f"{title:<42}" + "".join(f" {run[key] / unit if unit != 1 else run[key]:>12{style}}" for run in (with_pfc, without)))


def verdicts(with_pfc, without):
    """What is wrong with the pair of runs, one line each."""
    wrong = []
    for name in ("lossless_drops", "sequence_gaps", "sequence_naks"):
        if with_pfc[name] != 0:
            wrong.append(f"with PFC {name} is {with_pfc[name]}; allowed: 0")
    for name in ("xoff", "headroom_bytes_max", "iperf3_retransmits"):
        if with_pfc[name] == 0:
            wrong.append(f"with PFC {name} is 0: the port was not congested")
    if without["xoff"] != 0:
        wrong.append(f"without PFC there were {without['xoff']} XOFF")
    for name in ("lossless_drops", "sequence_gaps"):
        if without[name] == 0:
            wrong.append(f"the control run shows no loss: without PFC {name} is 0")
    return wrong


def main():
    parser = argparse.ArgumentParser(prog="bench lossless", description=__doc__)
    parser.add_argument("--seconds", type=int, default=5, help="of each of the two runs (5)")
    parser.add_argument("-o", type=pathlib.Path, default=BUILD / "bench" / "lossless.json", help="the JSON file")
    arguments = parser.parse_args()
    if not 1 <= arguments.seconds <= 600:
        parser.error("--seconds 1 to 600 is allowed")
    name = f"bench-{os.getpid()}"
    lab = Lab(ROOT / "configs/lab/lossless.json", name, f"/run/vroce-{name}")
    with labtool.hugepages(HUGEPAGES):
        with_pfc = run_that_counts(lab, arguments.seconds)
        without = run_once(lab, False, arguments.seconds) if with_pfc else None
    if not with_pfc:
        print(f"bench: all of {ATTEMPTS} runs are void: this machine is too busy or has too few CPUs", file=sys.stderr)
        return VOID
    table(with_pfc, without)
    wrong = verdicts(with_pfc, without)
    labtool.write_json(arguments.o, {"seconds": arguments.seconds, "pfc_on": with_pfc, "pfc_off": without, "wrong": wrong})
    print()
    for line in wrong:
        print(f"bench: {line}")
    print(f"{'failed' if wrong else 'lossless with PFC, and not without'}. Written to {arguments.o}")
    return 1 if wrong else 0


labtool.run_main("bench", main)
