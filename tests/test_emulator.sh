#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# What a GPU computes, without one: its kernels in the emulator (tests/emulator), to the bits of the CPU. More than stands here runs there
# as well, given time: tests/emulator/run BUILD BUILD/tests/test_work_models. Prints the lines of a cmocka program.

build=${SHOAL_BUILD:-build}
shoal=${SHOAL_PROGRAM:-$build/shoal}
root=${SHOAL_ROOT:-.}
. "$(dirname "$0")/testing.sh"

missing=
[ -x "$build/tests/test_work_models" ] && [ -x "$root/tests/emulator/run" ] || missing="no sources here"
command -v python3 >/dev/null || missing="python3 is not on this machine"
[ -n "$missing" ] || "$root/tests/emulator/run" "$build" "$shoal" info | grep -q 'compiler: NVRTC' || missing="NVRTC is not on this machine"

begin teams_of_threads
if [ -n "$missing" ]; then skip "$missing"
elif out=$(SHOAL_TEST_PROPAGATOR=hermite4 SHOAL_TEST_NAME='tangent*' "$root/tests/emulator/run" "$build" "$build/tests/test_work_models" 2>&1) &&
    [ "$(grep -c ' 0 of .* doubles differ' <<<"$out")" -ge 4 ]; then pass
else fail "$out"; fi

begin every_conic
if [ -n "$missing" ]; then skip "$missing"
elif out=$(SHOAL_TEST_NAME='*on_a_gpu' "$root/tests/emulator/run" "$build" "$build/tests/test_propagators" 2>&1) &&
    grep -q '^every conic, cuda' <<<"$out"; then pass
else fail "$out"; fi

# Encounters put aside, on the GPU for three turns and then beside it; mergers and removals, rows while it runs.
begin a_study
study() { # ENGINE RUNNER...
    local engine=$1
    shift
    "$@" "$shoal" run --no-plot "$root/configs/scattering.cfg" sample.count=40 run.t_end=400 "run.engine=\"$engine\"" output.interval=100 \
        "output.file=\"$scratch/$engine.h5\"" && "$shoal" query "$scratch/$engine.h5" >"$scratch/$engine" &&
        "$shoal" query "$scratch/$engine.h5" --events >>"$scratch/$engine" && "$shoal" query "$scratch/$engine.h5" --final >>"$scratch/$engine"
}
if [ -n "$missing" ]; then skip "$missing"
elif out=$(study cpu 2>&1 && SHOAL_LONG_TURNS=3 study cuda "$root/tests/emulator/run" "$build" 2>&1) && grep -q 'emulator (sm_990' <<<"$out" &&
    grep -q encounter "$scratch/cpu" && cmp "$scratch/cpu" "$scratch/cuda"; then pass
else fail "$out"; fi

exit $((failures > 0))
