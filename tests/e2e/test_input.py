"""Bad input: one clear line that says what, where and what is allowed; 2 for usage, 1 for failure; nothing left running."""

import json
import pathlib
import socket
import subprocess

import pytest
from conftest import LAB_FILE

import labtool


def run(program, *words):
    return subprocess.run([str(program), *map(str, words)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, timeout=30)


def one_line(ended, code, *words):
    lines = ended.stderr.strip().splitlines()
    assert ended.returncode == code, (ended.returncode, ended.stderr)
    assert len(lines) == 1, ended.stderr
    for word in words:
        assert word in lines[0], (word, lines[0])


USAGE = {
    "unknown object": (["frobnicate"], "frobnicate", "allowed: lab"),
    "unknown verb": (["lab", "sideways"], "sideways", "up, status"),
    "no verb": (["lab"], "verb is missing"),
    "no file": (["lab", "up"], "FILE is missing"),
    "unknown option": (["lab", "status", "--fast"], "--fast", "-j"),
    "word too many": (["lab", "status", "more"], "more"),
    "no command": (["lab", "exec", "h1"], "CMD"),
    "no value": (["fault", "set", "dev"], "needs a value"),
    "no dev": (["fault", "set", "drop", "0.1"], "dev PORT is missing"),
    "nothing to set": (["fault", "set", "dev", "Ethernet0"], "drop, corrupt"),
    "drop is no number": (["fault", "set", "dev", "Ethernet0", "drop", "many"], "many", "0 to 1"),
    "drop above one": (["fault", "set", "dev", "Ethernet0", "drop", "1.01"], "1.01", "0 to 1"),
    "drop below zero": (["fault", "set", "dev", "Ethernet0", "drop", "-0.1"], "-0.1"),
    "drop is nan": (["fault", "set", "dev", "Ethernet0", "drop", "nan"], "nan"),
    "delay without unit": (["fault", "set", "dev", "Ethernet0", "delay", "50"], "50us"),
    "seed negative": (["fault", "set", "dev", "Ethernet0", "seed", "-1"], "-1"),
    "direction": (["fault", "set", "dev", "Ethernet0", "direction", "up"], "tx, rx or both"),
    "twice": (["fault", "set", "dev", "a", "dev", "b"], "twice"),
    "no capture file": (["pcap", "capture"], "-w FILE is missing"),
    "count": (["pcap", "capture", "-w", "/tmp/x", "-c", "0"], "1 to"),
    "run without endpoint": (["run", "--", "true"], "--vm PATH is missing"),
}


@pytest.mark.parametrize("case", USAGE, ids=str)
def test_wrong_usage(case):
    words, *expected = USAGE[case]
    one_line(run(labtool.VROCE, *words), 2, *expected)


NOWHERE = ["--run-dir", "/run/vroce-no-such-folder"]
FAILURE = {
    "no lab": (["lab", "status", *NOWHERE], "no lab is up in /run/vroce-no-such-folder"),
    "exec without lab": (["lab", "exec", *NOWHERE, "h1", "--", "true"], "no lab is up"),
    "no process": (["show", "ports", *NOWHERE], "no vroce process"),
    "fault without process": (["fault", "set", "dev", "Ethernet0", "drop", "0.1", *NOWHERE], "no vroce process"),
    "no file": (["lab", "up", "/no/such/file.json", *NOWHERE], "/no/such/file.json"),
    "folder as file": (["lab", "up", "/tmp", *NOWHERE], "/tmp"),
    "no endpoint": (["run", "--vm", "/no/such/vm", "--", "true"], "/no/such/vm", "session.sock"),
}


@pytest.mark.parametrize("case", FAILURE, ids=str)
def test_failure(case):
    words, *expected = FAILURE[case]
    one_line(run(labtool.VROCE, *words), 1, *expected)


def edited(**changes):
    """The example lab with one thing changed: keys are dotted paths."""
    text = "\n".join(line.split("//")[0] for line in pathlib.Path(LAB_FILE).read_text().splitlines())
    lab = json.loads(text)
    for path, value in changes.items():
        where = lab
        *parents, last = path.split(".")
        for key in parents:
            where = where[key]
        if value is None:
            where.pop(last)
        else:
            where[last] = value
    return json.dumps(lab)


WRONG_LABS = {
    "not json": ("{", "not valid JSON", "line 1"),
    "not an object": ("[]", "an object"),
    "unknown key": (edited(**{"colour": "red"}), "colour", "switches, hosts"),
    "unknown key of a host": (edited(**{"hosts.h1.uplnk": 1}), "hosts.h1", "uplnk", "uplink"),
    "no uplink": (edited(**{"hosts.h1.uplink": None}), "hosts.h1", "uplink"),
    "uplink to nowhere": (edited(**{"hosts.h1.uplink": ["sw7", "Ethernet0"]}), "hosts.h1.uplink", "sw7"),
    "port taken": (edited(**{"hosts.h1.uplink": ["sw1", "Ethernet4"]}), "Ethernet4", "another host's"),
    "speed": (edited(**{"hosts.h1.speed": "fast"}), "hosts.h1.speed", "fast", "10G"),
    "speeds contradict": (edited(**{"hosts.h1.speed": "25G"}), "Ethernet0", "contradicts"),
    "mtu": (edited(**{"hosts.h1.mtu": 68}), "hosts.h1.mtu", "1280 to 9100"),
    "address": (edited(**{"hosts.h1.endpoints.vm1.address": "10.0.0.1"}), "10.0.0.1", "prefix"),
    "address twice": (edited(**{"hosts.h1.endpoints.vm1.address": "10.0.0.2/24"}), "10.0.0.2", "another endpoint's"),
    "mac": (edited(**{"hosts.h1.endpoints.vm1.mac": "02:00"}), "02:00", "MAC"),
    "vlan": (edited(**{"hosts.h1.endpoints.vm1.vlan": 5000}), "vlan", "0 to 4094"),
    "device": (edited(**{"hosts.h1.endpoints.vm1.device": "../../etc"}), "device", "../../etc"),
    "no endpoints": (edited(**{"hosts.h1.endpoints": {}}), "endpoints", "at least one"),
    "poll": (edited(**{"poll": "never"}), "never", "busy, adaptive"),
    "switch file": (edited(**{"switches.sw1.config": "no-such.json"}), "no-such.json"),
}


@pytest.mark.parametrize("case", WRONG_LABS, ids=str)
def test_wrong_lab_file(case, fresh, tmp_path):
    text, *expected = WRONG_LABS[case]
    file = tmp_path / "lab.json"
    file.write_text(text)
    before = fresh.traces()
    one_line(run(labtool.VROCE, "lab", "up", file, "--run-dir", fresh.run_dir, "name", fresh.name), 1, str(file), *expected)
    assert fresh.traces() == before


def test_switch_refusal_is_told_with_its_last_words(fresh, tmp_path):
    file = tmp_path / "lab.json"
    file.write_text(edited(**{"switches.sw1.config.VLAN": {"Vlan10": {"vlanid": "99999"}}}))
    before = fresh.traces()
    ended = run(labtool.VROCE, "lab", "up", file, "--run-dir", fresh.run_dir, "name", fresh.name)
    assert ended.returncode == 1
    assert "vroce-switch sw1 ended with exit code" in ended.stderr and "99999" in ended.stderr, ended.stderr
    assert fresh.traces() == before


PROCESS_USAGE = {
    "switch without name": ("switch/vroce-switch", ["--config", "/dev/null"], 2, "name"),
    "switch without file": ("switch/vroce-switch", ["--name", "sw1"], 2, "config"),
    "switch unknown option": ("switch/vroce-switch", ["--frobnicate"], 2, "frobnicate"),
    "switch no such file": ("switch/vroce-switch", ["--name", "sw1", "--config", "/no/such.json"], 1, "/no/such.json"),
    "nic no such file": ("nic/vroce-nic", ["--config", "/no/such.ini"], 1, "/no/such.ini"),
    "nic unknown option": ("nic/vroce-nic", ["--frobnicate"], 2, "frobnicate"),
}


@pytest.mark.parametrize("case", PROCESS_USAGE, ids=str)
def test_wrong_usage_of_the_processes(case, tmp_path):
    program, words, code, *expected = PROCESS_USAGE[case]
    one_line(run(labtool.BUILD / program, *words, "--run-dir", tmp_path / "run"), code, *expected)


HOSTILE = {
    "empty object": b"{}",
    "not json": b"\xff\xfe{",
    "truncated": b'{"command": "sta',
    "a list": b"[]",
    "wrong type": b'{"command": 7}',
    "unknown command": b'{"command": "frobnicate", "args": {}}',
    "wrong arguments": b'{"command": "fault.set", "args": {"dev": "uplink", "drop": 7}}',
    "unknown port": b'{"command": "fault.set", "args": {"dev": "nowhere", "drop": 0.1}}',
    "deep": b'{"command": "status", "args": ' + b"[" * 30000 + b"]" * 30000 + b"}",
    "nothing": b"",
}


@pytest.mark.parametrize("case", HOSTILE, ids=str)
@pytest.mark.parametrize("process", ("sw1", "h1"))
def test_hostile_control_message(healthy, process, case):
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as peer:
        peer.settimeout(5)
        peer.connect(f"{healthy.run_dir}/{process}/control.sock")
        peer.send(HOSTILE[case])
        if HOSTILE[case]:
            answer = json.loads(peer.recv(1 << 20))
            assert answer["ok"] is False or case == "deep", answer
            assert answer["ok"] or (answer["error"] and "\n" not in answer["error"])
    assert healthy.vroce("lab", "status").code == 0


@pytest.mark.parametrize("port", ("Ethernet9", "sw1/nowhere", "uplink"))
def test_fault_on_a_port_that_is_not_there_or_not_one(healthy, port):
    ended = run(labtool.VROCE, "fault", "set", "--run-dir", healthy.run_dir, "dev", port, "drop", "0.1")
    one_line(ended, 1, port, "sw1/Ethernet0")


def test_capture_into_a_folder_that_is_not_there(healthy):
    ended = run(labtool.VROCE, "pcap", "capture", "--run-dir", healthy.run_dir, "-w", "/no/such/folder/x.pcap")
    one_line(ended, 1, "/no/such/folder/x.pcap")


def test_device_that_is_not_there(healthy):
    ended = healthy.run("h1", "ib_send_bw", "-d", "vroce7")
    assert ended.code != 0 and "vroce7" in ended.output


NOBODY = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"]


@pytest.fixture
def reachable():
    if subprocess.run([*NOBODY, "test", "-x", str(labtool.VROCE)]).returncode != 0:
        pytest.skip(f"user nobody may not reach {labtool.VROCE}")


@pytest.mark.parametrize("words", (["lab", "up", LAB_FILE], ["lab", "down"]), ids=lambda words: " ".join(words[:2]))
def test_users_without_root_are_told(reachable, words):
    one_line(run(*NOBODY, labtool.VROCE, *words, "--run-dir", "/run/vroce-nobody"), 1, "needs root")


def test_users_may_not_change_what_root_runs(reachable, healthy):
    words = ["fault", "set", "--run-dir", healthy.run_dir, "dev", "sw1/Ethernet0", "drop", "1"]
    one_line(run(*NOBODY, labtool.VROCE, *words), 1, "Permission denied")
    one_line(run(*NOBODY, labtool.VROCE, "show", "ports", "on", "sw1", "--run-dir", healthy.run_dir), 1, "Permission denied")
