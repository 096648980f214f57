#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# The work-precision diagram: what a relative energy error costs, Shoal's propagators and REBOUND's integrators on the
# four outer planets, one core (or a GPU), each over a row of steps or tolerances (tests/bench/precision.c,
# peer/rebound_peer.c).
#
#   tests/bench/precision.sh run [OPTIONS] [REBOUND_DIR]   prints rows, and where there is a GPU those of its
#                                                          GPU_METHODS, too; with REBOUND_DIR REBOUND's. OPTIONS of
#                                                          the program `precision`: only what they say
#   tests/bench/precision.sh plot PICTURE.png ROWS.csv...  draws the rows of one or more runs (gnuplot)
#
# Environment: BUILD=build (where the program `precision` is, built by `make bench-precision`)
#   GPU_METHODS="mvs whckl ..." (all)  GPU_SYSTEMS=131072  GPU_SECONDS=2 (of the longest run in a row)

set -u -o pipefail
fail() { echo "precision.sh: $*" >&2; exit 2; }
here=$(cd "$(dirname "$0")" && pwd) || exit 2
mode=${1:-}
[ $# -gt 0 ] && shift
work=$(mktemp -d "${TMPDIR:-/tmp}/shoal-precision.XXXXXX") || exit 2
trap 'rm -rf "$work"' EXIT

case $mode in
run)
    options=()
    while [[ ${1:-} == --* ]]; do options+=("$1" "$2"); shift 2; done
    if [ -n "${1:-}" ]; then "$here/peer/build" "$1" "$work/rebound" || exit 2; fi
    precision=${BUILD:-$here/../../build}/tests/bench/precision
    "$precision" "${options[@]}" || exit 1
    if [ ${#options[@]} -eq 0 ]; then
        # shellcheck disable=SC2086
        "$precision" --engine cuda --systems "${GPU_SYSTEMS:-131072}" --seconds "${GPU_SECONDS:-2}" ${GPU_METHODS:-} |
            sed 1d
        case ${PIPESTATUS[0]} in 0 | 3) ;; *) exit 1 ;; esac # 3: there is no GPU, as it has said
    fi
    if [ -n "${1:-}" ]; then "$work/rebound" --precision 1 | sed 1d; fi
    ;;
plot)
    [ $# -ge 2 ] || fail "usage: tests/bench/precision.sh plot PICTURE.png ROWS.csv..."
    picture=$1
    shift
    # A row of two panels for cores, where REBOUND's lines are dashed, and one for other runs (a GPU); what is the same
    # method has the same colour and mark.
    awk -F, -v work="$work" -v picture="$picture" '
        BEGIN {
            same["whfast-dh"] = "mvs"; same["whfast-jacobi"] = "mvs_jacobi"; same["whfast-c17"] = "mvs_jacobi_c17"
            same["saba-10-6-4"] = "saba_10_6_4"; same["ias15"] = "gauss_radau"; same["bs"] = "bulirsch_stoer"
            same["leapfrog-8"] = "kahan_li8"
            n_shades = split("E69F00 56B4E9 009E73 0072B2 D55E00 CC79A7 000000 999999 8B4513 7F00FF 808000 FF1493",
                             shade, " ")
        }
        !/^code,/ && NF == 7 {
            key = $1 "," $2
            if (!(key in file)) { order[++n] = key; file[key] = work "/" n; code[key] = $1; name[key] = $2 }
            print $6, $7 > file[key]
        }
        END {
            script = work "/script"
            for (i = 1; i <= n; i++)
                n_others += other[i] = code[order[i]] !~ /^(shoal|rebound.*)$/
            n_rows = n_others ? 2 : 1
            printf "set terminal pngcairo size 1500,%d font \",10\"; set output \"%s\"; set multiplot layout %d,2\n",
                650 * n_rows, picture, n_rows > script
            print "set logscale xy; set format \"10^{%T}\"; set grid; set key outside right noenhanced" > script
            print "set xlabel \"microseconds a system and orbit of Jupiter\"; set yrange [1e-16:1e-2]" > script
            print "set ylabel \"|{/Symbol D}E/E| after 100 orbits, rms over the systems\"" > script
            for (panel = 0; panel < 2 * n_rows; panel++) {
                printf "set title \"%s%s\"\nplot ", panel % 2 ? "any masses" : "planets around a star",
                    (panel > 1 ? ", a GPU" : "") > script
                for (i = 1; i <= n; i++) {
                    key = order[i]
                    if ((name[key] ~ /^(mvs|whckl|saba|hybrid|whfast)/) == panel % 2 ||
                        other[i] != (panel > 1)) continue
                    as = name[key] in same ? same[name[key]] : name[key]
                    if (!(as in number)) number[as] = n_numbers[panel % 2]++
                    printf "\"%s\" with linespoints lc rgb \"#%s\" lw 1.5 dt %d pt %d ps 0.7 title \"%s%s\", ",
                        file[key], shade[1 + number[as] % n_shades], \
                        code[key] ~ /^rebound/ ? 2 : 1, 5 + 2 * int(number[as] / n_shades),
                        code[key] == "shoal" ? "" : code[key] " ",
                        name[key] > script
                }
                print "" > script
            }
        }' "$@" && gnuplot "$work/script"
    ;;
*) fail "say run or plot" ;;
esac
