#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Shoal against REBOUND on one core, in one run: each propagator and its counterpart (PAIRS below), the two codes in
# turns, size by size. Compared are the least times, which a busy machine disturbs least, and the medians.
#
#   tests/bench/peers.sh REBOUND_DIR [SHOAL]      REBOUND_DIR: a checkout of REBOUND 5, or its src folder
#                                                 SHOAL: the program, default build/shoal; `none` runs REBOUND alone
#
# Environment: RUNS=3  SYSTEMS=4096  STEPS=400 (a system; 40 an orbit)  PLANETS="2 4 8"
#   CASES="mvs-Np mvs-Np-bare ..." (Shoal's; N: the planets, B: the bodies)  PEERS="*" (REBOUND's methods)
#   CC=gcc  PEER_CFLAGS="-O3 -march=native" (for REBOUND)  RAW=FILE (keep every row, its run in front)
#
# REBOUND is compiled by peer/build. The exit code is 0 if everything ran and every answer was right; how the ratios
# turned out does not change it.

set -u
fail() { echo "peers.sh: $*" >&2; exit 2; }

[ $# -ge 1 ] && [ $# -le 2 ] || fail "usage: tests/bench/peers.sh REBOUND_DIR [SHOAL]"
here=$(cd "$(dirname "$0")" && pwd) || exit 2
shoal=${2:-$here/../../build/shoal}
[ "$shoal" = none ] || [ -x "$shoal" ] || fail "no program $shoal (build it with make, or say none)"

runs=${RUNS:-3} systems=${SYSTEMS:-4096} steps=${STEPS:-400} planets=${PLANETS:-2 4 8}
cases=${CASES:-mvs-Np mvs-Np-bare mvs_jacobi-Np mvs_jacobi_c17-Np whckl-Np saba_10_6_4-Np gauss_radau-B}
# Which of REBOUND's methods does what a case does.
PAIRS="mvs=whfast-dh mvs=whfast512 mvs_jacobi=whfast-jacobi mvs_jacobi_c17=whfast-c17 whckl=whckl \
    saba_10_6_4=saba-10-6-4 \
gauss_radau=ias15"
work=$(mktemp -d "${TMPDIR:-/tmp}/shoal-peers.XXXXXX") || exit 2
trap 'rm -rf "$work"' EXIT
rows=$work/rows

"$here/peer/build" "$1" "$work/rebound" || exit 2

# ---- in turns --------------------------------------------------------------------------------------------------------

failed=0
# take RUN COMMAND...: the rows that a command prints go to $rows, with the number of the run in front.
take() {
    local run=$1
    shift
    "$@" >"$work/out" || { failed=1; echo "peers.sh: failed: $*" >&2; }
    awk -v run="$run" '!/^case,/ && NF { print run "," $0 }' "$work/out" >>"$rows"
}

echo "processor  $(sed -n 's/^model name[^:]*: *//p' /proc/cpuinfo | head -n 1)"
echo "load       $(cut -d' ' -f1-3 /proc/loadavg 2>/dev/null) at the start"
for run in $(seq "$runs"); do
    for n in $planets; do
        take "$run" "$work/rebound" --systems "$systems" --steps "$steps" "rebound-${PEERS:-*}-${n}p*"
        [ "$shoal" = none ] && continue
        wanted=${cases//N/$n}
        for case in ${wanted//B/$((n + 1))}; do # a size that Shoal does not time is left out
            "$shoal" bench --list | grep -qx "$case" || continue
            case $case in gauss_radau*) count=$((steps / 40)) ;; *) count=$steps ;; esac # orbits, steps
            take "$run" "$shoal" bench --csv --engine cpu --threads 1 --systems "$systems" --steps "$count" "$case"
        done
    done
done
if [ -n "${RAW:-}" ]; then
    head=run,case,engine,work_model,bodies,systems,steps,seconds,ns_per_system_step,error,plan
    { echo "$head"; cat "$rows"; } >"$RAW" || failed=1
fi

# ---- the tables ------------------------------------------------------------------------------------------------------

awk -F, -v pairs="$PAIRS" '
    # Should a program print several rows of one case, they are told apart by their order within a run.
    {
        key = $2 "," $3 "," $4 "," $5
        nth = ++seen[$1, key]
        key = key "," nth
        if (!(key in n)) { order[++n_keys] = key; name[key] = $2; engine[key] = $3; model[key] = $4; bodies[key] = $5 }
        value[key, ++n[key]] = $9
        if ($10 + 0 > error[key] + 0 || $10 ~ /nan/) error[key] = $10
    }
    END {
        printf "\n%-30s %-14s %-8s %6s %11s %11s %11s %10s\n", "case", "engine", "model", "bodies",
            "ns median", "least", \
            "most", "error"
        for (k = 1; k <= n_keys; k++) {
            key = order[k]
            for (i = 2; i <= n[key]; i++) {
                v = value[key, i]
                for (j = i - 1; j >= 1 && value[key, j] + 0 > v + 0; j--) value[key, j + 1] = value[key, j]
                value[key, j + 1] = v
            }
            m = int((n[key] + 1) / 2)
            median[key] = n[key] % 2 ? value[key, m] : (value[key, m] + value[key, m + 1]) / 2
            printf "%-30s %-14s %-8s %6d %11.2f %11.2f %11.2f %10.1e\n", name[key], engine[key], model[key],
                bodies[key], \
                median[key], value[key, 1], value[key, n[key]], error[key]
            plain = name[key]; bare = sub(/-bare$/, "", plain)
            sub(/-[0-9]+p?$/, "", plain); sub(/^rebound-/, "", plain)
            at = (engine[key] ~ /^rebound /) "," plain "," bodies[key] "," bare
            found[at] = key
            n_shoal += engine[key] !~ /^rebound /
        }
        if (!n_shoal) exit
        printf "\n%-20s %-16s %11s %11s %10s %10s %11s %11s\n", "case", "REBOUND", "ns least", "its least",
            "ratio", "(medians)", \
            "error", "its error"
        for (p = 1; p <= split(pairs, pair, /[ \n]+/); p++) {
            split(pair[p], side, "=")
            for (planets = 1; planets < 16; planets++)
                for (bare = 0; bare < 2; bare++) {
                    tail = "," planets + 1 "," bare
                    if (!(("0," side[1] tail) in found) || !(("1," side[2] tail) in found)) continue
                    ours = found["0," side[1] tail]; its = found["1," side[2] tail]
                    printf "%-20s %-16s %11.2f %11.2f %9.2fx %9.2fx %11.1e %11.1e\n", name[ours], side[2],
                        value[ours, 1], \
                        value[its, 1], value[its, 1] / value[ours, 1], median[its] / median[ours],
                        error[ours], error[its]
                }
        }
    }' "$rows"
exit $failed
