# Sourced by ./run and ./test: what the two say on the terminal, and how they build a preset.
# shellcheck shell=bash

if [ -t 2 ] && [ -z "${NO_COLOR:-}" ] && [ "${TERM:-dumb}" != dumb ]; then
    colour_bold=$'\e[1m' colour_red=$'\e[31m' colour_green=$'\e[32m' colour_off=$'\e[0m'
else
    colour_bold="" colour_red="" colour_green="" colour_off=""
fi

# How wide a line of progress may be; 0 where progress is not drawn over itself.
columns=0
if [ -t 2 ]; then columns=$(tput cols) || columns=80; fi

say() { echo "${colour_bold}$*${colour_off}" >&2; }
good() { echo "${colour_green}$*${colour_off}" >&2; }
bad() { echo "${colour_red}$*${colour_off}" >&2; }

# lock_folder PRESET: afterwards nobody else builds or tests in build/PRESET, until unlock_folder or the end of this
# shell. Waits for whoever does so now, and says so.
lock_folder() {
    local dir=build/$1
    mkdir -p "$dir"
    exec {folder_lock}<"$dir"
    if ! flock --nonblock "$folder_lock"; then
        say "another ./run or ./test is at work in $dir: waiting for it"
        flock "$folder_lock"
    fi
}

unlock_folder() { exec {folder_lock}<&-; }

# without_lock COMMAND…: runs it without the lock, so that what a test leaves running holds nobody up.
without_lock() { "$@" {folder_lock}<&-; }

# configure PRESET: makes build/PRESET ready for ninja, when it is not.
configure() {
    local preset=$1
    local dir=build/$preset
    configure_needed "$dir" || return 0
    say "configuring $preset"
    mkdir -p "$dir"
    if ! cmake --preset "$preset" "${configure_args[@]}" </dev/null >"$dir/configure.log" 2>&1; then
        cat "$dir/configure.log" >&2
        bad "configuring $preset failed"
        return 1
    fi
    touch "$dir/.configured"
}

# build PRESET [TARGET…]: builds it on one line of progress. Shows the compiler's output only when that fails.
build() {
    local preset=$1 began=$SECONDS
    shift
    configure "$preset" || return 1
    local dir=build/$preset
    local log=$dir/build.log

    NINJA_STATUS="[%f/%t] " fixed_addresses "$preset" ninja -C "$dir" "$@" </dev/null 2>&1 | tee "$log" | build_progress "$preset"
    if [ "${PIPESTATUS[0]}" -ne 0 ]; then
        grep -v '^\[[0-9]*/[0-9]*\] ' "$log" >&2
        bad "building $preset failed"
        return 1
    fi
    grep -q '^ninja: no work to do' "$log" || say "built $preset in $((SECONDS - began)) s"
}

# A fresh folder, presets that changed since, or a checkout that was moved. Anything else ninja notices by itself.
# Leaves extra arguments for cmake in configure_args.
configure_needed() {
    local dir=$1
    configure_args=()
    if [ -f "$dir/CMakeCache.txt" ] && ! grep -qxF "CMAKE_HOME_DIRECTORY:INTERNAL=$PWD" "$dir/CMakeCache.txt"; then
        configure_args=(--fresh)
        return 0
    fi
    [ ! -f "$dir/build.ninja" ] || [ ! -f "$dir/.configured" ] || [ CMakePresets.json -nt "$dir/.configured" ]
}

# g++ 12's ThreadSanitizer does not know the address layouts of newer kernels; without randomised addresses it does.
fixed_addresses() {
    if [ "$1" = tsan ] && setarch --addr-no-randomize true 2>/dev/null; then
        setarch --addr-no-randomize "${@:2}"
    else
        "${@:2}"
    fi
}

# Reads ninja's lines and shows how far it is: one line on a terminal, a line every 10 s elsewhere.
build_progress() {
    local what=$1 line shown=$SECONDS width=0
    while IFS= read -r line; do
        [[ "$line" =~ ^\[[0-9]+/[0-9]+\] ]] || continue
        if [ "$columns" -gt 0 ]; then
            line="building $what ${BASH_REMATCH[0]} ${line##*[ /]}"
            line=${line:0:columns-1}
            printf '\r%-*s' "$width" "$line" >&2
            width=${#line}
        elif ((SECONDS - shown >= 10)); then
            shown=$SECONDS
            echo "building $what ${BASH_REMATCH[0]}" >&2
        fi
    done
    [ "$width" -eq 0 ] || printf '\r%-*s\r' "$width" "" >&2
}
