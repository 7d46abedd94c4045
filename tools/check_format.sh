#!/usr/bin/env bash
# Fails when a C++ file is not laid out as .clang-format says; --fix lays it out.
#
#   tools/check_format.sh [--fix] [FILE…]      all tracked and new files when none is named
set -u
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1
skip=77  # CTest shows this as "skipped"

fix=no
case "${1:-}" in
    --fix) fix=yes; shift ;;
    -h | --help) sed -n '2,/^set/s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; exit 0 ;;
    -*) echo "check_format: unknown flag '$1'; see --help" >&2; exit 64 ;;
esac

if ! command -v clang-format-19 >/dev/null; then
    echo "check_format: clang-format-19 is missing; tools/setup.sh lint installs it" >&2
    exit $skip
fi

files=("$@")
if [ ${#files[@]} -eq 0 ]; then
    while IFS= read -r -d '' file; do
        [ -f "$file" ] && files+=("$file")
    done < <(git ls-files --cached --others --exclude-standard -z -- '*.h' '*.cpp')
fi
[ ${#files[@]} -gt 0 ] || { echo "check_format: found no source; is this a git checkout?" >&2; exit 1; }

if [ "$fix" = yes ]; then
    clang-format-19 -i "${files[@]}"
    exit
fi

if ! told=$(clang-format-19 --dry-run "${files[@]}" 2>&1); then
    printf '%s\n' "$told" >&2
    exit 1
fi
# One line for each file that is not laid out: its first place.
found=$(grep -E '^[^ ]+:[0-9]+:[0-9]+: ' <<<"$told" | sort -t: -k1,1 -k2,2n | sort -t: -u -k1,1)
if [ -n "$found" ]; then
    sed -E 's/^([^:]+:[0-9]+):.*/\1: the first place not laid out by .clang-format/' <<<"$found" >&2
    echo "check_format: $(wc -l <<<"$found") of ${#files[@]} files; lay them out with: tools/check_format.sh --fix" >&2
    exit 1
fi
echo "check_format: ${#files[@]} files"
