#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# test_particles.sh: what test particles cost: a star and two planets with more and more bodies beyond them, that have
# no mass, and beside it as many that have a little. Time should go with the number of those without mass, and with the
# square of the others.
#
#   tests/bench/test_particles.sh SHOAL [KEY=VALUE ...]
#
# The exit code is 1 if from the first to the last row the time of a system's step grows faster than the number of its
# bodies to the power LIMIT.
#
# Environment: PARTICLES="10 20 50 100"  PROPAGATORS="leapfrog hermite4 mvs"  LIMIT=1.4  RUNS=3 (the least time counts)

set -u -o pipefail
[ -x "${1:-}" ] || { echo "test_particles.sh: expected the program: tests/bench/test_particles.sh build/shoal" >&2
    exit 2; }
shoal=$1
shift
work=$(mktemp -d "${TMPDIR:-/tmp}/shoal-particles.XXXXXX") || exit 2
trap 'rm -rf "$work"' EXIT

study() { # PARTICLES MASS
    cat <<'END_OF_STUDY'
angles = "degrees";
sample = { count = 256; parameters = (
    { body = "b"; parameter = "M"; distribution = "uniform"; from = 0.0; to = 360.0; } ); };
run = { t_end = 20.0; engine = "cpu"; threads = 1; tune = "never"; };
system = { bodies = (
    { name = "star"; m = 1.0; }, { name = "b"; m = 1e-4; a = 1.0; e = 0.05; }, { name = "c"; m = 1e-4; a = 1.7; },
END_OF_STUDY
    awk -v n="$1" -v m="$2" 'BEGIN {
        for (i = 1; i <= n; i++)
            printf "    { name = \"p%d\"; m = %s; a = %g; M = %d; }%s\n",
                i, m, 3 + 0.02 * i, 47 * i % 360, i < n ? "," : " ); };"
    }'
}
time_of() { # STUDY OVERRIDE...: nanoseconds a system's step, the least
    "$shoal" bench --range "run.threads=1..1:${RUNS:-3}" "$@" | awk -F, 'NR > 1 { print $7 }' | sort -g | head -n 1
}

for propagator in ${PROPAGATORS:-leapfrog hermite4 mvs}; do
    for particles in ${PARTICLES:-10 20 50 100}; do
        study "$particles" 0.0 >"$work/none.cfg"
        study "$particles" 1e-12 >"$work/some.cfg"
        none=$(time_of "$work/none.cfg" "integrator={name=\"$propagator\";dt=0.02;}" "$@") || exit 1
        some=$(time_of "$work/some.cfg" "integrator={name=\"$propagator\";dt=0.02;}" "$@") || exit 1
        echo "$propagator $particles $none $some"
    done
done | awk -v limit="${LIMIT:-1.4}" '
    BEGIN {
        print "| propagator | particles | ns a system-step without mass | for each body | with mass | with / without |"
        print "|---|---|---|---|---|---|"
    }
    function report() {
        if (last == "") return
        power = log(time / time0) / log(bodies / bodies0)
        printf "| %s | %d to %d | ~ bodies^%.2f | | ~ bodies^%.2f | |\n", last, bodies0 - 3, bodies - 3, power, \
            log(massive / massive0) / log(bodies / bodies0)
        failed = failed || !(power <= limit)
    }
    {
        if ($1 != last) { report(); last = $1; bodies0 = $2 + 3; time0 = $3; massive0 = $4 }
        bodies = $2 + 3; time = $3; massive = $4
        printf "| %s | %d | %.0f | %.1f | %.0f | %.2f |\n", $1, $2, $3, $3 / bodies, $4, $4 / $3
    }
    END { report(); exit failed }'
