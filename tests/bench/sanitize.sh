#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# sanitize.sh: compute-sanitizer's memcheck and racecheck of a GPU's kernels, model by model: few bodies, planets, and
# teams wider than a warp (48 threads of hermite4-16 where each has a coordinate of a body).
#
#   tests/bench/sanitize.sh SHOAL
#
# The exit code is 0 if nothing was found; 2 if there is no sanitizer or no program.

shoal=$1
[ -x "$shoal" ] || { echo "sanitize.sh: expected the program: tests/bench/sanitize.sh build/shoal" >&2; exit 2; }
command -v compute-sanitizer >/dev/null || { echo "sanitize.sh: no compute-sanitizer on PATH" >&2; exit 2; }
log=$(mktemp) || exit 2
trap 'rm -f "$log"' EXIT
passed=0 failed=0
for tool in memcheck racecheck; do
    for model in system body component pair; do
        for case in hermite4-3 mvs-2p hermite4-16; do
            printf '%-9s %-9s %-11s ' $tool $model $case
            if compute-sanitizer --tool $tool --error-exitcode 9 "$shoal" bench -e cuda -W $model -s 300 -n 200 $case \
                >"$log" 2>&1; then
                passed=$((passed + 1))
                echo passed
            else
                failed=$((failed + 1))
                echo failed
                grep -v '^$' "$log" | tail -n 5
            fi
        done
    done
done
echo "$passed passed, $failed failed"
exit $((failed > 0))
