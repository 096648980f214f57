#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Shoal's mvs against REBOUND's WHFast on one core, in one run: the two take turns, size by size, and the medians are compared.
#
#   tests/bench/peers.sh REBOUND_DIR [SHOAL]      REBOUND_DIR: a checkout of REBOUND 5, or its src folder
#                                                 SHOAL: the program, default build/shoal; `none` runs REBOUND alone
#
# Environment: RUNS=3  SYSTEMS=4096  STEPS=400 (REBOUND's, a system)  PLANETS="2 4 8"
#   CASES="mvs-Np mvs-Np-bare" (Shoal's; N: the planets)
#   CC=gcc  PEER_CFLAGS="-O3 -march=native" (for REBOUND)  RAW=FILE (keep every row, with the number of its run in front)
#
# REBOUND's sources are compiled into a temporary folder; its own build files are not used and nothing is written beside it. The
# exit code is 0 if everything ran and every answer was right; how the ratios turned out does not change it.

set -u
fail() { echo "peers.sh: $*" >&2; exit 2; }

[ $# -ge 1 ] && [ $# -le 2 ] || fail "usage: tests/bench/peers.sh REBOUND_DIR [SHOAL]"
here=$(cd "$(dirname "$0")" && pwd) || exit 2
rebound=$1
[ -f "$rebound/rebound.h" ] || rebound=$1/src
[ -f "$rebound/rebound.h" ] || fail "no rebound.h in $1 or $1/src"
rebound=$(cd "$rebound" && pwd) || exit 2
grep -q reb_simulation_set_integrator "$rebound/rebound.h" || fail "REBOUND 5 or later is needed; $rebound holds an older one"
shoal=${2:-$here/../../build/shoal}
[ "$shoal" = none ] || [ -x "$shoal" ] || fail "no program $shoal (build it with make, or say none)"

runs=${RUNS:-3} systems=${SYSTEMS:-4096} steps=${STEPS:-400} planets=${PLANETS:-2 4 8} cases=${CASES:-mvs-Np mvs-Np-bare}
CC=${CC:-gcc}
read -ra flags <<<"${PEER_CFLAGS:--O3 -march=native}"

work=$(mktemp -d "${TMPDIR:-/tmp}/shoal-peers.XXXXXX") || exit 2
trap 'rm -rf "$work"' EXIT
rows=$work/rows

# ---- REBOUND -------------------------------------------------------------------------------------------------------------

# gnu11 lets the compiler fuse multiplications and additions, which REBOUND's own c99 does not: WHFast is faster with it.
build=(-std=gnu11 "${flags[@]}" -D_GNU_SOURCE -DGITHASH=unknown)
if "$CC" "${flags[@]}" -dM -E -x c /dev/null 2>/dev/null | grep -q __AVX512DQ__; then
    build+=(-DAVX512)
else
    echo "no AVX-512 here: WHFast512 is left out"
fi
compile() { "$CC" "${build[@]}" -w -I"$rebound" -c -o "$work/$(basename "$1" .c).o" "$1"; }
jobs=()
for source in "$rebound"/*.c "$here/peer/rebound_whfast.c"; do
    compile "$source" &
    jobs+=($!)
done
for job in "${jobs[@]}"; do
    wait "$job" || fail "REBOUND or rebound_whfast.c does not compile"
done
"$CC" "${build[@]}" -o "$work/rebound_whfast" "$work"/*.o -lm -lrt -lpthread || fail "REBOUND does not link"

# ---- in turns ------------------------------------------------------------------------------------------------------------

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
echo "compiler   $("$CC" --version | head -n 1)"
echo "REBOUND    ${build[*]}"
for run in $(seq "$runs"); do
    for n in $planets; do
        take "$run" "$work/rebound_whfast" --systems "$systems" --steps "$steps" "rebound-*-${n}p*"
        [ "$shoal" = none ] && continue
        read -ra shoal_cases <<<"${cases//N/$n}"
        take "$run" "$shoal" bench --csv --engine cpu --threads 1 --systems "$systems" "${shoal_cases[@]}"
    done
done
if [ -n "${RAW:-}" ]; then
    head=run,case,engine,work_model,bodies,systems,steps,seconds,ns_per_system_step,error,plan
    { echo "$head"; cat "$rows"; } >"$RAW" || failed=1
fi

# ---- the tables ----------------------------------------------------------------------------------------------------------

awk -F, '
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
        printf "\n%-30s %-14s %-8s %6s %11s %11s %11s %10s\n", "case", "engine", "model", "bodies", "ns median", "least", \
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
            printf "%-30s %-14s %-8s %6d %11.2f %11.2f %11.2f %10.1e\n", name[key], engine[key], model[key], bodies[key], \
                median[key], value[key, 1], value[key, n[key]], error[key]
            if (engine[key] ~ /^rebound /) {
                how = name[key]; sub(/^rebound-/, "", how); size = "-" (bodies[key] - 1) "p"
                at = index(how, size); how = substr(how, 1, at - 1) substr(how, at + length(size))
                peer[how, bodies[key]] = median[key]
                if (!(how in column)) { column[how] = ++n_columns; title[n_columns] = how }
            } else n_shoal++
        }
        if (!n_shoal) exit
        printf "\n%s\n%-30s %-8s", "how many times faster than REBOUND (ratio of medians)", "case", "model"
        for (c = 1; c <= n_columns; c++) printf " %18s", title[c]
        printf "\n"
        for (k = 1; k <= n_keys; k++) {
            key = order[k]
            if (engine[key] ~ /^rebound /) continue
            printf "%-30s %-8s", name[key], model[key]
            for (c = 1; c <= n_columns; c++) {
                p = peer[title[c], bodies[key]]
                if (p && median[key] > 0) printf " %17.2fx", p / median[key]; else printf " %18s", "-"
            }
            printf "\n"
        }
    }' "$rows"
exit $failed
