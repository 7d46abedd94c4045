#!/usr/bin/env bash
# Prints where a promtool is: the installed one, or one taken out of Debian's package into FOLDER. The package itself is
# not installed, because that would start a Prometheus on whoever's machine runs the tests.
#
#   packaging/prometheus/promtool.sh FOLDER      exit 77 when there is none to be had
set -u
folder=${1:?give a folder that may keep it}

if command -v promtool; then exit 0; fi
if [ -x "$folder/promtool" ]; then
    echo "$folder/promtool"
    exit 0
fi
if [ "${MUSTER_SETUP:-}" = skip ] || ! command -v apt-get >/dev/null || ! command -v dpkg-deb >/dev/null; then
    echo "promtool.sh: no promtool here, and nothing may be fetched" >&2
    exit 77
fi

fresh=$(mktemp -d) || exit 1
trap 'rm -rf "$fresh"' EXIT
# apt checks what it downloads against the distribution's signature.
if ! (cd "$fresh" && apt-get -qq download prometheus) >"$fresh/log" 2>&1 ||
    ! dpkg-deb --fsys-tarfile "$fresh"/prometheus_*.deb | tar -x -C "$fresh" ./usr/bin/promtool; then
    tail -n 3 "$fresh/log" >&2
    echo "promtool.sh: Debian's package prometheus could not be fetched" >&2
    exit 77
fi
mkdir -p "$folder" && mv "$fresh/usr/bin/promtool" "$folder/promtool.$$" && mv "$folder/promtool.$$" "$folder/promtool" || exit 1
echo "$folder/promtool"
