#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# testing.sh: for scripts of tests that print the lines of a cmocka program: a folder that goes with them, and the
# verdict of each test.
# shellcheck disable=SC2034

failures=0
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT

begin() { name=$1; printf '[ RUN      ] %s\n' "$name"; }
pass() { printf '[       OK ] %s\n' "$name"; }
fail() { printf '%s\n' "$@"; printf '[  FAILED  ] %s\n' "$name"; failures=$((failures + 1)); }
skip() { printf '%s\n' "$1"; printf '[  SKIPPED ] %s\n' "$name"; }
