"""`vroce run`: the device without the host, for root and for anybody."""

import os
import subprocess

import pytest

import labtool

NOBODY = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"]


def user_namespaces():
    return subprocess.run([*NOBODY, "unshare", "-Urm", "true"], stderr=subprocess.DEVNULL).returncode == 0


def vroce_run(lab, *command, before=()):
    return subprocess.run([*before, str(labtool.VROCE), "run", "--vm", f"{lab.run_dir}/h1/vm1", "--", *map(str, command)],
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=60)


def test_run_shows_the_device(healthy):
    ended = vroce_run(healthy, "ibv_devinfo")
    assert ended.returncode == 0 and "vroce0" in ended.stdout and "PORT_ACTIVE" in ended.stdout, ended.stdout


def test_run_keeps_the_network_and_passes_the_exit_code(healthy):
    ours = os.readlink("/proc/self/ns/net")
    assert vroce_run(healthy, "readlink", "/proc/self/ns/net").stdout.strip() == ours
    assert vroce_run(healthy, "sh", "-c", "exit 7").returncode == 7
    assert vroce_run(healthy, "no-such-program").returncode == 127


def test_a_program_that_may_open_too_few_files_is_told_so(healthy):
    told = 0
    for limit in range(6, 16):
        ended = vroce_run(healthy, "sh", "-c", f"ulimit -n {limit}; ibv_devinfo")
        if ended.returncode != 0:
            assert ended.stdout.startswith("vroce: vroce0: no descriptor is free"), (limit, ended.stdout)
            assert "ulimit -n" in ended.stdout.splitlines()[0]
            told += 1
    assert 0 < told < 10


@pytest.mark.skipif(os.geteuid() == 0 and not user_namespaces(), reason="the kernel refuses user namespaces to users")
def test_run_without_privilege(healthy):
    # The build tree may lie where nobody may look; the endpoint's folder may not.
    reachable = subprocess.run([*NOBODY, "test", "-x", str(labtool.VROCE)]).returncode == 0
    if not reachable:
        pytest.skip(f"user nobody may not reach {labtool.VROCE}")
    ended = vroce_run(healthy, "ibv_devinfo", before=NOBODY)
    assert ended.returncode == 0 and "PORT_ACTIVE" in ended.stdout, ended.stdout
    who = vroce_run(healthy, "id", "-u", before=NOBODY)
    assert who.stdout.strip() == "65534"
