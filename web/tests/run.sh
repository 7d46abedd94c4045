#!/usr/bin/env bash
# Runs one of the page's tests: web/tests/run.sh logic | files FOLDER | browser
# 77: it cannot run here, for want of npm, of a way to its registry, or of Chromium. It says which.
set -u
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1

main() {
    command -v npm >/dev/null || skip "npm is not installed"
    install
    case "${1:-}" in
        logic) exec npm test ;;
        files) exec node check_dist.mjs "$2" ;;
        browser)
            MUSTER_PAGE_CHROMIUM=$(command -v chromium || command -v chromium-browser) || skip "chromium is not installed"
            export MUSTER_PAGE_CHROMIUM
            exec npm run test:page
            ;;
        *) echo "page tests: unknown test '${1:-}'" >&2; exit 64 ;;
    esac
}

# What the page is built and tested with. The program's build has installed it, where it could.
install() {
    [ node_modules/.package-lock.json -nt package-lock.json ] && return
    local log
    log=$(npm ci --no-audit --no-fund --prefer-offline --fetch-retries 1 2>&1) && return
    echo "$log" >&2
    if grep -qE 'ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ETIMEDOUT|ENETUNREACH' <<<"$log"; then
        skip "npm's registry cannot be reached"
    fi
    exit 1
}

skip() {
    echo "page tests: skipped, $1"
    exit 77
}

main "$@"
