#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Transit times by Shoal and by TTVFast (Deck et al. 2014, ApJ 787, 132) on one core, in one run: what a likelihood
# costs, and how far its times are from those of an exact integration. Steps of a twentieth of the innermost period, as
# TTVFast's authors advise.
#
#   tests/bench/transits.sh TTVFAST_DIR [BUILD]      TTVFAST_DIR: a checkout of TTVFast, or its
#                                                    c_version folder; BUILD: default build
#
# Environment: SYSTEMS=256 (in one call)  CC=gcc  PEER_CFLAGS="-O3 -march=native"
# The exit code is 0 if everything ran and the two codes agreed beforehand.

set -u
fail() { echo "transits.sh: $*" >&2; exit 2; }
[ $# -ge 1 ] && [ $# -le 2 ] || fail "usage: tests/bench/transits.sh TTVFAST_DIR [BUILD]"
here=$(cd "$(dirname "$0")" && pwd) || exit 2
root=$here/../..
build=$(cd "${2:-$root/build}" && pwd) || fail "no folder ${2:-build}"
shoal=$build/shoal
[ -x "$shoal" ] || fail "no program $shoal (build it with make)"
ttvfast=$1
[ -f "$ttvfast/TTVFast.c" ] || ttvfast=$1/c_version
[ -f "$ttvfast/TTVFast.c" ] || fail "no TTVFast.c in $1 or $1/c_version"
work=$(mktemp -d "${TMPDIR:-/tmp}/shoal-transits.XXXXXX") || exit 2
trap 'rm -rf "$work"' EXIT
read -ra flags <<<"${PEER_CFLAGS:--O3 -march=native}"
"${CC:-gcc}" "${flags[@]}" -w -I"$root" -I"$ttvfast" -o "$work/peer" "$here/peer/ttvfast_peer.c" \
    "$ttvfast/TTVFast.c" -L"$build" -lshoal \
    -Wl,-rpath,"$build" -lm || fail "TTVFast or ttvfast_peer.c does not compile"

echo "processor  $(sed -n 's/^model name[^:]*: *//p' /proc/cpuinfo | head -n 1)"
echo "load       $(cut -d' ' -f1-3 /proc/loadavg) at the start"
# run NAME DT DAYS CONFIG OVERRIDE...
run() {
    local name=$1 dt=$2 days=$3 config=$4
    shift 4
    "$shoal" run -q "$root/configs/$config.cfg" 'sweep=()' run.engine=cpu "output.file=$work/$name.h5" "$@" || exit 2
    "$shoal" query "$work/$name.h5" --initial >"$work/states" || exit 2
    OMP_NUM_THREADS=1 "$work/peer" "$name" "$dt" "$days" "${SYSTEMS:-256}" <"$work/states" | column -t -s,
    return "${PIPESTATUS[0]}"
}
year='units.time="d"'
failed=0
run kepler_36 0.7 1400 kepler_36 "$year" system.bodies.b.P=13.83989 system.bodies.c.P=16.23855 \
    system.bodies.b.T0=0.9753 system.bodies.c.T0=-4.0868 \
    system.bodies.b.inc=90 system.bodies.c.inc=90 run.t_end=20 || failed=1
run trappist_1 0.075 1500 trappist_1_transits run.t_end=7260 || failed=1
exit $failed
