"""A capture of the lab's traffic is what an independent dissector says it should be."""

import shutil
import signal
import subprocess
import time

import pytest

import labtool

needs_tshark = pytest.mark.skipif(shutil.which("tshark") is None, reason="tshark is not installed")


def tshark(file, *options):
    return subprocess.run(["tshark", "-r", str(file), *options], text=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                          timeout=120).stdout


def capture_while(lab, file, action, *words):
    capturing = subprocess.Popen([str(labtool.VROCE), "pcap", "capture", "--run-dir", lab.run_dir, "-w", str(file), *words],
                                 stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert "capturing on" in capturing.stdout.readline()
    try:
        action()
        time.sleep(0.3)
    finally:
        capturing.send_signal(signal.SIGINT)
        output, _ = capturing.communicate(timeout=20)
    assert capturing.returncode == 0, output
    return output


@needs_tshark
@pytest.mark.parametrize("dev", ("sw1/Ethernet0", "h1/uplink"))
def test_capture_is_dissected_as_roce(healthy, tmp_path, dev):
    file = tmp_path / "lab.pcap"

    def traffic():
        for program in ("ib_send_bw", "ib_write_bw", "ib_read_bw"):
            server, client = healthy.pair([program, "-d", "vroce0", "-F", "-n", "20", "-s", "10000"])
            assert client.code == 0, (server, client)
        healthy.run("h2", "ping", "-c", "2", "-i", "0.2", "10.0.0.1")

    capture_while(healthy, file, traffic, "dev", dev)
    assert tshark(file, "-Y", "_ws.malformed") == ""
    opcodes = set(tshark(file, "-Y", "infiniband", "-T", "fields", "-e", "infiniband.bth.opcode").split())
    # SEND, WRITE and READ of several packets, READ responses and acknowledgements (IBTA table 38).
    assert {"0", "1", "2", "6", "7", "8", "12", "13", "15", "17"} <= opcodes, opcodes
    assert tshark(file, "-Y", "icmp") != ""
    assert tshark(file, "-Y", "tcp.port == 18515") != ""


def test_capture_ends_after_a_number_of_packets(healthy, tmp_path):
    file = tmp_path / "five.pcap"
    capturing = subprocess.Popen([str(labtool.VROCE), "pcap", "capture", "--run-dir", healthy.run_dir, "-w", str(file), "-c", "5"],
                                 stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert "capturing on" in capturing.stdout.readline()
    healthy.run("h2", "ping", "-c", "5", "-i", "0.2", "10.0.0.1")
    output, _ = capturing.communicate(timeout=20)
    assert capturing.returncode == 0 and file.stat().st_size > 24 + 5 * (16 + 42), output
