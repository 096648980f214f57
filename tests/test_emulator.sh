#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# What a GPU computes, without one: its kernels in the emulator (tests/emulator), to the bits of the CPU. More than
# stands here runs there as well, given time: tests/emulator/run BUILD BUILD/tests/test_work_models. Prints the lines of
# a cmocka program.

build=${SHOAL_BUILD:-build}
shoal=${SHOAL_PROGRAM:-$build/shoal}
root=${SHOAL_ROOT:-.}
. "$(dirname "$0")/testing.sh"
. "$root/tests/emulator/missing.sh"

begin teams_of_threads
if [ -n "$missing" ]; then skip "$missing"
elif out=$(SHOAL_TEST_PROPAGATOR=hermite4 SHOAL_TEST_NAME='tangent*' "$root/tests/emulator/run" "$build" \
    "$build/tests/test_work_models" 2>&1) &&
    [ "$(grep -c ' 0 of .* doubles differ' <<<"$out")" -ge 4 ]; then pass
else fail "$out"; fi

begin every_conic
if [ -n "$missing" ]; then skip "$missing"
elif out=$(SHOAL_TEST_NAME='*on_a_gpu' "$root/tests/emulator/run" "$build" "$build/tests/test_propagators" 2>&1) &&
    grep -q '^every conic, cuda' <<<"$out"; then pass
else fail "$out"; fi

begin those_left
if [ -n "$missing" ]; then skip "$missing"
elif out=$(SHOAL_TEST_GPU=1 SHOAL_TEST_NAME='those_left*' "$root/tests/emulator/run" "$build" "$build/tests/test_cuda" \
    2>&1) &&
    grep -q 'PASSED  . 1 test' <<<"$out"; then pass
else fail "$out"; fi

begin fits
if [ -n "$missing" ]; then skip "$missing"
elif out=$(SHOAL_TEST_NAME='a_gpu_draws*' "$root/tests/emulator/run" "$build" "$build/tests/test_fit" 2>&1) &&
    grep -q 'PASSED  . 1 test' <<<"$out"; then pass
else fail "$out"; fi

begin one_big_system
if [ -n "$missing" ]; then skip "$missing"
elif out=$(SHOAL_TEST_NAME='test_cuda_masses*' "$root/tests/emulator/run" "$build" "$build/tests/test_tiled" 2>&1) &&
    grep -q 'PASSED  . 2 test' <<<"$out"; then pass
else fail "$out"; fi

begin one_big_sorted_system
if [ -n "$missing" ]; then skip "$missing"
elif out=$(SHOAL_TEST_NAME='test_cuda_sorted' "$root/tests/emulator/run" "$build" "$build/tests/test_tiled" 2>&1) &&
    grep -q 'PASSED  . 1 test' <<<"$out"; then pass
else fail "$out"; fi

# Monitors that sleep through steps see what they see of all.
for propagator in mvs mvs_jacobi; do
    begin "monitors_that_sleep_$propagator"
    if [ -n "$missing" ]; then skip "$missing"
    elif out=$(SHOAL_TEST_GPU=1 SHOAL_TEST_PROPAGATOR=$propagator SHOAL_TEST_NAME='*nothing_on_a_gpu' \
        "$root/tests/emulator/run" "$build" "$build/tests/test_monitors" 2>&1) &&
        grep -q 'PASSED  . 1 test' <<<"$out"; then pass
    else fail "$out"; fi
done

# CPU threads lead systems whose steps adapt; those of test_emulated_runs.sh have fixed steps.
begin led_systems
if [ -n "$missing" ]; then skip "$missing"
elif out=$(SHOAL_TEST_PROPAGATOR=rkck SHOAL_TEST_NAME='led*' "$root/tests/emulator/run" "$build" \
    "$build/tests/test_cuda" 2>&1) && grep -q 'PASSED  . 1 test' <<<"$out"; then pass
else fail "$out"; fi

exit $((failures > 0))
