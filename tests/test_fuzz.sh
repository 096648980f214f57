#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Every harness of tests/fuzz: the kept seeds and the cases that were found once, then changed ones for FUZZ_SECONDS.
# Prints the lines of a cmocka program.

build=${SHOAL_BUILD:-build}
root=${SHOAL_ROOT:-.}
. "$(dirname "$0")/testing.sh"

broken=$build/tests/fuzz/fuzz_broken
begin driver_tells_what_fails
if [ ! -x "$broken" ]; then skip "$broken was not built"
else
    wrong=
    for input in crashes hangs leaks; do
        echo $input >"$scratch/$input"
        out=$(TMPDIR=$scratch "$broken" --hang 1 "$scratch/$input" 2>&1) && wrong+="$input: exit code 0. "
        cmp -s "$scratch/$input" "$scratch/fuzz_broken.found" || [ $input = leaks ] || wrong+="$input: $out "
    done
    echo fine >"$scratch/fine"
    out=$("$broken" --runs 0 "$scratch/fine" 2>&1) || wrong+="fine: $out"
    if [ -z "$wrong" ]; then pass; else fail "$wrong"; fi
fi

for source in "$root"/tests/fuzz/fuzz_*.c; do
    name=$(basename "$source" .c)
    name=${name#fuzz_}
    [ "$name" != broken ] || continue
    program=$build/tests/fuzz/fuzz_$name
    folders=("$root/tests/fuzz/seeds/$name" "$root/tests/fuzz/cases/$name")
    [ "$name" != config ] || folders+=("$root/configs")
    seconds=${FUZZ_SECONDS:-1}
    leaks=0
    [ "$name" != config ] && [ "$name" != override ] || leaks=65536 # libconfig: a string in an error of syntax
    begin "fuzz_$name"
    if [ ! -x "$program" ]; then skip "$program was not built"
    elif ! out=$(TMPDIR=$scratch "$program" --seconds "$seconds" --leaks $leaks "${folders[@]}" 2>&1); then fail "$out"
    else echo "$out"; pass; fi
done
exit $((failures > 0))
