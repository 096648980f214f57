#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# test_mpi.sh: a study by the ranks of an MPI job on this machine: the bytes of a run in one piece, for any number of
# ranks; a rank that is killed, interrupted or fails costs its shard, and a later start does what is missing and nothing
# twice. Prints the lines of a cmocka program.

# shellcheck source=tests/testing.sh
. "$(dirname "$0")/testing.sh"

build=${SHOAL_BUILD:-${BUILD:-build}}
shoal=$(realpath "${SHOAL_PROGRAM:-$build/shoal}")
team=$(dirname "$shoal")/shoal-mpi
begin mpi
if ! command -v mpirun >/dev/null; then
    skip 'no mpirun here (Debian: openmpi-bin, libopenmpi-dev)'
    exit 0
elif [ ! -x "$team" ]; then
    skip 'shoal-mpi is not built: there was no mpicc'
    exit 0
fi
# One thread, as the file says in its line about the plan.
export OMP_NUM_THREADS=1 LC_ALL=C
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_btl_vader_single_copy_mechanism=none OMPI_MCA_btl=self,vader,tcp OMPI_MCA_btl_tcp_if_include=lo
# MPI leaks
export ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0
cd "$scratch" || exit 1
mkdir ranks right

cat >study.cfg <<'END_OF_STUDY'
units = { length = "AU"; mass = "Msun"; time = "yr"; };
angles = "degrees";
system = { elements = "jacobi"; bodies = (
    { name = "sun"; m = 1.0; },
    { name = "b"; m = 1e-3; a = 1.0; e = 0.05; l = 10.0; pomega = 20.0; },
    { name = "c"; m = 1e-3; a = 1.5; e = 0.02; l = 130.0; inc = 2.0; } ); };
sweep = ( { body = "c"; parameter = "a"; from = 1.2; to = 1.9; count = 60; } );
integrator = { name = "mvs"; dt = 0.02; };
monitors = ( { name = "transits"; }, { name = "stop_on_encounter"; } );
run = { t_end = 30.0; engine = "cpu"; };
output = { file = "study.h5"; interval = 3.0; };
END_OF_STUDY
# It takes seconds, with a checkpoint every tenth; a build with sanitizers is slow.
if nm "$shoal" 2>/dev/null | grep -q __asan_init; then t_end=20000.0; else t_end=100000.0; fi
long=("run.t_end=$t_end" "output.interval=$t_end" run.checkpoint_s=0.1 'monitors=({name="stop_on_encounter";})')

launch=()
# ranks N ARGUMENT...: a job of N ranks; each leaves the number of its process in ranks/
ranks() {
    local n=$1
    shift
    # shellcheck disable=SC2016
    timeout 200 mpirun "${launch[@]}" --oversubscribe --bind-to none -n "$n" bash -c \
        'echo $$ >ranks/$OMPI_COMM_WORLD_RANK; exec "$0" "$@"' "$team" "$@" >out 2>err </dev/null
}
said() { head -c 600 out err; }
count() { "$shoal" status --csv | awk -F, -v state="$1" '$4 == state { n++ } END { print n + 0 }'; }
# What is left must be the result, and its bytes those of a run in one piece.
is_whole() {
    local left
    left=$(echo study*)
    if [ "$left" != "study.cfg study.h5" ]; then fail "left: $left" "$(said)"
    elif ! cmp study.h5 "$1"; then fail "other bytes than those of a run in one piece" "$(said)"
    else pass; fi
    rm -f study.h5
}
# in_the_middle N OPTION...: begin the long study with N ranks in the background; returns when shards are done and
# others begun
in_the_middle() {
    local i
    rm -f ranks/* study.*h5*
    ranks "$1" study.cfg --size 3 "${@:2}" "${long[@]}" &
    job=$!
    for ((i = 0; i < 1000; i++)); do
        sleep 0.05
        begun=$("$shoal" status --csv | awk -F, '$4 == "running" && $5 > 0.1 { n++ } END { print n + 0 }')
        if [ "$(count 'done')" -ge 2 ] && [ "$begun" -ge 2 ]; then return 0; fi
    done
    return 1
}

"$shoal" run -qn study.cfg && mv study.h5 right/short.h5
"$shoal" run -qn study.cfg "${long[@]}" && mv study.h5 right/long.h5
if [ -f right/short.h5 ] && [ -f right/long.h5 ]; then pass; else fail "a run in one piece"; fi

begin four_ranks_leave_the_bytes_of_one_process
ranks 4 study.cfg
is_whole right/short.h5

begin any_number_of_ranks_and_shards
ranks 3 study.cfg --size 7
if ! grep -q '3 ranks, 1 thread each; 9 shards, 9 to do' out; then fail "$(said)"; else is_whole right/short.h5; fi
begin one_rank_and_one_shard
ranks 1 study.cfg --size 60
is_whole right/short.h5

begin what_is_in_one_piece_goes_on
ranks 1 study.cfg --size 60 "${long[@]}" &
job=$!
for ((i = 0; i < 1000; i++)); do
    sleep 0.05
    [ "$("$shoal" status --csv | awk -F, '$4 == "running" && $5 > 0.1 { n++ } END { print n + 0 }')" -eq 0 ] || break
done
kill -TERM "$(cat ranks/0)"
wait "$job"
code=$?
ranks 2 study.cfg --size 3 "${long[@]}" && code=in_shards
if [ $code != 130 ] || ! grep -q 'study.h5.journal: of a run in one piece' err; then fail "exit code $code" "$(said)"
elif ! ranks 1 study.cfg --size 60 "${long[@]}"; then fail "the second start" "$(said)"
else is_whole right/long.h5; fi

begin a_rank_that_is_killed_costs_its_shard
if ! in_the_middle 4; then fail "it does not begin, or ended at once" "$(said)"
else
    kill -9 "$(cat ranks/1)"
    if wait "$job"; then fail "the job does not notice"; fi
    for rank in ranks/*; do while kill -0 "$(cat "$rank")" 2>/dev/null; do sleep 0.1; done; done
    done_before=$(count 'done')
    failed=$("$shoal" status --csv | awk -F, '$4 == "failed" && $5 > 0 { print $5, $2 }' | sort -n |
        tail -n 1 | cut -d ' ' -f 2)
    ls -i $("$shoal" status --csv | awk -F, '$4 == "done" { print $7 }') >before
    # a plain run takes up a shard that was begun, as a job of an array would
    if ! "$shoal" run -n study.cfg "${long[@]}" run.shard="$failed/20" >out 2>err || ! grep -q '^going on from' out
    then fail "shard $failed of 20 does not go on from its journal" "$(said)"
    elif "$shoal" status -a >states && ! ranks 2 study.cfg "${long[@]}" --keep; then fail "the second start" "$(said)"
    elif ! grep -q " 20 shards, $((20 - done_before - 1)) to do" out
    then fail "$done_before were done" "$(cat states)" "$(said)"
    elif ! ls -i $(awk '{ print $2 }' before) | cmp - before; then fail "what was done was done again"
    else
        rm -f study.*-of-20.h5
        is_whole right/long.h5
    fi
fi

# Where the launcher lets the others live, they end without the dead one, whichever it is.
for dead in 2 0; do
    begin "ranks_end_without_rank_$dead"
    launch=(--enable-recovery)
    in_the_middle 4 --patience 4 && kill -9 "$(cat ranks/$dead)" && wait "$job"
    launch=()
    for rank in ranks/*; do while kill -0 "$(cat "$rank")" 2>/dev/null; do sleep 0.1; done; done
    if [ "$dead" -ne 0 ] && ! grep -q '1 of 4 ranks are dead, 1 of 20 shards not done; start again' err
    then fail "$(said)"
    elif [ "$dead" -eq 0 ] && [ "$(grep -c '^shoal: rank [123]: rank 0 is dead' err)" -ne 3 ]; then fail "$(said)"
    elif [ "$(count 'done')" -ne 19 ]; then fail "expected 19 shards to be done" "$("$shoal" status)"
    elif ! ranks 2 study.cfg "${long[@]}"; then fail "the second start" "$(said)"
    else is_whole right/long.h5; fi
done

begin a_rank_that_is_interrupted_ends_in_order
code=
for ((try = 0; try < 3; try++)); do # it may be in the last slice of its shard, which then has not failed
    in_the_middle 3 || break
    kill -TERM "$(cat ranks/2)"
    wait "$job"
    code=$?
    [ $code -ne 130 ] || [ "$(count failed)" -ne 0 ] || [ "$(count 'done')" -ne 20 ] || continue
    break
done
if [ -z "$code" ]; then fail "it does not begin, or ended at once" "$(said)"
else
    if [ $code -ne 130 ] || [ "$(count failed)" -ne 1 ] || [ "$(count waiting)" -ne 0 ]
    then fail "exit code $code, expected 130 and one shard that failed" "$("$shoal" status)" "$(said)"
    elif ranks 4 study.cfg "${long[@]}"; then is_whole right/long.h5
    else fail "the second start" "$(said)"; fi
fi

begin a_rank_that_fails_leaves_the_rest_to_others
rm -rf study.*h5*; mkdir study.4-of-20.h5
if ranks 3 study.cfg --size 3; then fail "nobody has failed"
elif ! grep -q '^shoal: study.4-of-20.h5: is there and not a file' err || [ "$(count 'done')" -ne 19 ]
then fail "expected 19 shards to be done" "$(said)"
else
    rmdir study.4-of-20.h5
    ranks 2 study.cfg
    is_whole right/short.h5
fi

# refused CODE WORDS ARGUMENT...: with one line by one rank, before anything is done
refused() {
    local expected=$1 words=$2 code
    shift 2
    ranks 3 "$@"
    code=$?
    if [ $code -ne "$expected" ] || [ "$(grep -c '^shoal: ' err)" -ne 1 ] || ! grep -q "^shoal: .*$words" err; then
        problem+="$* ended with $code, expected $expected and \"$words\": $(said)"
    fi
}
begin what_cannot_be_is_refused_once
problem=
ranks 2 study.cfg --size 3 --keep
refused 2 'study.h5: exists; --force' study.cfg
rm -f study.h5
refused 2 'cut into 20 shards, and not into 12' study.cfg --size 5
refused 2 'study.1-of-20.h5: a shard of another study.*t_end' study.cfg run.t_end=31.0
refused 2 'without run.shard' study.cfg run.shard=1/2
refused 2 'nothing.cfg' nothing.cfg
refused 2 'expected a study' --quiet
refused 2 '--size: "many"' --size many study.cfg
if [ -n "$problem" ]; then fail "$problem"; else pass; fi

begin force_does_shards_of_another_study_again
ranks 3 study.cfg run.t_end=31.0 --force
if grep -q '20 shards, 20 to do' out && [ -f study.h5 ]; then pass; else fail "$(said)"; fi
exit $((failures > 0))
