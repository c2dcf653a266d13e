"""Labs come up, come up again, and go without a trace, also after a crash."""

import json
import os
import signal
import subprocess
import time

import pytest
from conftest import LAB_FILE, eventually

import labtool

PROCESSES = ("sw1", "h1", "h2")


def test_up_status_down(fresh):
    before = fresh.traces()
    assert "is up" in fresh.up().output
    status = fresh.status()
    assert [p["name"] for p in status["processes"]] == list(PROCESSES)
    assert all(p["state"] == "running" for p in status["processes"])
    assert all(port["link_up"] for p in status["processes"] for port in p["ports"])
    assert [e["address"] for e in status["endpoints"]] == [["10.0.0.1/24"], ["10.0.0.2/24"]]
    fresh.down(force=False)
    assert fresh.traces() == before


def test_up_twice_says_so(fresh):
    fresh.up()
    pids = [p["pid"] for p in fresh.status()["processes"]]
    assert "is up already" in fresh.up().output
    assert [p["pid"] for p in fresh.status()["processes"]] == pids


def test_down_twice_is_fine(fresh):
    fresh.up()
    fresh.down()
    assert "no lab is up" in fresh.down().output


def test_other_lab_in_the_same_place_is_refused(fresh, tmp_path):
    fresh.up()
    other = tmp_path / "other.json"
    other.write_text(json.dumps({"name": fresh.name, "switches": {"sw9": {}}, "hosts": {}}))
    ended = fresh.vroce("lab", "up", other)
    assert ended.code == 1
    assert "another content" in ended.output
    assert fresh.status()["processes"][0]["state"] == "running"


@pytest.mark.parametrize("victim", PROCESSES)
def test_down_after_a_killed_process(fresh, victim):
    before = fresh.traces()
    fresh.up()
    os.kill(fresh.pid(victim), signal.SIGKILL)
    fresh.down(force=False)
    assert fresh.traces() == before


@pytest.mark.parametrize("victim", PROCESSES)
def test_killed_process_is_started_again(fresh, victim):
    fresh.up()
    others = {p["name"]: p["pid"] for p in fresh.status()["processes"] if p["name"] != victim}
    os.kill(fresh.pid(victim), signal.SIGKILL)
    eventually(f"{victim} dead", lambda: fresh.vroce("lab", "status").code == 1, 2)
    fresh.up()
    status = {p["name"]: p for p in fresh.status()["processes"]}
    assert all(status[name]["pid"] == pid for name, pid in others.items())
    assert fresh.run("h1", "ping", "-c", "1", "-W", "5", "10.0.0.2").code == 0
    server, client = fresh.pair(["ib_send_bw", "-d", "vroce0", "-n", "100"])
    assert (server.code, client.code) == (0, 0), (server, client)


def test_down_after_everything_was_killed_while_coming_up(fresh):
    before = fresh.traces()
    coming = subprocess.Popen([str(w) for w in up_command(fresh)], stdout=subprocess.PIPE, text=True)
    assert "starting" in coming.stdout.readline()
    coming.kill()
    coming.wait()
    fresh.down(force=False)
    assert fresh.traces() == before


def test_interrupt_while_coming_up_leaves_nothing(fresh):
    before = fresh.traces()
    coming = subprocess.Popen([str(w) for w in up_command(fresh)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True)
    coming.stdout.readline()
    coming.send_signal(signal.SIGINT)
    coming.communicate(timeout=30)
    if coming.returncode == 0:  # it was up before the signal
        fresh.down()
    assert fresh.traces() == before


def test_lab_without_hugepages(fresh, tmp_path):
    file = tmp_path / "no-huge.json"
    file.write_text(LAB_FILE.read_text().replace('"hugepages": "auto"', '"hugepages": "off"'))
    fresh.file = str(file)
    assert "hugepages: off" in fresh.up().output
    for process in fresh.status()["processes"]:
        assert "--no-huge" in open(f"/proc/{process['pid']}/cmdline").read() or process["kind"] == "nic"
    server, client = fresh.pingpong("-n", "200")
    assert (server.code, client.code) == (0, 0), (server, client)


def up_command(lab):
    return [labtool.VROCE, "lab", "up", "--run-dir", lab.run_dir, lab.file, "name", lab.name]


def test_down_spares_running_commands_unless_forced(fresh):
    fresh.up()
    guest = fresh.popen("h1", "sleep", "1000")
    eventually("sleep runs", lambda: b"sleep" in open(f"/proc/{guest.pid}/cmdline", "rb").read()[:5], 5)
    refused = fresh.vroce("lab", "down")
    assert refused.code == 1 and "sleep 1000" in refused.output
    assert guest.poll() is None
    fresh.down(force=True)
    assert guest.wait(timeout=5) != 0


def test_hosts_reach_each_other_through_the_switch(healthy):
    before = healthy.counter("sw1")
    for host, other in (("h1", "10.0.0.2"), ("h2", "10.0.0.1")):
        ended = healthy.run(host, "ping", "-c", "3", "-i", "0.1", "-W", "5", other)
        assert ended.code == 0 and " 0% packet loss" in ended.output, ended
    assert healthy.counter("sw1") != before


def test_exec_passes_exit_code_and_input(healthy):
    assert healthy.run("h1", "sh", "-c", "exit 42").code == 42
    reading = healthy.popen("h1", "cat", stdin=subprocess.PIPE)
    output, _ = reading.communicate("through\n", timeout=10)
    assert output == "through\n"


def test_exec_shows_the_host_and_nothing_of_it_outside(healthy):
    links = healthy.run("h1", "ls", "/sys/class/net").output.split()
    assert "eth0" in links and "lo" in links
    assert healthy.run("h1", "ls", "/sys/class/infiniband").output.split() == ["vroce0"]
    nodes = healthy.run("h1", "ls", "/dev/infiniband").output.split()
    assert "rdma_cm" in nodes and "uverbs0" in nodes
    assert not os.path.exists("/sys/class/infiniband/vroce0")
    assert not os.path.exists("/dev/infiniband/uverbs0")
    assert not os.path.exists("/etc/libibverbs.d/vroce.driver")


def test_devices_of_stock_libibverbs(healthy):
    listed = healthy.run("h1", "ibv_devices")
    assert listed.code == 0 and "vroce0" in listed.output, listed
    told = healthy.run("h1", "ibv_devinfo", "-v")
    assert told.code == 0, told
    for words in ("PORT_ACTIVE", "Ethernet", "RoCE v2", "::ffff:10.0.0.1", "max_qp:"):
        assert words in told.output, (words, told)
    environment = healthy.run("h1", "env").output
    assert "LD_PRELOAD" not in environment


def test_idle_lab_costs_little(fresh):
    """Under 5 % of one core in all, by the kernel's own count, over ten seconds."""
    fresh.up()
    pids = [p["pid"] for p in fresh.status()["processes"]]
    time.sleep(2)  # gratuitous ARP and neighbour discovery of the start
    begin, before = time.monotonic(), sum(map(cpu_seconds, pids))
    time.sleep(10)
    share = (sum(map(cpu_seconds, pids)) - before) / (time.monotonic() - begin)
    assert share < 0.05, f"{share:.1%} of a core"


def cpu_seconds(pid):
    fields = open(f"/proc/{pid}/stat").read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
