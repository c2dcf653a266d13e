"""perftest's matrix over the lab: every row must end well and print its results; then the same over 1 % loss."""

import argparse
import os
import pathlib
import shlex
import time

import labtool
from labtool import BUILD, Lab, ROOT

PROGRAMS = ("ib_send_bw", "ib_write_bw", "ib_read_bw")
MTUS = (256, 512, 1024, 2048, 4096)
QUEUE_PAIRS = (1, 16, 128)
ODD_SIZES = (1025, 2049, 4097, 65537)
ALL_SIZES = 23  # -a: 2 bytes to 8 MiB
ROW_LIMIT_S = 600
LONG_FORM = 1000  # iterations from which on the matrix is run whole
FEWEST = 10  # iterations of a row; perftest wants a few to measure anything


def sizes_of(n):
    """Every size in the long form; in the short one a size that fills many packets, so that all rows fit into a test."""
    return (["-a"], ALL_SIZES) if n >= LONG_FORM else (["-s", 65536], 1)


def rows_of(program, n):
    """(options, result lines expected)."""
    sizes, lines = sizes_of(n)
    if n < LONG_FORM:
        yield ["-a", "-n", FEWEST], ALL_SIZES
    for mtu in MTUS:
        yield [*sizes, "-m", mtu, "-n", max(FEWEST, n * mtu // 4096)], lines
    for count in QUEUE_PAIRS:
        yield [*sizes, "-q", count, "-n", max(FEWEST, n // count)], lines
    yield [*sizes, "-b", "-n", n], lines
    if program != "ib_write_bw":  # a WRITE tells nobody, so perftest has no events for it
        yield [*sizes, "-e", "-n", n], lines
    yield ["-D", 5 if n >= LONG_FORM else 2], 1
    yield ["-s", 64, "-n", n * 1000], 1
    for size in ODD_SIZES:
        yield ["-s", size, "-n", n], 1


def lossy_rows_of(program, n):
    sizes, lines = sizes_of(n)
    yield [*sizes, "-n", max(FEWEST, n // 10)], lines
    yield [*sizes, "-m", 1024, "-n", max(FEWEST, n // 20)], lines
    yield [*sizes, "-q", 16, "-n", FEWEST], lines
    yield [*sizes, "-b", "-n", max(FEWEST, n // 20)], lines
    if program != "ib_write_bw":
        yield ["-s", 4096, "-e", "-n", n], 1
    yield ["-D", 5 if n >= LONG_FORM else 2], 1
    yield ["-s", 64, "-n", n * 10], 1
    for size in ODD_SIZES:
        yield ["-s", size, "-n", n], 1


def run_row(lab, program, options, lines):
    command = [program, "-d", "vroce0", "-F", *map(str, options)]
    begin = time.monotonic()
    server, client = lab.pair(command, timeout=ROW_LIMIT_S)
    ok = server.code == 0 and labtool.passed(client, lines)
    rate = labtool.bandwidth_gbps(client.output) if ok else None
    return {"command": shlex.join(command), "passed": ok, "gbps": rate, "seconds": round(time.monotonic() - begin, 2),
            **({} if ok else {"server": repr(server), "client": repr(client)})}


def run_matrix(lab, title, rows_for, n):
    print(f"\n== {title}", flush=True)
    results = []
    for program in PROGRAMS:
        for options, lines in rows_for(program, n):
            row = {"network": title, **run_row(lab, program, options, lines)}
            results.append(row)
            measured = f"{row['gbps']:8.3f} Gb/s" if row["passed"] else "  FAILED     "
            print(f"{measured} {row['seconds']:7.1f} s  {row['command']}", flush=True)
            if not row["passed"]:
                print(row["client"] + "\n" + row["server"], flush=True)
    return results


def set_loss(lab):
    for seed, port in enumerate(("sw1/Ethernet0", "sw1/Ethernet4"), 7):
        lab.vroce("fault", "set", "dev", port, "drop", "0.01", "seed", seed, check=True)


def main():
    parser = argparse.ArgumentParser(prog="bench conformance", description=__doc__)
    parser.add_argument("-n", type=int, default=1000, help="iterations of a row (1000; the tests use 100)")
    parser.add_argument("-o", type=pathlib.Path, default=BUILD / "bench" / "conformance.json", help="the JSON file")
    arguments = parser.parse_args()
    if not FEWEST <= arguments.n <= 1_000_000:
        parser.error(f"-n {arguments.n}: {FEWEST} to 1000000 is allowed")
    lab = Lab(ROOT / "configs/lab/two-hosts.json", f"bench-{os.getpid()}", f"/run/vroce-bench-{os.getpid()}")
    try:
        with labtool.hugepages():
            lab.up()
            results = run_matrix(lab, "a good network", rows_of, arguments.n)
            set_loss(lab)
            results += run_matrix(lab, "1 % of the packets dropped", lossy_rows_of, arguments.n)
    finally:
        lab.vroce("lab", "down", "--force")
    labtool.write_json(arguments.o, results)
    bad = sum(not row["passed"] for row in results)
    print(f"\n{len(results) - bad} rows passed, {bad} failed; written to {arguments.o}")
    return 1 if bad else 0


labtool.run_main("bench", main)
