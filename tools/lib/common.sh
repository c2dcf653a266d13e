# What tools/demo, tools/test and tools/bench do before Python takes over: packages, build. Sourced by bash.

here=$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")
root=$(readlink -f -- "$here/../..")
build=${VROCE_BUILD:-$root/build}
export VROCE_BUILD=$build

say() { printf '\n== %s\n' "$*"; }
die() {
    printf '%s: %s\n' "$(basename -- "$0")" "$*" >&2
    exit 1
}

# print_help: the comment at the head of the script.
print_help() { awk 'NR > 1 { if (!sub(/^# /, "")) exit; print }' "$0"; }

need_root() { [ "$(id -u)" = 0 ] || die "needs root: packages, hugepages, network namespaces and TAP interfaces"; }

# wanted_packages KIND…: the names in packages.txt that these kinds need.
wanted_packages() {
    awk -v kinds=" $* " '!/^#/ && NF { n = split($2, of, ",")
                                        for (i = 1; i <= n; ++i) if (index(kinds, " " of[i] " ")) { print $1; break } }
                       ' "$root/tools/packages.txt"
}

missing_packages() {
    local name
    for name in $(wanted_packages "$@"); do
        dpkg-query -W -f='${db:Status-Status}\n' "$name" 2>/dev/null | grep -qx installed || echo "$name"
    done
}

# install_packages KIND…: only what is missing, so that a second run asks nobody.
install_packages() {
    local missing
    missing=$(missing_packages "$@")
    if [ -z "$missing" ]; then
        echo "packages: all there"
        return
    fi
    echo "packages to install:" $missing
    export DEBIAN_FRONTEND=noninteractive
    apt-get update -q </dev/null || die "apt-get update failed"
    # shellcheck disable=SC2086 # one word a package
    apt-get install -y -q --no-install-recommends $missing </dev/null || die "apt-get install failed: $missing"
}

# What a lab runs; the tests have more.
programs=(tools/vroce switch/vroce-switch nic/vroce-nic provider/libvroce-rdmav34.so)

tests_configured() {
    python3 - "$build" <<'END'
import json, pathlib, sys
options = json.loads((pathlib.Path(sys.argv[1]) / "meson-info/intro-buildoptions.json").read_text())
sys.exit(not any(o["name"] == "tests" and o["value"] for o in options))
END
}

# build_vroce programs|everything [TARGET…]: release, into build/; ninja does nothing when nothing changed.
build_vroce() {
    local what=$1 tests=false
    shift
    [ "$what" = programs ] || tests=true
    if [ ! -f "$build/build.ninja" ]; then
        meson setup "$build" "$root" --buildtype=release "-Dtests=$tests" || die "meson setup failed"
    elif [ $tests = true ] && ! tests_configured; then
        meson configure "$build" -Dtests=true || die "meson configure failed"
    fi
    if [ "$what" = programs ]; then
        ninja -C "$build" "${programs[@]}" "$@" || die "build failed"
    else
        ninja -C "$build" all "$@" || die "build failed"
    fi
}
