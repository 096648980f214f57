#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# all.sh: what docs/performance.md has of ensembles, section by section: the CPU's cases, few systems and many, slices;
# against REBOUND, if a checkout is given (peers.sh); and where there is a GPU its work models and slices (gpu.sh). Some
# five minutes on two quiet cores.
#
#   tests/bench/all.sh SHOAL [REBOUND_DIR]
#
# Environment: STEPS= (a system; default: about half a second a case)  MANY=1000000 (systems)
# The exit code is 0 if everything ran and every answer was right.

shoal=$1 failed=0
[ -x "$shoal" ] || { echo "all.sh: expected the program: tests/bench/all.sh build/shoal" >&2; exit 2; }
here=$(dirname "$0")
steps() { echo "--steps=${STEPS:-0}"; }

# section TITLE COMMAND...
section() {
    printf '\n== %s\n' "$1"
    shift
    "$@" || failed=1
}
some="hermite4-3 hermite4-8 hermite4-16 mvs-2p mvs-8p"

section '4096 systems, one core' "$shoal" bench -e cpu -t 1 "$(steps)" $("$shoal" bench --list |
    grep -v -e thinning -e spread -e straggler -e logging)
for systems in 1 4 64; do
    section "$systems of them, one core" "$shoal" bench -e cpu -t 1 -s $systems "$(steps)" $some
done
section "${MANY:-1000000} systems, all cores, 20 steps" "$shoal" bench -e cpu -s "${MANY:-1000000}" -n 20 $some
section 'slices, 4096 systems, all cores' "$shoal" bench -e cpu -n 10 thinning spread straggler logging
[ -z "${2:-}" ] || section 'against REBOUND, one core' "$here/peers.sh" "$2" "$shoal"
if "$shoal" info | grep -q '^cuda: not available'; then
    echo; echo 'no GPU here'
else
    section 'the GPU' "$here/gpu.sh" "$shoal"
fi
exit $failed
