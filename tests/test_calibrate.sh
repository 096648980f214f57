#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# test_calibrate.sh: simulation-based calibration of a model that is linear in its parameters. Ranks are uniform; with
# errors greater than they say they are not; a calibration that was killed, and one with more sets, have the same ranks
# for any number of threads and of sets at once. Prints the lines of a cmocka program.

# shellcheck source=tests/testing.sh
. "$(dirname "$0")/testing.sh"

build=${SHOAL_BUILD:-${BUILD:-build}}
shoal=$(realpath "${SHOAL_PROGRAM:-$build/shoal}")
export OMP_NUM_THREADS=2 LC_ALL=C
cd "$scratch" || exit 1

{
    echo time rv err
    for ((j = 0; j < 40; j++)); do echo "$((3 * j)).$((j * 7 % 10)) 0.0 3.0"; done
} >rv.txt
cat >linear.cfg <<'END'
units = { length = "AU"; mass = "Msun"; time = "d"; };
system = { bodies = ( { name = "star"; m = 1.0; }, { name = "b"; m = 1e-9; P = 30.0; e = 0.0; omega = 0.0; } ); };
sample = { count = 1; parameters = (
    { data = "one"; parameter = "offset"; distribution = "normal"; mean = 3.0; sigma = 1.0; },
    { data = "one"; parameter = "trend"; distribution = "normal"; mean = 0.0; sigma = 0.02; } ); };
data = ( { name = "one"; kind = "velocity"; file = "rv.txt"; columns = [ "time", "rv", "err" ]; } );
likelihood = { motion = "keplerian"; };
integrator = { name = "mvs"; dt = 1.0; };
run = { t_end = 1.0; engine = "cpu"; };
fit = { walkers = 16; ess = 300.0; rhat = 1.02; };
calibrate = { sets = 40; at_once = 8; };
END

begin ranks_are_uniform
if "$shoal" calibrate linear.cfg >table && grep -q 'of 40 sets' table &&
    "$shoal" query linear_calibration.h5 >whole.csv && [ "$(wc -l <whole.csv)" -eq 121 ]; then
    pass
else
    fail "$(cat table)"
fi

begin a_wrong_error_gives_a_small_p
"$shoal" calibrate linear.cfg calibrate.noise=3 calibrate.file=wrong.h5 >table 2>errors
code=$?
p=$(sed -n 's/^all  *p = \([^ ]*\) .*/\1/p' table)
if [ $code -eq 1 ] && grep -q 'not uniform' errors && awk "BEGIN { exit !($p < 1e-6) }"; then
    pass
else
    fail "exit code $code, p = $p" "$(cat errors)"
fi

begin a_killed_calibration_has_the_same_ranks
timeout -s KILL 1 "$shoal" calibrate -q linear.cfg calibrate.file=killed.h5 calibrate.at_once=5 run.threads=2
if "$shoal" calibrate -q linear.cfg calibrate.file=killed.h5 calibrate.sets=20 calibrate.at_once=3 run.threads=1 &&
    "$shoal" calibrate -q linear.cfg calibrate.file=killed.h5 && "$shoal" query killed.h5 | cmp - whole.csv &&
    [ ! -e killed.h5.journal ]; then
    pass
else
    fail "other ranks"
fi

begin imprecise_fits_are_named_and_repeated
"$shoal" calibrate -q linear.cfg calibrate.file=short.h5 calibrate.sets=10 fit.steps=100 2>errors
code=$?
if [ $code -eq 1 ] && grep -q 'set 3: not precise after 100 steps' errors &&
    "$shoal" calibrate -q linear.cfg calibrate.file=short.h5 calibrate.sets=10 &&
    "$shoal" query short.h5 | cmp - <(head -31 whole.csv); then
    pass
else
    fail "exit code $code" "$(cat errors)"
fi

begin another_calibration_is_refused
if "$shoal" calibrate -q linear.cfg calibrate.seed=2 2>errors; then
    fail "exit code 0"
elif grep -q 'linear_calibration.h5 is there already' errors &&
    "$shoal" plot -S linear_calibration.h5 | grep -q '^plot'; then
    pass
else
    fail "$(cat errors)"
fi
[ "$failures" -eq 0 ]
