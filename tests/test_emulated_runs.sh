#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Runs of the program on a GPU, without one: in the emulator (tests/emulator), to the bits of the CPU. Several devices,
# kills, tuning, memory that runs out. Prints the lines of a cmocka program.

build=${SHOAL_BUILD:-build}
shoal=${SHOAL_PROGRAM:-$build/shoal}
root=${SHOAL_ROOT:-.}
. "$(dirname "$0")/testing.sh"
. "$root/tests/emulator/missing.sh"

study() { # PROPAGATOR SYSTEMS YEARS ENGINE RUNNER...
    local propagator=$1 systems=$2 years=$3 engine=$4
    shift 4
    "$@" "$shoal" run --force --no-plot "$root/configs/scattering.cfg" "integrator.name=\"$propagator\"" \
        "sample.count=$systems" "run.t_end=$years" \
        "run.engine=\"$engine\"" output.interval=100 "output.file=\"$scratch/$engine.h5\"" && study_of "$engine"
}
study_of() { # NAME
    "$shoal" query "$scratch/$1.h5" >"$scratch/$1" && "$shoal" query "$scratch/$1.h5" --events >>"$scratch/$1" &&
        "$shoal" query "$scratch/$1.h5" --final >>"$scratch/$1"
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

# Several devices: systems that change hands, checkpoints, walkers; a run that is stopped twice and goes on with others.
begin several_devices
if [ -n "$missing" ]; then skip "$missing"
elif out=$(EMULATOR_DEVICES=3 "$root/tests/emulator/run" "$build" "$build/tests/test_devices" 2>&1 &&
    EMULATOR_DEVICES=3 SHOAL_TEST_NAME='*_gpu*' "$root/tests/emulator/run" "$build" \
        "$build/tests/test_model" 2>&1) && ! grep -q SKIPPED <<<"$out"; then pass
else fail "$out"; fi

# A run that is killed on two devices, and again on three, when its journal has grown a few times; one ends it.
goes_on_with_others() {
    local file=$scratch/others.h5 devices process seen n i
    for devices in 2 '"all"' '[1]'; do
        SHOAL_EAGER_MOVES=1 EMULATOR_DEVICES=3 "$root/tests/emulator/run" "$build" "$shoal" run --no-plot \
            "$root/configs/scattering.cfg" 'integrator.name="mvs"' sample.count=200 run.t_end=150 'run.engine="cuda"' \
            run.slice_steps=50 run.checkpoint_s=0.0 output.interval=100 "output.file=\"$file\"" \
            "run.devices=$devices" >"$scratch/said" 2>&1 &
        process=$!
        for ((seen = 0, n = 0, i = 0; i < 6000 && n < 5; i++)); do
            [ "$devices" != '[1]' ] && kill -0 $process || break
            [ "$(stat -c %s "$file.journal" 2>/dev/null || echo 0)" -eq "$seen" ] || n=$((n + 1))
            seen=$(stat -c %s "$file.journal" 2>/dev/null || echo 0)
            sleep 0.02
        done
        [ $n -lt 5 ] || { kill -9 $process; wait $process; } 2>/dev/null
        [ $n -eq 5 ] || wait $process || { cat "$scratch/said"; return 1; }
        [ "$devices" = 2 ] || grep -q 'going on from' "$scratch/said" || { cat "$scratch/said"; return 1; }
        [ "$devices" = '[1]' ] || [ $n -eq 5 ] || { echo "not killed: $(cat "$scratch/said")"; return 1; }
    done
}
begin a_study_goes_on_with_other_devices
if [ -n "$missing" ]; then skip "$missing"
elif out=$(study mvs 200 150 cpu 2>&1 && goes_on_with_others 2>&1 && study_of others 2>&1) &&
    cmp "$scratch/cpu" "$scratch/others"; then pass
else fail "$out"; fi

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
    EMULATOR_DEVICES=2 all_fail "$shoal" run -q --force --no-plot "$root/configs/scattering.cfg" \
        'integrator.name="hybrid"' sample.count=40 run.t_end=1 'run.engine="cuda"' run.devices=2 output.interval=1 \
        "output.file=\"$scratch/failed.h5\"" &&
    all_fail "$shoal" run -q --force "$root/configs/plummer.cfg" model.n=64 run.t_end=0.02 'run.engine="cuda"' \
        "output.file=\"$scratch/failed.h5\"" &&
    SHOAL_TEST_NAME=what_cannot_be_has_none_on_a_gpu all_fail "$build/tests/test_model"); then pass
else fail "$out"; fi

exit $((failures > 0))
