#!/usr/bin/env bash
# Fails when a file of ours names a path of somebody's machine, leaves a marker of unfinished work, or gives a test a
# name that CTest takes apart.
#
#   tools/check_words.sh [FILE…]      all tracked and new files when none is named
set -u
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1

case "${1:-}" in
    -h | --help) sed -n '2,/^set/s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; exit 0 ;;
    -*) echo "check_words: unknown flag '$1'; see --help" >&2; exit 64 ;;
esac

# Each has a bracket in it, so that this file does not match itself.
places='[w]ork|[r]oot|[h]ome/[a-z][^/ ]*|[U]sers/[A-Za-z][^/ ]*|[t]mp/[A-Za-z0-9._]+'
machine_paths="(^|[^A-Za-z0-9_.])/($places)(/|\$|[^A-Za-z0-9])"
unfinished='\b(T[O]DO|F[I]XME|X[X]X|H[A]CK|T[B]D)\b'

test_names='^ *(TEST_CASE.*)?"[^"]*[][;\\][^"]*"\) \{$'

files=("$@")
if [ ${#files[@]} -eq 0 ]; then
    while IFS= read -r -d '' file; do
        [ -f "$file" ] && files+=("$file")
    done < <(git ls-files --cached --others --exclude-standard -z)
fi
[ ${#files[@]} -gt 0 ] || { echo "check_words: found no files; is this a git checkout?" >&2; exit 1; }

# refuse PATTERN RULE: shows each line that matches, as file:line:text.
refuse() {
    local found
    found=$(printf '%s\0' "${files[@]}" | xargs -0 grep --binary-files=without-match -nHE -e "$1")
    [ -z "$found" ] && return 0
    printf '%s\n' "$found" | sed "s|\$|   <- $2|" >&2
    return 1
}

status=0
refuse "$test_names" "a test's name has none of ; [ ] and backslash" || status=1
refuse "$machine_paths" "a path of one machine" || status=1
refuse "$unfinished" "unfinished work: finish it, or open an issue" || status=1
[ $status -eq 0 ] && echo "check_words: ${#files[@]} files"
exit $status
