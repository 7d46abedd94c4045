#!/usr/bin/env bash
# Installs the Debian packages that Muster needs, and only those that are missing.
#
#   tools/setup.sh [GROUP…]      groups: build test lint fuzz bench; all of them when none is named. And package (to make
#                                .deb files), page (npm) and browser (chromium), which may well have come from elsewhere
#
# ./run and ./test source this file and call need_packages and need_command. With nothing missing it costs one dpkg-query.
# MUSTER_SETUP=skip trusts that everything is there, whoever installed it.

# The one list of what Muster is built, tested and checked with (Debian 12 names).
declare -A packages=(
    [build]="cmake ninja-build ccache g++ mold pkg-config libboost1.81-dev libboost-json1.81-dev libexpected-dev
        libfmt-dev libtomlplusplus-dev libcli11-dev libsqlite3-dev libssl-dev libpq-dev
        libsystemd-dev zlib1g-dev libgrpc++-dev libprotobuf-dev protobuf-compiler protobuf-compiler-grpc"
    [test]="postgresql doctest-dev librapidcheck-dev python3 sqlite3 curl dpkg-dev strace"
    [lint]="clang-format-19 clang-tidy-19"
    [fuzz]="clang-19 lld-19 libclang-rt-19-dev llvm-19"
    [bench]="libbenchmark-dev libuv1-dev libev-dev valgrind"
    [package]="dpkg-dev file"
    [page]="npm"
    [browser]="chromium"
)
setup_groups="build test lint fuzz bench"

# need_packages GROUP…: afterwards every package of these groups is installed. Fails with what to do by hand.
need_packages() {
    [ "${MUSTER_SETUP:-}" = skip ] && return 0

    local wanted=() missing=() group
    for group in "$@"; do
        if [ -z "${packages[$group]:-}" ]; then
            echo "setup: no group '$group' (there are: $setup_groups)" >&2
            return 64
        fi
        # shellcheck disable=SC2206  # split into words on purpose
        wanted+=(${packages[$group]})
    done

    if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
        not_debian "${wanted[@]}"
        return 69
    fi

    local installed package
    installed=" $(dpkg-query --show --showformat='${db:Status-Status}:${Package} ' "${wanted[@]}" 2>/dev/null) "
    for package in "${wanted[@]}"; do
        [[ "$installed" == *" installed:$package "* ]] || missing+=("$package")
    done
    [ ${#missing[@]} -eq 0 ] || install_packages "${missing[@]}"
}

# need_command COMMAND GROUP: afterwards there is such a command, whoever installed it; Debian's package if nobody did.
need_command() {
    command -v "$1" >/dev/null || need_packages "$2"
}

install_packages() {
    local as_root=()
    if [ "$(id -u)" -ne 0 ]; then
        if ! command -v sudo >/dev/null; then
            by_hand "these packages are missing, and only root can install them" "$@"
            return 77
        fi
        as_root=(sudo)
        [ -t 0 ] || as_root+=(--non-interactive)  # nobody is there to type a password
    fi

    echo "setup: installing ${#}: $*" >&2
    local apt=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=300)
    local log
    log=$(mktemp)
    if "${apt[@]}" update </dev/null >"$log" 2>&1 &&
        "${apt[@]}" install --yes --no-remove --no-install-recommends "$@" </dev/null >>"$log" 2>&1; then
        rm -f "$log"
        return 0
    fi
    tail -n 20 "$log" >&2
    rm -f "$log"
    by_hand "the installation failed (see above)" "$@"
    return 69
}

by_hand() {
    local why=$1
    shift
    echo "setup: $why. Run this, then try again:" >&2
    echo "  sudo apt-get update && sudo apt-get install --yes --no-install-recommends $*" >&2
}

not_debian() {
    cat >&2 <<END
setup: this is not a Debian system, so nothing was installed. Muster is built and tested on Debian 12.
These Debian packages name what is needed (C++20 compiler, build tools, libraries):
$(printf '  %s\n' "$@")
Once you have them, tell the scripts so:  MUSTER_SETUP=skip ./run
END
}

# Called, not sourced.
if [ "${BASH_SOURCE[0]}" = "$0" ]; then
    set -u
    case "${1:-}" in
        -h | --help) sed -n '2,/^$/s/^# \{0,1\}//p' "$0"; exit 0 ;;
    esac
    # shellcheck disable=SC2086  # split into words on purpose
    [ $# -gt 0 ] || set -- $setup_groups
    need_packages "$@" && echo "setup: everything is there ($*)"
fi
