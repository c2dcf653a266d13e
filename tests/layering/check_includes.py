#!/usr/bin/env python3
"""Holds the arrows between the folders: who may include whom, and where clocks, threads and DPDK may appear.

    check_includes.py [ROOT]     prints each breach as FILE:LINE: what, and exits 1 when there is one
    check_includes.py --self-test
"""
import re
import sys
import tempfile
from pathlib import Path

# Folder -> folders of ours that it may include. A folder stands for itself and all below it; the longest match counts.
ALLOWED = {
    "common/base": [],
    "common/counters": ["common/base"],
    "common/wire": ["common/base"],
    "common/packet": ["common/base"],
    "common/fault": ["common/base", "common/counters", "common/packet"],
    "common/egress": ["common/base", "common/counters", "common/packet", "common/fault"],
    "common/control": ["common/base"],
    "common/dcb": ["common/base"],
    "common/dpdk": ["common"],
    "pfc": ["common/base", "common/counters", "common/wire"],
    "switch/io": ["common", "pfc", "switch"],
    "switch": ["common/base", "common/counters", "common/packet", "common/egress", "common/fault", "common/wire", "pfc",
               "common/dcb", "switch/core", "switch/pipeline", "switch/l2", "switch/mmu", "switch/qos", "switch/config"],
    "nic/wire": ["common/base", "common/packet", "common/counters", "common/wire"],
    "nic/transport": ["common/base", "common/packet", "common/counters", "nic/wire"],
    "nic/memory": ["common/base", "nic/wire", "nic/transport"],
    "nic/device": ["common/base", "common/counters", "nic/wire", "nic/transport", "nic/memory", "provider/abi"],
    "nic/bridge": ["common/base", "common/counters", "common/packet", "common/wire", "nic/wire"],
    "nic/host": ["common/base", "common/counters", "nic/wire", "nic/transport", "nic/memory", "nic/device",
                 "provider/abi"],
    "nic/control": ["common", "nic"],
    "nic/io": ["common", "pfc", "nic", "provider/abi"],
    "nic": ["common", "nic"],
    "provider/abi": [],
    "provider": ["provider"],
    "tools": ["common/base", "common/control", "common/dcb", "common/fault", "common/counters", "tools"],
    "tools/bench.d": ["common"],
}
DPDK_FOLDERS = ("common/dpdk", "switch/io", "nic/io", "switch/main.cpp", "nic/main.cpp", "tools/bench.d")
# The cores: no clock, no randomness of their own, no thread, no file, no socket.
CORES = ("common/egress", "common/packet", "common/wire", "pfc", "switch/core", "switch/pipeline", "switch/l2",
         "nic/wire", "nic/transport", "nic/device", "nic/bridge")
CORE_WORDS = re.compile(r"\b(clock_gettime|steady_clock|system_clock|gettimeofday|rdtsc|random_device|mt19937|rand\(|"
                        r"std::thread|std::mutex|pthread_|::open\(|fopen|ifstream|ofstream|socket\(|printf\()")
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')
SOURCES = {".hpp", ".cpp", ".h", ".c"}


def under(path, folder):
    return path == folder or path.startswith(folder + "/")


def rule_for(path):
    matches = [folder for folder in ALLOWED if under(path, folder)]
    return max(matches, key=len) if matches else None


def check_file(root, path):
    breaches = []
    name = path.relative_to(root).as_posix()
    folder = rule_for(name)
    for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1):
        code = line.split("//")[0]
        if any(under(name, core) for core in CORES) and CORE_WORDS.search(code):
            breaches.append(f"{name}:{number}: a core reads no clock and does no I/O: {line.strip()}")
        include = INCLUDE.match(line)
        if not include:
            continue
        kind, target = include.groups()
        if target.startswith("rte_") and not any(under(name, allowed) for allowed in DPDK_FOLDERS):
            breaches.append(f"{name}:{number}: <{target}> only in {', '.join(DPDK_FOLDERS)}")
        if kind == '"' and folder is not None:
            own = name.rsplit("/", 1)[0] if folder not in ("provider", "switch", "nic", "tools") else folder
            permitted = ALLOWED[folder] + [folder, own]
            if not any(under(target, allowed) for allowed in permitted):
                breaches.append(f'{name}:{number}: "{target}" is not for {folder}; allowed: {", ".join(ALLOWED[folder])}')
    return breaches


def check_tree(root):
    breaches = []
    count = 0
    for top in ("common", "pfc", "switch", "nic", "provider", "tools"):
        for path in sorted((root / top).rglob("*")):
            if path.suffix in SOURCES:
                count += 1
                breaches += check_file(root, path)
    return count, breaches


def self_test():
    """The check must be able to fail: one planted breach of each kind, and a clean file."""
    planted = {
        "nic/wire/a.hpp": '#include "nic/transport/engine.hpp"\n',
        "switch/core/b.cpp": '#include "nic/wire/headers.hpp"\n',
        "nic/transport/c.cpp": "#include <rte_mbuf.h>\n",
        "pfc/d.cpp": "auto now = std::chrono::steady_clock::now();\n",
        "provider/abi/e.h": '#include "common/base/time.hpp"\n',
        "common/egress/good.cpp": '#include "common/packet/packet.hpp"\n#include <array>\n',
    }
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        for name, text in planted.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text)
        count, breaches = check_tree(root)
    caught = {breach.split(":")[0] for breach in breaches}
    expected = {name for name in planted if "good" not in name}
    if count != len(planted) or caught != expected:
        print(f"self-test: caught {sorted(caught)}, expected {sorted(expected)}")
        return 1
    return 0


def main():
    if sys.argv[1:] == ["--self-test"]:
        return self_test()
    root = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).resolve().parents[2])
    count, breaches = check_tree(root)
    if count == 0:
        print(f"{root}: no sources here")
        return 1
    for breach in breaches:
        print(breach)
    return 1 if breaches else 0


if __name__ == "__main__":
    sys.exit(main())
