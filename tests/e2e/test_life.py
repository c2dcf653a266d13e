"""Life and death: programs, NICs and switches end in the middle of things, and the others notice and go on."""

import os
import signal
import subprocess
import time

from conftest import eventually

import labtool


def counts(lab, host):
    return len(lab.show("qp", "on", host)[host]), len(lab.show("mr", "on", host)[host])


def run_for_ever(lab, program="ib_write_bw"):
    """A pair of programs in full swing: (server, client)."""
    command = [program, "-d", "vroce0", "-F", "-D", "60"]
    server = lab.popen("h1", *command)
    eventually("the server listens", lambda: labtool.listening(server.pid, labtool.PERFTEST_PORT), 10)
    client = lab.popen("h2", *command, "10.0.0.1")
    eventually("queue pairs on both hosts", lambda: counts(lab, "h1")[0] > 0 and counts(lab, "h2")[0] > 0, 10)
    time.sleep(0.5)
    return server, client


def test_killed_program_leaves_nothing_in_the_nic(fresh):
    fresh.up()
    server, client = run_for_ever(fresh)
    client.kill()
    eventually("h2 without queue pairs and memory regions", lambda: counts(fresh, "h2") == (0, 0), 1)
    server.kill()
    eventually("h1 without queue pairs and memory regions", lambda: counts(fresh, "h1") == (0, 0), 1)
    client.communicate()
    server.communicate()
    again = fresh.pair(["ib_send_bw", "-d", "vroce0", "-F", "-n", "100"])
    assert [ended.code for ended in again] == [0, 0], again


def test_program_ends_with_an_error_when_its_nic_dies(fresh):
    fresh.up()
    server, client = run_for_ever(fresh)
    os.kill(fresh.pid("h2"), signal.SIGKILL)
    try:
        ended = labtool.finish(client, 2)
        assert ended.code is not None, "it hangs"
        assert ended.code > 0, f"no error, or a signal: {ended}"
    finally:
        server.kill()
        server.communicate()


def test_switch_restart_is_survived_by_retransmission(fresh):
    fresh.up()
    command = ["ib_write_bw", "-d", "vroce0", "-F", "-D", "10", "-u", "18"]
    server = fresh.popen("h1", *command)
    eventually("the server listens", lambda: labtool.listening(server.pid, labtool.PERFTEST_PORT), 10)
    client = fresh.popen("h2", *command, "10.0.0.1")
    eventually("queue pairs on both hosts", lambda: counts(fresh, "h2")[0] > 0, 10)
    time.sleep(3)
    os.kill(fresh.pid("sw1"), signal.SIGKILL)
    fresh.up()
    ended = labtool.finish(client, 60)
    assert labtool.passed(ended), ended
    assert labtool.finish(server, 10).code == 0


def second(program, *words):
    return subprocess.run([labtool.BUILD / program, *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, timeout=20)


def test_second_process_of_a_name_is_refused_and_harms_nobody(fresh):
    fresh.up()
    nic = second("nic/vroce-nic", "--config", f"{fresh.run_dir}/h1/config.ini")
    switch = second("switch/vroce-switch", "--name", "sw1", "--config", f"{fresh.run_dir}/sw1/config.json", "--run-dir",
                    fresh.run_dir)
    for ended, name in ((nic, "h1"), (switch, "sw1")):
        assert ended.returncode == 1, ended
        assert name in ended.stderr and len(ended.stderr.strip().splitlines()) == 1, ended
    assert fresh.vroce("lab", "status").code == 0
    server, client = fresh.pair(["ib_send_bw", "-d", "vroce0", "-F", "-n", "100"])
    assert (server.code, client.code) == (0, 0), (server, client)
