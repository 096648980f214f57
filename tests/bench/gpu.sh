#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# gpu.sh: the work models of a GPU: for every case the fastest that tuning finds, as a table of docs/performance.md;
# unless cases are named, then what systems lose there that are not alike.
#
#   tests/bench/gpu.sh SHOAL [SYSTEMS:CASE ...]
#
# Operations are those of a system-step of the model `system` as the kernels' heads count them
# (integrators/hermite4.kern.h, mvs.kern.h with one round of Kepler's equation): what a model spends beyond them is part
# of its loss. PEAK: FP64 instructions/s of the device; an H200 has 132 x 64 at 1.98 GHz.

set -o pipefail
shoal=$1
shift
[ -x "$shoal" ] || { echo "gpu.sh: expected the program: tests/bench/gpu.sh build/shoal" >&2; exit 2; }
slices=
if [ $# -eq 0 ]; then
    slices=yes
    set -- 131072:hermite4-3 131072:hermite4-5 131072:hermite4-8 131072:hermite4-10 131072:hermite4-16 131072:mvs-2p \
        131072:mvs-4p 131072:mvs-8p 2048:hermite4-3 2048:hermite4-5 2048:hermite4-8 2048:mvs-2p 2048:mvs-4p 2048:mvs-8p
fi
echo '| case | systems | 10^9 system-steps/s | FP64 operations a step | of the peak | plan |'
echo '|---|---|---|---|---|---|'
failed=0
for job; do
    "$shoal" bench --engine cuda --tune --csv --systems "${job%%:*}" "${job#*:}" |
        awk -F '"' -v peak="${PEAK:-1.673e13}" '
        NR > 1 {
            split($1, field, ",")
            n = field[4]; p = n - 1
            operations = field[1] ~ /^hermite4/ ? 44 * n * (n - 1) + 57 * n : 13.5 * p * (p - 1) + 156 * p
            rate = field[6] / field[7]
            sub(/.*work model /, "", $2)
            printf "| %s | %d | %.2f | %d | %.0f %% | %s |\n", field[1], field[5], rate / 1e9, operations,
                100 * rate * operations / peak, $2
        }' || failed=1
done
if [ $slices ]; then
    echo
    "$shoal" bench -e cuda -s 1310720 thinning || failed=1
    "$shoal" bench -e cuda -s 32768 -n 1500 spread || failed=1
    "$shoal" bench -e cuda -s 131072 straggler logging || failed=1
fi
exit $failed
