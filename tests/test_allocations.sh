#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# test_allocations.sh: each allocation of the program itself fails in turn (tests/faults/fail_alloc.c), over all
# commands and formats. It then ends with one line that says so, and leaves no file behind; or with the output and the
# files of an undisturbed run. Prints the lines of a cmocka program.
#
#   SHOAL_TEST_ALL=1 tests/test_allocations.sh    every allocation; else a sample: all of the first ones, then every 7th
#   ONLY_COMMAND=run ...                          one row

# shellcheck source=tests/testing.sh
. "$(dirname "$0")/testing.sh"

build=${SHOAL_BUILD:-${BUILD:-build}}
shoal=$(realpath "${SHOAL_PROGRAM:-$build/shoal}")
root=$(realpath "$(dirname "$0")/..")
data=$root/tests/data
export XDG_CACHE_HOME=$scratch/cache OMP_NUM_THREADS=1 LC_ALL=C
! nm -D "$shoal" 2>/dev/null | grep -q __asan_init || {
    begin allocations; skip 'the address sanitizer has an allocator of its own'; exit 0; }
shim=$scratch/fail_alloc.so
${CC:-cc} -O1 -shared -fPIC -o "$shim" "$root/tests/faults/fail_alloc.c" -ldl 2>"$scratch/cc" || {
    begin allocations; skip "no shared object could be made: $(head -n 1 "$scratch/cc")"; exit 0; }

in=$scratch/in
mkdir "$in" && cd "$in" || exit 1
cat >s.cfg <<'END'
epoch = "J2000.0";
units = { length = "AU"; mass = "Msun"; time = "yr"; };
angles = "degrees";
system = { elements = "jacobi"; bodies = (
    { name = "sun"; m = 1.0; },
    { name = "b"; m = 1e-3; a = 1.0; e = 0.05; l = 10.0; omega = 20.0; inc = 90.0; },
    { name = "c"; m = 1e-3; a = 1.5; e = 0.02; l = 130.0; inc = 90.0; } ); };
sweep = ( { body = "c"; parameter = "a"; from = 1.4; to = 1.9; count = 3; } );
integrator = { name = "mvs"; dt = 0.02; };
monitors = ( { name = "transits"; }, { name = "megno"; }, { name = "stop_on_encounter"; } );
run = { t_end = 4.0; engine = "cpu"; threads = 1; };
output = { file = "s.h5"; interval = 0.5; times = [ 0.7 ]; };
END
cat >sample.cfg <<'END'
units = { length = "AU"; mass = "Msun"; time = "yr"; };
system = { bodies = ( { name = "sun"; m = 1.0; r = 0.005; }, { name = "b"; m = 1e-3; a = 1.0; r = 0.01; },
                      { name = "c"; m = 1e-3; a = 1.0; r = 0.01; M = 0.02; e = 0.01; } ); };
sample = { seed = 3; count = 4; parameters = (
    { body = "b"; parameter = "e"; distribution = "normal"; mean = 0.1; sigma = 0.02; } ); };
integrator = { name = "gauss_radau"; };
monitors = ( { name = "stop_on_collision"; action = "merge"; }, { name = "energy_error"; } );
run = { t_end = 1.0; engine = "cpu"; threads = 1; };
output = { file = "sample.h5"; };
END
cat >big.cfg <<'END'
model = { name = "plummer"; n = 32; seed = 1; };
integrator = { name = "hermite4"; dt = 0.01; };
gravitation = { softening = 0.05; };
run = { t_end = 0.25; threads = 1; engine = "cpu"; };
output = { file = "big.h5"; interval = 0.125; };
END
{ "$shoal" run -qn s.cfg; "$shoal" run -qn s.cfg run.shard=1/2 output.file=p.h5
  "$shoal" run -qn s.cfg run.shard=2/2 output.file=p.h5; "$shoal" run -qn sample.cfg
  "$shoal" run -q big.cfg; "$shoal" convert -q s.h5 s.csv; "$shoal" convert -q s.h5 s.txt
  for end in tipsy hdf5; do "$shoal" convert -q s.h5 s.$end --system 1; done
  "$shoal" convert -q s.h5 s.phi --system 1 --to phigrape
  "$shoal" generate s.cfg -o g.csv; } >"$scratch/made" 2>&1; [ -z "$ONLY_COMMAND" ] || cat "$scratch/made"

# attempt N COMMAND...: in a folder of its own; the problem, or nothing
attempt() {
    local n=$1 work rc problem=
    shift
    local out=$scratch/out.$$ err=$scratch/err.$$
    work=$scratch/work.$$
    mkdir "$work" && cd "$work" || return
    timeout 60 env FAIL_ALLOC="$n" LD_PRELOAD="$shim" "$shoal" "$@" >"$out" 2>"$err" </dev/null
    rc=$?
    if [ $rc -eq 0 ]; then
        grep -v '^wall time' "$out" | cmp -s - "$scratch/right.out" || problem="ends with 0 and another output"
        problem=${problem:-$(diff -rq . "$scratch/right" | head -n 2)}
    elif [ $rc -gt 3 ]; then problem="exit code $rc"
    elif ! grep -qi memory "$err"; then problem="says: $(head -c 300 "$err")"
    elif [ "$(grep -c '^shoal: ' "$err")" -ne 1 ]; then problem="not one line: $(head -c 300 "$err")"
    elif ls ./*.tmp.* >/dev/null 2>&1; then problem="leaves $(echo ./*.tmp.*)"
    fi
    cd "$scratch" && rm -rf "$work" "$out" "$err"
    [ -z "$problem" ] || printf 'allocation %d%s: %s\n' "$n" "${FAIL_ALLOC_ALL:+ and all after it}" "$problem"
}
export -f attempt
export scratch shim shoal

total=0
# row NAME COMMAND...
row() {
    name=$1
    shift
    [ -z "$ONLY_COMMAND" ] || [ "$ONLY_COMMAND" = "$name" ] || return
    begin "allocations_$name"
    rm -rf "$scratch/right" && mkdir "$scratch/right" && cd "$scratch/right" || exit 1
    if ! FAIL_ALLOC_COUNT=$scratch/count LD_PRELOAD=$shim "$shoal" "$@" >../right.all 2>../right.err </dev/null; then
        fail "it fails undisturbed: $(head -c 300 ../right.err)"
        return
    fi
    grep -v '^wall time' ../right.all >../right.out
    cd "$scratch" || exit 1
    local n
    n=$(cat count)
    numbers() { if [ -n "$SHOAL_TEST_ALL" ]; then seq "$n"; else seq $((n < 12 ? n : 12)); seq 17 7 "$n"; fi; }
    total=$((total + $(numbers | wc -l)))
    numbers | xargs -P 2 -I '{}' bash -c 'attempt "$@"' _ '{}' "$@" >found
    [ -z "$SHOAL_TEST_ALL" ] || numbers | FAIL_ALLOC_ALL=1 xargs -P 2 -I '{}' bash -c 'attempt "$@"' _ '{}' "$@" >>found
    if [ -s found ]; then
        fail "shoal $*" "$(sort -k 2n found | head -n "${SHOAL_TEST_SHOW:-12}")" "$(wc -l <found) of $n"
    else pass; fi
}

row run run -n "$in/s.cfg" output.file=s.h5
row run_sample run -n "$in/sample.cfg" output.file=sample.h5
row run_big run "$in/big.cfg" output.file=big.h5
row rerun rerun "$in/s.h5" --system 1 -o again.h5 -i 0.1 -d "$in"
row merge merge merged.h5 "$in"/p.*of-2.h5
row query query "$in/s.h5"
row query_where query "$in/s.h5" --elements --where 'megno < 30 && c.a > 1.3'
row query_table query "$in/s.h5" --systems-table
row query_log query "$in/s.h5" --log=transits
row query_events query "$in/sample.h5" --events
row query_big query "$in/big.h5"
row plot_map plot --script "$in/s.h5" -o p.png
row plot_transits plot --script "$in/s.h5" --kind transits --system 1 -o p.png
row plot_elements plot --script "$in/s.h5" --kind elements --system 1 -o p.png
row plot_energy plot --script "$in/s.h5" --kind energy --system 1 -o p.png
row plot_survival plot --script "$in/s.h5" --kind survival -o p.png
row plot_big plot --script "$in/big.h5" -o p.png
row verify verify "$in/s.h5" "$in/s.h5"
row generate generate "$in/s.cfg" -o g.csv
row list list
row explain explain hybrid
row explain_all explain --all
row info info
row convert_csv convert "$in/s.csv" out.h5
row convert_result convert "$in/s.h5" out.csv --where 'c.a > 1.3'
row convert_swarm convert "$in/s.txt" out.csv
row convert_mercury convert "$data/planets.big.in" "$data/comet.small.in" out.csv
row convert_exoplanets convert "$data/exoplanets.csv" out.csv
row convert_horizons convert "$data/horizons_sun.txt" "$data/horizons_jupiter.txt" out.csv -m 5=9.54e-4
row convert_tipsy convert "$in/s.tipsy" out.csv --from-units AU,Msun,G=1
row convert_gadget convert "$in/s.hdf5" out.csv
row convert_phigrape convert "$in/s.phi" out.csv --from-units AU,Msun,G=1 --from phigrape
row convert_to_swarm convert "$in/s.csv" out.txt
row convert_to_tipsy convert "$in/s.csv" out.tipsy --system 1
row convert_to_gadget convert "$in/s.csv" out.hdf5 --system 1
row convert_to_mercury convert "$in/s.csv" out.in --system 1
echo "$total allocations failed"
[ "$failures" -eq 0 ]
