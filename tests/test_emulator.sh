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

missing=
[ -x "$build/tests/test_work_models" ] && [ -x "$root/tests/emulator/run" ] || missing="no sources here"
command -v python3 >/dev/null || missing="python3 is not on this machine"
[ -n "$missing" ] || "$root/tests/emulator/run" "$build" "$shoal" info | grep -q 'compiler: NVRTC' ||
    missing="NVRTC is not on this machine"

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

study() { # PROPAGATOR SYSTEMS YEARS ENGINE RUNNER...
    local propagator=$1 systems=$2 years=$3 engine=$4
    shift 4
    "$@" "$shoal" run --force --no-plot "$root/configs/scattering.cfg" "integrator.name=\"$propagator\"" \
        "sample.count=$systems" "run.t_end=$years" \
        "run.engine=\"$engine\"" output.interval=100 "output.file=\"$scratch/$engine.h5\"" &&
        "$shoal" query "$scratch/$engine.h5" >"$scratch/$engine" &&
            "$shoal" query "$scratch/$engine.h5" --events >>"$scratch/$engine" &&
        "$shoal" query "$scratch/$engine.h5" --final >>"$scratch/$engine"
}
studies_agree() { # PROPAGATOR SYSTEMS YEARS
    if [ -n "$missing" ]; then skip "$missing"
    elif out=$(study "$@" cpu 2>&1 && SHOAL_LONG_TURNS=3 study "$@" cuda "$root/tests/emulator/run" "$build" 2>&1) &&
        grep -q 'emulator (sm_990' <<<"$out" && grep -q encounter "$scratch/cpu" &&
            cmp "$scratch/cpu" "$scratch/cuda"; then pass
    else fail "$out"; fi
}

# Encounters put aside, on the GPU for three turns and then beside it; mergers and removals, rows while it runs.
begin a_study
studies_agree hybrid 40 400

# More systems than the emulated device has room for at once: slices in pieces, of two parts.
begin a_study_in_pieces
studies_agree mvs 200 150

# The fastest is measured, kept, and taken by a run that `auto` puts on the GPU; one of few systems goes to the CPU.
sweep() { # COMMAND COUNT
    "$root/tests/emulator/run" "$build" env XDG_CACHE_HOME="$scratch" "$shoal" "$1" \
        "$root/configs/sun_jupiter_saturn.cfg" \
        "sweep[0].count=$2" "sweep[1].count=8" run.gpu_bodies=1 run.t_end=1.0 output.file="$scratch/$2.h5"
}
begin tuning_and_auto
if [ -n "$missing" ]; then skip "$missing"
elif out=$(sweep tune 8 2>&1 && sweep run 8 2>&1 && sweep run 2 2>&1) && grep -q '^body .* [1-9][^ ]*$' <<<"$out" &&
    grep -q 'emulator (sm_990.* (the fastest when measured here) (auto: 64 systems, a GPU pays from 64)$' <<<"$out" &&
    grep -q ', cpu.* (auto: 16 systems, a GPU pays from 64)$' <<<"$out"; then pass
else fail "$out"; fi

# Each allocation of GPU memory, and of what is locked for it, fails in turn, until there is none left to fail.
all_fail() { # COMMAND...
    local n out rc
    for ((n = 1; n <= 60; n++)); do
        out=$(EMULATOR_FAIL=$n "$root/tests/emulator/run" "$build" "$@" 2>&1)
        rc=$?
        if [ $rc -eq 0 ] && ! grep -q OUT_OF_MEMORY <<<"$out"; then
            [ $n -gt 1 ] && return
        elif [ $rc -gt 0 ] && [ $rc -le 3 ] && [ "$(grep -c 'OUT_OF_MEMORY (2): out of memory' <<<"$out")" -eq 1 ]; then
            continue
        fi
        echo "allocation $n, exit code $rc: $out"
        return 1
    done
    echo 'it has no end'
    return 1
}
begin failed_allocations
if [ -n "$missing" ]; then skip "$missing"
elif out=$(all_fail "$shoal" run -q --force --no-plot "$root/configs/scattering.cfg" 'integrator.name="hybrid"' \
    sample.count=4 run.t_end=20 'run.engine="cuda"' output.interval=10 "output.file=\"$scratch/failed.h5\"" &&
    all_fail "$shoal" run -q --force "$root/configs/plummer.cfg" model.n=64 run.t_end=0.02 'run.engine="cuda"' \
        "output.file=\"$scratch/failed.h5\"" &&
    SHOAL_TEST_NAME=a_gpu_finds_the_same all_fail "$build/tests/test_model"); then pass
else fail "$out"; fi

exit $((failures > 0))
