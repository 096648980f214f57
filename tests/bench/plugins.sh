#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# plugins.sh: a force, a monitor and a propagator as plugins, beside the built-in ones whose text they have: the results
# are the same bytes, or it fails; then their times, in turns.
#
#   tests/bench/plugins.sh SHOAL [KEY=VALUE ...]
#   tests/bench/plugins.sh build/shoal run.engine=cuda sample.count=131072 run.t_end=2e4
#
# Environment: RUNS=5 (turns; the least time of each counts)  CC=cc (what plugins need: it compiles their descriptors,
# and for the CPU the kernels)

set -u -o pipefail
fail() { echo "plugins.sh: $*" >&2; exit 1; }
root=$(cd "$(dirname "$0")/../.." && pwd) || exit 2
[ -x "${1:-}" ] || { echo "plugins.sh: expected the program: tests/bench/plugins.sh build/shoal" >&2; exit 2; }
shoal=$1
shift
work=$(mktemp -d "${TMPDIR:-/tmp}/shoal-plugins.XXXXXX") || exit 2
trap 'rm -rf "$work"' EXIT
export CPATH=$root # built-in descriptors include from the root of the sources

# copy FOLDER NAME: the built-in plug as a plugin own_NAME.c. What checks an ensemble is left out, since it calls the
# library, and so are aliases. A propagator's kernel text is there alone, and its names may stay.
copy() {
    local rename="/#include/!{s/$2/own_$2/g; s/${2^^}/OWN_${2^^}/g}"
    {
        echo '#include "plug.h"'
        if [ "$1" = integrators ]; then
            rename="s/$2/own_$2/g"
            cat "$root/$1/$2.kern.h"
        else
            sed "$rename" "$root/$1/$2.kern.h"
        fi
        echo '#ifndef SHOAL_KERNEL'
        sed "/#include.*kern\.h/d; $rename; /\.refuses = /d; /\.aliases = /d" "$root/$1/$2.c"
        echo '#endif'
    } >"$work/own_$2.c"
}

cat >"$work/study.cfg" <<'END_OF_STUDY'
angles = "degrees";
system = { bodies = ( { name = "star"; m = 1.0; }, { name = "b"; m = 1e-4; a = 1.0; e = 0.05; },
                      { name = "c"; m = 1e-4; a = 1.7; } ); };
sample = { count = 4096; parameters = (
    { body = "b"; parameter = "M"; distribution = "uniform"; from = 0.0; to = 360.0; },
    { body = "c"; parameter = "M"; distribution = "uniform"; from = 0.0; to = 360.0; } ); };
integrator = { name = "leapfrog"; dt = 0.01; };
run = { t_end = 200.0; engine = "cpu"; tune = "never"; };
END_OF_STUDY

# settings NAME SETTING: what the study says to have the plug NAME: SETTING with that name, and a plugin's file.
# answer, time_of NAME SETTING: all that the study with it has found, but for the names of columns; nanoseconds a
# system-step, of two runs.
settings() {
    what=("${2//NAME/$1}")
    [ "$1" = "${1#own_}" ] || what+=("plugins=[\"$1.c\"]")
}
answer() {
    settings "$1" "$2"
    "$shoal" run --quiet --force --allow-plugins "$work/study.cfg" "${given[@]}" "${what[@]}" \
        "output.file=\"$work/result.h5\"" >&2 || return 1
    "$shoal" query --systems-table "$work/result.h5" | sed 1d && "$shoal" query "$work/result.h5" --final
}
time_of() {
    settings "$1" "$2"
    "$shoal" bench --allow-plugins --range run.threads=1..1:2 "$work/study.cfg" "${given[@]}" "${what[@]}" |
        awk -F, 'NR > 1 { print $7 }'
}
least() { sort -g "$1" | head -n 1; }

given=("$@")
echo '| plug | ns a system-step, built in | as a plugin | ratio |'
echo '|---|---|---|---|'
while read -r folder name setting; do
    copy "$folder" "$name"
    answer "$name" "$setting" >"$work/builtin" && answer "own_$name" "$setting" >"$work/own" ||
        fail "$name: a run failed"
    cmp "$work/builtin" "$work/own" >&2 || fail "$name: the plugin's results differ"
    : >"$work/times"
    : >"$work/own_times"
    for ((run = 0; run < ${RUNS:-5}; run++)); do
        time_of "$name" "$setting" >>"$work/times" && time_of "own_$name" "$setting" >>"$work/own_times" ||
            fail "$name: a timed run failed"
    done
    awk -v name="$name" -v a="$(least "$work/times")" -v b="$(least "$work/own_times")" \
        'BEGIN { printf "| %s | %s | %s | %.3f |\n", name, a, b, b / a }'
done <<'END_OF_PLUGS'
gravitation gr_potential forces=({name="NAME";})
monitors distance monitors=({name="NAME";})
integrators leapfrog integrator.name="NAME"
END_OF_PLUGS
