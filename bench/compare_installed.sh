#!/bin/sh
# What `muster bench` starts from the package.
here=$(dirname "$(readlink -f "$0")")
export PYTHONDONTWRITEBYTECODE=1  # the package owns its folder
exec python3 "$here/suite" --programs "$here" "$@"
