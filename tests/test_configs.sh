#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# test_configs.sh: every config in configs/ runs in the short form that its header gives (`# short: key=value ...`), and what is published
# of the systems comes out. The program under test is SHOAL_PROGRAM, or shoal in the build folder SHOAL_BUILD, BUILD or build.

build=${SHOAL_BUILD:-${BUILD:-build}}
shoal=$(realpath "${SHOAL_PROGRAM:-$build/shoal}")
configs=$(realpath "${SHOAL_ROOT:-.}/configs")
failures=0
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
cd "$scratch" || exit 1

begin() { name=$1; problem=; printf '[ RUN      ] %s\n' "$name"; }
end() {
    if [ -z "$problem" ]; then printf '[       OK ] %s\n' "$name"
    else printf '%s\n[  FAILED  ] %s\n' "$problem" "$name"; failures=$((failures + 1)); fi
}
wrong() { problem="$problem$*"$'\n'; }

# table CONFIG OVERRIDE...: runs it; leaves its systems table, without the heading, in $out
table() {
    local config=$1
    shift
    rm -f out.h5 out.h5.journal
    "$shoal" run "$configs/$config.cfg" "$@" run.engine=cpu output.file=out.h5 --quiet 2>err || wrong "$config $*: $(cat err)"
    out=$("$shoal" query out.h5 --systems-table 2>err | sed 1d)
    [ -n "$out" ] || wrong "$config $*: no systems: $(cat err)"
}

# survivors N SYSTEMS: of the systems A-B in $out N survived
survivors() {
    local n
    n=$(printf '%s\n' "$out" | awk -F , -v first="${2%-*}" -v last="${2#*-}" '$1 >= first && $1 <= last && $2 == "survived"' | wc -l)
    [ "$n" -eq "$1" ] || wrong "systems $2: $n survived, expected $1: $out"
}

for config in "$configs"/*.cfg; do
    config=$(basename "$config" .cfg)
    begin "config_$config"
    head -n 1 "$configs/$config.cfg" | grep -q '^# .' || wrong "the first line does not say what it is"
    short=$(sed -n 's/^# short: //p' "$configs/$config.cfg")
    if [ -z "$short" ]; then wrong "no line \"# short: key=value ...\""
    else
        # shellcheck disable=SC2086
        table "$config" $short
        printf '%s\n' "$out" | awk -F , '$2 !~ /^(survived|ejected|encounter|collided|hit_star|crossed|chaotic)$/ { exit 1 }' ||
            wrong "no result: $out"
    fi
    end
done

# Holman & Wiegert 1999: the limits at mu = 0.5, e = 0 are 2.39 and 0.274 a_b; eight longitudes each, the paper's 10^4 periods.
begin circumbinary_limit
table holman_wiegert_p sweep.[0].from=1.9 sweep.[0].to=2.63 sweep.[0].count=2 # 20 % inside, 10 % outside
survivors 0 0-7
survivors 8 8-15
end

begin circumstellar_limit
table holman_wiegert_s sweep.[0].from=0.2466 sweep.[0].to=0.3288 sweep.[0].count=2 run.t_end=18849.6 # 10 % inside, 20 % outside; 3000 periods
survivors 8 0-7
survivors 0 8-15
end

# The systems as published live, and not with one planet elsewhere on its orbit.
begin published_orbits
table kepler_36 'sweep=()'
survivors 1 0-0
table hd_82943 'sweep=()'
survivors 1 0-0
table hd_82943 'sweep=()' system.bodies.[2].M=243.0
survivors 0 0-0
table gj_876 'sweep=()' run.t_end=36525.0
survivors 1 0-0
table kepler_16 'sweep=()'
survivors 1 0-0
table kepler_16 'sweep=()' system.bodies.[2].a=0.55
survivors 0 0-0
table trappist_1 'sweep=()' run.t_end=8000.0
survivors 1 0-0
end

# Swarm-NG 5.1: distances 1 and 1.4 from the star, the speeds of circles about it alone.
begin swarm_ng_initial_states
table swarm_ng_benchmark sample.count=4 run.t_end=0.01
"$shoal" query out.h5 --initial | awk -F , '
    function close_to(a, b) { if (a - b > 1e-12 || b - a > 1e-12) { print "system " $1 ", body " $2 ": " a ", expected " b; bad = 1 } }
    NR == 1 { next }
    $2 == 0 { x = $6; y = $7; u = $9; v = $10; n++ }
    $2 > 0  { r = $2 == 1 ? 1 : 1.4
              close_to(sqrt(($6 - x) ^ 2 + ($7 - y) ^ 2), r)
              close_to(sqrt(($9 - u) ^ 2 + ($10 - v) ^ 2), sqrt(1 / r))
              close_to(($6 - x) * ($9 - u) + ($7 - y) * ($10 - v), 0) }
    END     { exit bad || n != 4 }' >message || wrong "$(cat message)"
end

[ "$failures" -eq 0 ]
