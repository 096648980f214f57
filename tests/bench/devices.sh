#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Ensembles on several GPUs of this machine: first the same results on one and on all, then how much faster.
#
#   tests/bench/devices.sh SHOAL                 all GPUs against one: 131072 systems, of equal and of unequal costs
#   SCALE=0.1 tests/bench/devices.sh SHOAL       shorter runs; SIDE=512: more systems (2 SIDE^2)
#   DEVICES="2 4" tests/bench/devices.sh SHOAL   these numbers of GPUs
#
# even      two planets, mvs; the same steps for all
# uneven    the inner period and so the number of steps differs a hundredfold, in the order of the systems
# shuffled  the same, drawn at random
# hybrid    three giants that scatter each other: a step costs a hundred times as much in an encounter
#
# Prints a line for each: seconds and steps/s of one GPU and of n, and the ratio of these. Exit status 1: results
# differ.

shoal=$(realpath "${1:-build/shoal}")
scale=${SCALE:-1} side=${SIDE:-256}
here=$(realpath "$(dirname "$0")/../..")
scratch=$(mktemp -d) || exit 2
trap 'rm -rf "$scratch"' EXIT
all=$("$shoal" info | sed -n 's/^cuda.*, \([0-9]*\) devices*$/\1/p')
[ "${all:-1}" -gt 1 ] || { echo "one GPU or none: nothing to compare" >&2; exit 2; }
half=$((2 * side))

planets() { # SYSTEMS
    cat <<END
units = { length = "AU"; mass = "Msun"; time = "yr"; };
angles = "degrees";
system = { elements = "jacobi"; bodies = (
    { name = "star"; m = 1.0; },
    { name = "b"; m = 1e-5; a = 1.0; e = 0.05; l = 10.0; pomega = 20.0; },
    { name = "c"; m = 1e-5; period_ratio = 2.3; e = 0.02; l = 130.0; inc = 2.0; } ); };
integrator = { name = "mvs"; steps_per_orbit = 20.0; };
monitors = ( { name = "stop_on_ejection"; r_max = 100.0; }, { name = "stop_on_encounter"; },
    { name = "energy_error"; } );
$1
END
}
planets "sweep = ( { body = \"b\"; parameter = \"e\"; from = 0.0; to = 0.1; count = $half; },
    { body = \"c\"; parameter = \"l\"; from = 0.0; to = 359.0; count = $side; } );
run = { t_end = $(awk "BEGIN { print 200000 * $scale }"); engine = \"cuda\"; };" >"$scratch/even.cfg"
# numbers of steps are spread evenly: few long ones alone would keep a GPU busy, however many there are
values=$(awk -v n=$half 'BEGIN {
    for (i = 0; i < n; i++) printf "%s%.12g", i ? ", " : "", 0.2 * (100 / (100 - 99 * i / (n - 1))) ^ (2 / 3) }')
planets "sweep = ( { body = \"b\"; parameter = \"a\"; values = [$values]; },
    { body = \"c\"; parameter = \"l\"; from = 0.0; to = 359.0; count = $side; } );
run = { t_end = $(awk "BEGIN { print 10000 * $scale }"); engine = \"cuda\"; };" >"$scratch/uneven.cfg"
planets "sample = { count = $((half * side)); parameters = (
    { body = \"b\"; parameter = \"a\"; distribution = \"power_law\"; from = 0.2; to = 4.3; exponent = -2.5; },
    { body = \"c\"; parameter = \"l\"; distribution = \"uniform\"; from = 0.0; to = 360.0; } ); };
run = { t_end = $(awk "BEGIN { print 10000 * $scale }"); engine = \"cuda\"; };" >"$scratch/shuffled.cfg"
t_end=$(awk "BEGIN { print 3000 * $scale }")
sed "s/count = 256/count = $((half * side / 8))/; s/^run = .*/run = { t_end = $t_end; engine = \"cuda\"; };/" \
    "$here/configs/scattering.cfg" >"$scratch/hybrid.cfg"

run() { # NAME DEVICES
    "$shoal" run --force --no-plot "$scratch/$1.cfg" "run.devices=$2" "output.file=\"$scratch/$1-$2.h5\"" \
        >"$scratch/said" 2>&1 || { cat "$scratch/said" >&2; exit 2; }
    { "$shoal" query "$scratch/$1-$2.h5" --systems-table &&
        "$shoal" query "$scratch/$1-$2.h5" --final && "$shoal" query "$scratch/$1-$2.h5" --events; } |
        sha256sum >"$scratch/$1-$2.sum"
    rm "$scratch/$1-$2.h5"
    sed -n 's/^wall time *\([0-9.e+-]*\) s, \([0-9.e+-]*\) system-steps.*/\1 \2/p' "$scratch/said"
}

failures=0
for name in even uneven shuffled hybrid; do
    for n in 1 ${DEVICES:-$all}; do
        run $name "$n" >/dev/null # kernels are compiled, for each number of systems its own, and cards are warm
    done
    one=$(run $name 1)
    grep -h ', cuda: ' "$scratch/said"
    for n in ${DEVICES:-$all}; do
        many=$(run $name "$n")
        verdict='same results'
        cmp -s "$scratch/$name-1.sum" "$scratch/$name-$n.sum" || { verdict='OTHER RESULTS'; failures=1; }
        awk -v name=$name -v n="$n" -v verdict="$verdict" '{
            printf "%-9s 1 GPU %8.2f s %9.3g steps/s   %d GPUs %8.2f s %9.3g steps/s   x %.2f   %s\n", name, $1, $2, n,
                $3, $4, $4 / $2, verdict }' <<<"$one $many"
    done
done
exit $failures
