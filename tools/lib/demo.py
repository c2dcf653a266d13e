"""The demo after the build: a lab, Debian's own programs over it, their tables and one summary."""

import os
import re
import shlex
import signal
import time

import labtool
from labtool import Lab, ROOT

BANDWIDTH = ["ib_send_bw", "ib_write_bw", "ib_read_bw"]
LATENCY = ["ib_send_lat", "ib_write_lat"]


def say(text):
    print(f"\n== {text}", flush=True)


def show(ended):
    """What the program printed, but for perftest's lines that only repeat the command."""
    print(ended.output.rstrip(), flush=True)


def run_perftest(lab, program, measure):
    command = [program, "-d", "vroce0", "-F"]
    say(f"h1: {shlex.join(command)}    h2: {shlex.join(command)} 10.0.0.1")
    server, client = lab.pair(command)
    show(client)
    ok = labtool.passed(client) and server.code == 0
    if not ok:
        print(f"the server's side: {server}", flush=True)
    return ok, measure(client.output) if ok else "-"


def bandwidth(output):
    return f"{labtool.bandwidth_gbps(output):.2f} Gb/s at 64 KiB"


def latency(output):
    typical, high = labtool.latency_us(output)
    return f"{typical:.1f} us typical, {high:.1f} us 99 %"


def run_pingpong(lab):
    say("ibv_rc_pingpong -c: every byte is checked")
    server, client = lab.pingpong("-n", "1000")
    show(client)
    if server.code != 0:
        print(f"the server's side: {server}", flush=True)
    ok = server.code == 0 and client.code == 0 and "invalid data" not in server.output + client.output
    half = labtool.pingpong_us(client.output)
    return ok, f"{half:.1f} us a round trip of 4 KiB, data as sent" if ok and half else "-"


def run_all(lab):
    results = []
    for program in BANDWIDTH:
        results.append((program, *run_perftest(lab, program, bandwidth)))
    for program in LATENCY:
        results.append((program, *run_perftest(lab, program, latency)))
    results.append(("ibv_rc_pingpong -c", *run_pingpong(lab)))
    return results


def summary(results):
    say("summary")
    print(f"{'program':<20} {'result':<8} measured")
    for program, ok, measured in results:
        print(f"{program:<20} {'passed' if ok else 'FAILED':<8} {measured}")


def use_lab(lab):
    """Up, all programs, down; the results."""
    try:
        say("lab: one switch, two hosts, three processes")
        lab.vroce("lab", "down", "--force")  # of a demo that was killed
        print(lab.up().output.rstrip())
        say("h2: ping h1, through the same ports and the same switch")
        ping = lab.run("h2", "ping", "-c", "3", "-i", "0.2", "10.0.0.1")
        show(ping)
        return [("ping", ping.code == 0, ping_time(ping.output)), *run_all(lab)]
    finally:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # an impatient second Ctrl-C must not leave things behind
        say("lab down")
        print(lab.vroce("lab", "down", "--force").output.rstrip(), flush=True)


def main():
    lab = Lab(ROOT / "configs/lab/two-hosts.json", "demo", os.environ.get("VROCE_RUN_DIR", "/run/vroce-demo"))
    begin = time.monotonic()
    say("hugepages")
    with labtool.hugepages():
        results = use_lab(lab)
    summary(results)
    print(f"\n{sum(ok for _, ok, _ in results)} of {len(results)} passed in {time.monotonic() - begin:.0f} s")
    return 0 if all(ok for _, ok, _ in results) else 1


def ping_time(output):
    found = re.search(r"= [\d.]+/([\d.]+)/", output)
    return f"{float(found.group(1)) * 1000:.0f} us a round trip" if found else "-"


labtool.run_main("demo", main)
