#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# test_kills.sh: runs that are killed and files that are torn. After a kill a new start gives the bits of an undisturbed
# run and leaves no other file; of two starts at one moment one runs; what was changed in a result or a journal is
# refused in one line, or changes nothing. Prints the lines of a cmocka program.
#
#   SHOAL_TEST_ALL=1 tests/test_kills.sh    200 kills at random moments, 500 torn files; else some
#   SEED=2 tests/test_kills.sh              others

# shellcheck source=tests/testing.sh
. "$(dirname "$0")/testing.sh"

build=${SHOAL_BUILD:-${BUILD:-build}}
shoal=$(realpath "${SHOAL_PROGRAM:-$build/shoal}")
root=$(realpath "$(dirname "$0")/..")
export OMP_NUM_THREADS=2 LC_ALL=C
# libhdf5 leaks what it has of a damaged file that it cannot close
export ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0
RANDOM=${SEED:-1}
n_kills=12 n_torn=40
[ -z "$SHOAL_TEST_ALL" ] || { n_kills=200 n_torn=500; }
mkdir "$scratch/work" && cd "$scratch/work" || exit 1

cat >../few.cfg <<'END'
units = { length = "AU"; mass = "Msun"; time = "yr"; };
angles = "degrees";
system = { elements = "jacobi"; bodies = (
    { name = "sun"; m = 1.0; },
    { name = "b"; m = 1e-3; a = 1.0; e = 0.05; l = 10.0; pomega = 20.0; },
    { name = "c"; m = 1e-3; a = 1.5; e = 0.02; l = 130.0; inc = 2.0; } ); };
sweep = ( { body = "c"; parameter = "a"; from = 1.2; to = 1.9; count = 12; } );
integrator = { name = "mvs"; dt = 0.02; };
monitors = ( { name = "transits"; }, { name = "stop_on_encounter"; } );
run = { t_end = 30.0; engine = "cpu"; checkpoint_s = 0.0; slice_steps = 100; };
output = { file = "few.h5"; interval = 3.0; };
END
sed 's/count = 12/count = 70/; s/t_end = 30.0/t_end = 6.0; wave = 32/' ../few.cfg >../waves.cfg
cat >../big.cfg <<'END'
model = { name = "plummer"; n = 64; seed = 1; };
integrator = { name = "hermite4"; dt = 0.0078125; };
gravitation = { softening = 0.05; };
run = { t_end = 2.0; engine = "cpu"; checkpoint_s = 0.0; };
output = { file = "big.h5"; interval = 0.125; };
END

# A new start until the end, which must give the right bits; the problem, or nothing.
finish() {
    local study=$1
    if ! "$shoal" run -q "../$study.cfg" >/dev/null 2>../err; then
        # killed after the result was there
        grep -q 'is there already\|exists; --force' ../err || { head -n 1 ../err; return; }
    fi
    diff -rq . "../$study.right" 2>&1
}

kills_at_random() {
    local study=$1 i problem began t
    began=$(date +%s%N)
    "$shoal" run -q "../$study.cfg" && mkdir "../$study.right" && mv ./* "../$study.right"
    t=$((($(date +%s%N) - began) / 1000000))
    begin "kills_at_random_moments_$study"
    for ((i = 0; i < n_kills / 2; i++)); do
        for ((k = 0; k <= RANDOM % 3; k++)); do
            "$shoal" run -q "../$study.cfg" >/dev/null 2>&1 &
            local process=$!
            sleep "$(printf '0.%03d' $((RANDOM % (t < 900 ? t : 900))))"
            { kill -9 $process; wait $process; } 2>/dev/null
        done
        problem=$(finish "$study")
        [ -z "$problem" ] || { fail "kill $i: $problem"; rm -rf ./*; return; }
        rm -f ./*
    done
    pass
}

kills_at_changes() {
    local study=$1 n i problem
    begin "kills_at_every_change_of_a_file_$study"
    if ! ${CC:-cc} -O1 -shared -fPIC -o ../kill_at.so "$root/tests/faults/kill_at.c" -ldl 2>/dev/null ||
        nm -D "$shoal" 2>/dev/null | grep -q __asan_init; then
        skip 'no shared object can be preloaded'
        return
    fi
    KILL_COUNT=../count LD_PRELOAD=../kill_at.so "$shoal" run -q "../$study.cfg"
    n=$(cat ../count)
    rm -f ./*
    [ "$n" -ge 8 ] || { fail "only $n changes"; return; }
    for ((i = 1; i <= n; i += SHOAL_TEST_ALL || i < 8 || i > n - 12 ? 1 : 11)); do
        (
            [ $((i % 2)) -eq 0 ] || export KILL_HALF=1
            KILL_AT=$i LD_PRELOAD=../kill_at.so exec "$shoal" run -q "../$study.cfg" >/dev/null 2>&1
        ) 2>/dev/null
        problem=$(finish "$study")
        [ -z "$problem" ] || { fail "change $i of $n: $problem"; rm -rf ./*; return; }
        rm -f ./*
    done 2>/dev/null
    pass
}

two_starts() {
    local study=$1 i problem='' refused='another run is writing\|is there already\|exists; --force'
    begin "two_starts_at_one_moment_$study"
    for ((i = 0; i < n_kills / 2; i++)); do
        "$shoal" run -q "../$study.cfg" 2>../err.a &
        "$shoal" run -q "../$study.cfg" 2>../err.b
        wait $!
        for one in a b; do
            grep -v "$refused" ../err.$one && problem=$(cat ../err.$one)
        done
        [ -z "$problem" ] && problem=$(cat ../err.a ../err.b | wc -l | grep -vx 1)
        [ -z "$problem" ] && problem=$(finish "$study")
        [ -z "$problem" ] || { fail "start $i: $problem"; rm -rf ./*; return; }
        rm -f ./*
    done
    pass
}

# Cuts a file, or changes one to four of its bytes.
tear() {
    local size k
    size=$(stat -c %s "$1")
    if [ $((RANDOM % 4)) -eq 0 ]; then
        truncate -s $(((RANDOM * 32768 + RANDOM) % size)) "$1"
        return
    fi
    for ((k = 0; k <= RANDOM % 4; k++)); do
        printf "\\x$(printf %x $((RANDOM % 256)))" |
            dd of="$1" bs=1 seek=$(((RANDOM * 32768 + RANDOM) % size)) conv=notrunc 2>/dev/null
    done
}

# told CODE: the program ended well, or refused in one line
told() {
    case $1 in
    0) true ;;
    1 | 2) [ "$(grep -c '^shoal: ' ../err)" -eq 1 ] && ! grep -qv '^shoal: \|^HDF5: \|^      L,T_top' ../err ;;
    *) false ;;
    esac || { echo "exit code $1: $(head -n 3 ../err)"; return 1; }
}

torn_results() {
    local study=$1 i code problem=
    shift
    begin "torn_results_$study"
    local right=../$study.right/$study.h5
    "$shoal" query "$right" "$@" >../right.out
    for ((i = 0; i < n_torn / 4 && ${#problem} == 0; i++)); do
        # with its checksum, or as older versions wrote it
        if [ $((i % 2)) -eq 0 ]; then cp "$right" "$study.h5"; else tail -c +513 "$right" >"$study.h5"; fi
        tear "$study.h5"
        timeout 60 "$shoal" query "$study.h5" "$@" >../out 2>../err
        code=$?
        problem=$(told $code)
        [ -n "$problem" ] || [ $code -ne 0 ] || problem=$(cmp ../out ../right.out 2>&1)
        [ $code -ne 0 ] || [ $((i % 2)) -ne 0 ] || tail -c +513 "$study.h5" | cmp -s - <(tail -c +513 "$right") ||
            problem="a torn file is read"
    done
    rm -f ./*
    if [ -z "$problem" ]; then pass; else fail "file $i: $problem"; fi
}

# The journal of a run that was killed, torn: it goes on from what is good, or refuses.
torn_journals() {
    local i code problem=
    begin torn_journals
    "$shoal" run -q ../few.cfg run.t_end=1000.0 >/dev/null 2>&1 &
    local process=$!
    while [ "$(stat -c %s few.h5.journal 2>/dev/null || echo 0)" -lt 60000 ]; do sleep 0.01; done
    { kill -9 $process; wait $process; } 2>/dev/null
    mv few.h5.journal ../journal
    rm -f ./*
    "$shoal" run -q ../few.cfg run.t_end=1000.0 && mv few.h5 ../long.right
    for ((i = 0; i < n_torn / 2 && ${#problem} == 0; i++)); do
        cp ../journal few.h5.journal
        tear few.h5.journal
        timeout 60 "$shoal" query few.h5 --systems-table >../out 2>../err
        problem=$(told $?)
        timeout 60 "$shoal" run -q ../few.cfg run.t_end=1000.0 >/dev/null 2>../err
        code=$?
        [ -n "$problem" ] || problem=$(told $code)
        [ -n "$problem" ] || [ $code -ne 0 ] || problem=$(cmp few.h5 ../long.right 2>&1)
        rm -f ./*
    done
    if [ -z "$problem" ]; then pass; else fail "journal $i: $problem"; fi
}

# A kill while the journal was written anew (it is when checkpoints have made it long): what goes on removes that, too.
journal_written_anew() {
    begin kill_while_the_journal_is_written_anew
    "$shoal" run -q ../few.cfg run.t_end=1000.0 >/dev/null 2>&1 &
    local process=$!
    while [ ! -s few.h5.journal ]; do sleep 0.01; done
    { kill -9 $process; wait $process; } 2>/dev/null
    cp few.h5.journal few.h5.journal.new
    if "$shoal" run -q ../few.cfg run.t_end=1000.0 && [ "$(echo ./*)" = ./few.h5 ]; then pass
    else fail "there are: $(echo ./*)"; fi
    rm -f ./*
}

small_stack() {
    begin a_thousand_bodies_on_a_small_stack
    {
        echo 'angles = "degrees"; system = { elements = "astrocentric"; bodies = ( { name = "sun"; m = 1.0; }'
        for ((i = 1; i < 1000; i++)); do
            echo ", { name = \"b$i\"; m = 1e-9; a = $((i / 100)).$((i % 100 + 100)); l = $((i * 77 % 360)).0; }"
        done
        echo '); }; integrator = { name = "gauss_radau"; }; run = { t_end = 0.001; engine = "cpu"; };'
        echo 'output = { file = "k.h5"; };'
    } >../k.cfg
    if (ulimit -s 1024 && "$shoal" run -q ../k.cfg); then pass; else fail "exit code $?"; fi
    rm -f ./*
}

small_stack
for study in few big; do
    kills_at_random $study
    kills_at_changes $study
    two_starts $study
done
kills_at_random waves
kills_at_changes waves
torn_results few --systems-table
torn_results big
torn_journals
journal_written_anew
[ "$failures" -eq 0 ]
