#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Likelihoods of 32 walkers on two cores, quiet and beside a process that keeps one of them busy: two threads should
# never take longer than one does. Prints each in turns.
#
#   tests/bench/neighbour.sh build/tests/bench/neighbour [WALKERS [ROUNDS]]

program=${1:-build/tests/bench/neighbour}
walkers=${2:-32}
rounds=${3:-3}
cores=${CORES:-0,1}

for _ in $(seq "$rounds"); do
    for busy in quiet busy; do
        if [ $busy = busy ]; then
            taskset -c "$cores" sh -c 'while :; do :; done' &
            neighbour=$!
        fi
        for threads in 1 2; do
            printf '%s: ' $busy
            taskset -c "$cores" "$program" $threads "$walkers" || exit 1
        done
        if [ $busy = busy ]; then kill "$neighbour"; wait "$neighbour" 2>/dev/null; fi
    done
done
