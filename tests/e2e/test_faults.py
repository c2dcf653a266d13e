"""A bad network on purpose: it does what it says, and RC survives it."""

import pytest

from test_perftest import VERBS_CHECK, both_passed


def set_fault(lab, port, *words):
    ended = lab.vroce("fault", "set", "dev", port, *words)
    assert ended.code == 0, ended


def test_all_packets_dropped_and_then_none(healthy):
    set_fault(healthy, "sw1/Ethernet0", "drop", "1")
    assert healthy.run("h2", "ping", "-c", "2", "-i", "0.2", "-W", "1", "10.0.0.1").code != 0
    assert healthy.vroce("fault", "clear", "dev", "sw1/Ethernet0").code == 0
    assert healthy.run("h2", "ping", "-c", "2", "-i", "0.2", "-W", "5", "10.0.0.1").code == 0


def test_bare_port_name_is_enough_where_it_is_the_only_one(healthy):
    set_fault(healthy, "Ethernet4", "delay", "2ms")
    ended = healthy.run("h1", "ping", "-c", "3", "-i", "0.2", "10.0.0.2")
    assert ended.code == 0
    assert float(ended.output.split("rtt min/avg/max/mdev = ")[1].split("/")[0]) >= 2, ended


def test_show_tells_what_is_set(healthy):
    set_fault(healthy, "h2/uplink", "drop", "0.25", "seed", "7")
    assert "0.25" in str(healthy.show("fault")["h2"])
    assert "0.25" in healthy.vroce("fault", "show").output


@pytest.mark.parametrize("words", (["drop", "0.01"], ["reorder", "0.01"], ["duplicate", "0.01"], ["corrupt", "0.01"],
                                   ["drop", "0.005", "corrupt", "0.005", "reorder", "0.005", "duplicate", "0.005"]),
                         ids=" ".join)
def test_data_arrive_whole_over_a_bad_network(healthy, words):
    set_fault(healthy, "sw1/Ethernet0", *words, "seed", "7")
    server, client = healthy.pair([VERBS_CHECK, "-d", "vroce0", "-m", "1024", "-L", "300000"], port=18600, timeout=180)
    assert server.code == 0 and client.code == 0, (server, client)


@pytest.mark.parametrize("program", ("ib_send_bw", "ib_write_bw", "ib_read_bw"))
def test_perftest_survives_one_percent_drop(healthy, program):
    set_fault(healthy, "sw1/Ethernet0", "drop", "0.01", "seed", "7")
    set_fault(healthy, "sw1/Ethernet4", "drop", "0.01", "seed", "8")
    both_passed(healthy.pair([program, "-d", "vroce0", "-F", "-n", "300"], timeout=120))
