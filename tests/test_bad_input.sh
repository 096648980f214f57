#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# test_bad_input.sh: wrong studies, tables, results and command lines, a row each: the exit code, one line that names
# the place and what was expected, and not a file touched. Prints the lines of a cmocka program; the program under test
# is SHOAL_PROGRAM, or shoal in the build folder SHOAL_BUILD, BUILD or build.

build=${SHOAL_BUILD:-${BUILD:-build}}
shoal=$(realpath "${SHOAL_PROGRAM:-$build/shoal}")
data=$(realpath "$(dirname "$0")/data")
plugins=$(realpath "$(dirname "$0")/../examples/plugins")
failures=0
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
mkdir "$scratch/folder" && cd "$scratch/folder" || exit 1

begin() { name=$1; problem=; printf '[ RUN      ] %s\n' "$name"; }
end() {
    if [ -z "$problem" ]; then printf '[       OK ] %s\n' "$name"
    else printf '%s\n[  FAILED  ] %s\n' "$problem" "$name"; failures=$((failures + 1)); fi
}
skip() { printf '[ RUN      ] %s\n%s\n[  SKIPPED ] %s\n' "$1" "$2" "$1"; }
wrong() { problem="$problem$*"$'\n'; }
files() { find . -type f -exec cksum {} + | sort -k 3; }

# row NAME CODE PATTERN ARGUMENT...: shoal ends with CODE, says one line "shoal: PATTERN" (of the shell), touches no
# file
row() {
    local code=$2 pattern=$3 before after out err n
    begin "$1"
    shift 3
    before=$(files)
    out=$("$shoal" "$@" 2>../err </dev/null)
    n=$?
    after=$(files)
    err=$(cat ../err)
    [ $n -eq "$code" ] || wrong "exit code $n, expected $code"
    # shellcheck disable=SC2254 # a pattern it is
    case $err in "shoal: "$pattern) ;; *) wrong "expected \"shoal: $pattern\"" ;; esac
    [ "$(wc -l <../err)" -eq 1 ] || wrong "not one line"
    [ -z "$out" ] || wrong "it printed: $out"
    [ "$before" = "$after" ] || wrong "files: $(diff <(echo "$before") <(echo "$after"))"
    [ -z "$problem" ] || wrong "shoal $* said: $err"
    end
}

# The study of which each row changes a line.
lines=(
    'epoch = "J2000.0";'
    'units = { length = "AU"; mass = "Msun"; time = "yr"; };'
    'angles = "degrees";'
    'system = { elements = "jacobi"; bodies = ('
    '    { name = "sun"; m = 1.0; },'
    '    { name = "b"; m = 1e-3; a = 1.0; e = 0.05; l = 10.0; pomega = 20.0; },'
    '    { name = "c"; m = 1e-3; a = 1.5; e = 0.02; l = 130.0; inc = 2.0; } ); };'
    'sweep = ( { body = "c"; parameter = "a"; from = 1.4; to = 1.9; count = 4; } );'
    'forces = ( );'
    'integrator = { name = "mvs"; dt = 0.02; };'
    'monitors = ( { name = "stop_on_encounter"; } );'
    'run = { t_end = 2.0; engine = "cpu"; };'
    'output = { file = "new.h5"; interval = 1.0; };'
)
# config NAME LINE TEXT PATTERN [ARGUMENT...]: the study with another line LINE; PATTERN follows "bad.cfg:LINE: "
config() {
    local name=$1 line=$2 text=$3 pattern=$4 changed=("${lines[@]}")
    shift 4
    changed[line - 1]=$text
    printf '%s\n' "${changed[@]}" >bad.cfg
    row "$name" 2 "bad.cfg:$line: $pattern" run bad.cfg "$@"
}

# table NAME PATTERN LINE...: a study of a CSV table of these lines after its heading; PATTERN follows "./bodies.csv:"
table() {
    local name=$1 pattern=$2
    shift 2
    printf '%s\n' system,body,name,m,x,y,z,vx,vy,vz "$@" >bodies.csv
    row "$name" 2 "./bodies.csv:$pattern" run table.cfg
}

printf '%s\n' "${lines[@]}" >study.cfg
printf 'system = { file = "bodies.csv"; }; integrator = { dt = 0.01; }; run = { t_end = 1.0; };' >table.cfg
{
    "$shoal" run study.cfg output.file=study.h5 --quiet --no-plot
    for i in 1 2; do "$shoal" run study.cfg run.shard=$i/2 output.file=part.h5 --quiet; done
    "$shoal" run study.cfg run.shard=1/2 run.t_end=3 output.file=longer.h5 --quiet
    "$shoal" query study.h5 >study.csv
} || exit 1
head -c 6000 study.h5 >cut.h5
: >empty.h5
head -c 500 study.csv >cut.csv
cp cut.h5 hole.h5 # all of its length, most of it zeros
truncate -s "$(stat -c %s study.h5)" hole.h5

# ---- a study: keys and types ----------------------------------------------------------------------------------------

config unknown_section 9 'force = ( );' "force = (): expected a known key (did you mean 'forces'?)"
config unknown_key 12 'run = { t_ned = 2.0; };' "run.t_ned = 2.0: expected a known key (did you mean 't_end'?)"
config unknown_key_of_body 6 '{ name = "b"; m = 1e-3; a = 1.0; Omga = 3; },' \
    "system.bodies?1?.Omga = 3: *did you mean 'Omega'?)"
config unknown_key_of_plug 10 'integrator = { name = "mvs"; dt = 0.02; tolerance = 1e-9; };' \
    'integrator.tolerance = 1e-09: expected one of the keys name, dt, *'
config syntax 10 'integrator = { dt = 0,02; };' 'expected the syntax of libconfig: syntax error here or just above (*'
config word_of_others 6 '{ name = "b"; mass = 1e-3; a = 1.0; },' \
    "system.bodies?1?.mass = 0.001: expected a known key (did you mean 'm'?)"
config key_twice 12 'run = { t_end = 2.0; t_end = 3.0; };' 'expected the syntax of libconfig: duplicate *'
config decimal_mark_missing 12 'run = { t_end = 5000000000; };' '5000000000: expected an integer of 32 bits, *'
config number_in_quotes 12 'run = { t_end = "2.0"; };' 'run.t_end = "2.0": expected a number in yr'
config number_for_word 1 'epoch = 2000;' 'epoch = 2000: expected a string in quotes'
config group_for_list 8 'sweep = { body = "c"; };' 'sweep = {...}: expected a list of groups *'
config fraction_of_a_count 8 'sweep = ( { body = "c"; parameter = "a"; from = 1.4; to = 1.9; count = 2.5; } );' \
    'sweep?0?.count = 2.5: expected an integer from 1 *'
config infinite 12 'run = { t_end = 1e999; };' 'run.t_end = inf: expected a finite number*'
config missing_key 12 'run = { engine = "cpu"; };' 'run.t_end: expected a time, or run.orbits'
config missing_name 11 'monitors = ( { factor = 1.0; } );' 'monitors?0?.name: expected the monitor * it must be given*'
config missing_mass 6 '{ name = "b"; a = 1.0; },' 'system.bodies?1?.m: expected a mass: it must be given'
config missing_size 6 '{ name = "b"; m = 1e-3; },' 'system.bodies?1? = {...}: expected one of a, P, *'
config missing_parameter 9 'forces = ( { name = "j2"; J2 = 1e-3; } );' \
    'forces?0?.radius: expected a number >= 0 in AU: it must be given *'
for a in 1e150 1e-150; do
    config "no_first_step_$a" 10 'integrator = { name = "gauss_radau"; };' \
        'integrator = {...}: expected dt: no first step follows from the bodies of system 0, *' 'sweep=()' \
        'system={ bodies = ( { name = "s"; m = 1.0; }, { name = "b"; m = 1e-3; a = '$a'; } ); }'
done
config missing_step 10 'integrator = { name = "mvs"; };' 'integrator = {...}: expected dt or steps_per_orbit'

# ---- a study: words -------------------------------------------------------------------------------------------------

config unknown_propagator 10 'integrator = { name = "mvz"; dt = 0.02; };' \
    "integrator.name = \"mvz\": expected a propagator: *'mvs'?)"
config unknown_monitor 11 'monitors = ( { name = "stop_on_eject"; } );' \
    "monitors?0?.name = *: expected a monitor: *'stop_on_ejection'?)"
config unknown_force 9 'forces = ( { name = "grr"; } );' "forces?0?.name = \"grr\": expected a force: one of *'gr'?)"
config unknown_unit 2 'units = { length = "parsec"; };' \
    'units.length = "parsec": expected a unit of length: one of AU, *'
config unknown_angle 3 'angles = "degree";' "angles = *did you mean 'degrees'?)"
config unknown_distribution 8 \
    'sample = { parameters = ( { body = "c"; parameter = "e"; distribution = "uniforn"; } ); };' \
    "sample.parameters?0?.distribution = \"uniforn\": expected one of *'uniform'?)"
config draws_nowhere 8 'sample = { parameters = ( { body = "c"; parameter = "e"; column = "ec"; } ); };' \
    'sample.parameters?0?.column = "ec": expected no column without sample.file'
ec='sample = { file = "draws.csv"; parameters = ( { body = "c"; parameter = "e"; '
config draws_and_distribution 8 "$ec"'column = "ec"; distribution = "uniform"; } ); };' \
    'sample.parameters?0?.column = "ec": expected either a column or a distribution'
config neither_draws_nor_distribution 8 'sample = { parameters = ( { body = "c"; parameter = "e"; } ); };' \
    'sample.parameters?0?.distribution: expected a distribution, or a column of sample.file'
config draws_for_nobody 8 "$ec"'distribution = "uniform"; from = 0.0; to = 0.1; } ); };' \
    'sample.file = "draws.csv": expected a parameter without a distribution, that takes a column'
draws='sample = { file = "draws.csv"; count = 2; parameters = ( { body = "c"; parameter = "e"; } ); };'
# draws NAME PATTERN LINE...: a study of draws
draws() {
    local name=$1 pattern=$2
    shift 2
    printf '%s\n' "${lines[@]:0:7}" "$draws" "${lines[@]:8}" >bad.cfg
    printf '%s\n' "$@" >draws.csv
    row "$name" 2 "$pattern" run bad.cfg
}
draws draws_of_others "./draws.csv:2: expected a column 'c.e' (is it 'c.ee'?)" '# a posterior' 'c.ee,lnL' 0.1,3 0.2,4
draws draws_column_twice "./draws.csv:1: expected one column 'c.e'" 'c.e,lnL,c.e' 0.1,3,0.2 0.2,4,0.3
draws draws_with_units './draws.csv:1: # units: AU, Msun, d: expected*' '# units: AU, Msun, d' 'c.e' 0.1 0.2
draws draws_too_few 'bad.cfg:8: sample.count = 2: expected at most 1, the rows of the file' 'c.e' 0.1
draws draws_none './draws.csv:1: expected a heading and at least one row of numbers' 'c.e'
draws draws_cell_missing './draws.csv:3: expected 2 cells, found 1' 'lnL,c.e' 3,0.1 3
draws draws_no_number './draws.csv:3: c.e = x: expected a finite number' 'lnL,c.e' 3,0.1 3,x
rm -f draws.csv
row draws_no_file 2 './draws.csv: cannot be read: No such file or directory' run bad.cfg
# angles beyond 2 pi in a unit that nobody named
radians='system = { bodies = ( { name = "star"; m = 1.0; }, { name = "b"; a = 1.0; } ); };
integrator = { name = "mvs"; dt = 0.02; }; run = { t_end = 1.0; };'
of_mass='sample = { parameters = ( { body = "b"; parameter = "m"; distribution = "log_uniform"; from = 1e-6; to = 1e-3;'
printf '%s\n' "$radians" "$of_mass"'
    }, { body = "b"; parameter = "inc"; distribution = "normal";' 'mean = 88.0;' 'sigma = 1.0; } ); };' >angle.cfg
row prior_in_degrees 2 'angle.cfg:5: sample.parameters?1?.mean = 88*: expected at most 2 pi radians*' run angle.cfg
printf '%s\n' "$radians" "$of_mass"'
    }, { body = "b"; parameter = "omega"; distribution = "uniform"; from = 0.0; to = 6.2; } );' \
    'tied = ( { body = "b"; parameter = "Omega"; to = "b.omega"; add = 180.0; } ); };' >angle.cfg
row tie_in_degrees 2 'angle.cfg:5: sample.tied?0?.add = 180*: expected at most 2 pi radians*' run angle.cfg
# in_degrees NAME PATTERN PARAMETERS [REST]: a sample with them is refused
in_degrees() {
    printf '%s\n' "$radians" "sample = { count = 2; parameters = ( $3 ); $4 };" >angle.cfg
    row "$1" 2 "$2: expected ${5-}at most 2 pi radians, or angles = *" run angle.cfg
}
inc='body = "b"; parameter = "inc"; distribution'
in_degrees ratio_in_degrees 'angle.cfg:3: sample.tied?0?.ratio = 3600*' \
    '{ body = "b"; parameter = "e"; distribution = "beta"; }' \
    'tied = ( { body = "b"; parameter = "M"; to = "b.e"; ratio = 3600.0; } );'
in_degrees rayleigh_in_degrees 'angle.cfg:3: sample.parameters?0?.sigma = 20*' "{ $inc = \"rayleigh\"; sigma = 20.0; }"
in_degrees width_in_degrees 'angle.cfg:3: sample.parameters?0?.plus = 20*' \
    "{ $inc = \"asymmetric_normal\"; mode = 1.0; plus = 20.0; minus = 1.0; }"
in_degrees covariance_in_degrees 'angle.cfg:3: sample.covariance?0? = 400*' \
    "{ $inc = \"correlated_normal\"; mean = 1.0; }" 'covariance = [ 400.0 ];' 'for b.inc the square of '
printf '%s\n' b.M 3.1 270.0 >draws.csv
in_degrees draws_in_degrees './draws.csv:3: b.M = 270.0' '{ body = "b"; parameter = "M"; }' 'file = "draws.csv";'
rm -f draws.csv
printf '%s\n' "$radians" "$of_mass"'
    } ); };' 'data = ( { name = "pa"; kind = "position_angle"; body = "b"; file = "pa.txt"; } );' >angle.cfg
printf '%s\n' 'time position_angle error' '0.5 147.3 0.5' >pa.txt
row data_in_degrees 2 './pa.txt:2: position_angle = 147.3: expected at most 2 pi radians*' fit angle.cfg
printf '%s\n' 'time rv error' '0.5 14.0 0.5' >pa.txt
normal='distribution = "normal"; mean = 0.0; sigma = 0.01; }'
printf '%s\n' "$radians" 'data = ( { name = "k"; kind = "velocity"; file = "pa.txt";
    columns = ["time", "rv", "error"]; } );' "$of_mass"' },' \
    "{ body = \"b\"; parameter = \"e_cos\"; $normal, { body = \"b\"; parameter = \"e_sin\"; $normal," \
    "{ body = \"b\"; parameter = \"l\"; $normal, { data = \"k\"; parameter = \"offset\"; $normal ); };" \
    'fit = { walkers = 8; };' >angle.cfg
row draws_too_far_apart 2 'angle.cfg: fit.steps = 20000: expected at least 8 times fit.thin = 30000' \
    fit angle.cfg fit.walkers=10 fit.thin=30000
row fitted_over_the_study 2 'angle.cfg: is there and no result file: it is not replaced' fit angle.cfg fit.walkers=10 \
    fit.file=angle.cfg --force --quiet
row too_few_walkers 2 'angle.cfg:8: fit.walkers = 8: expected at least 10, two for each parameter' fit angle.cfg
rm -f angle.cfg pa.txt
config word_without_quotes 10 'integrator = { name = "saba"; dt = 0.02; scheme = 4; };' \
    'integrator.scheme = 4: expected one of *, in quotes*'
config distance_of_no_use 11 'monitors = ( { name = "stop_on_encounter"; distance = 0.2; } );' \
    'monitors?0?.name = "stop_on_encounter": expected a monitor that applies: `distance` is for radius = "absolute"'
config distance_of_nothing 11 'monitors = ( { name = "stop_on_encounter"; radius = "absolute"; } );' \
    'monitors?0?.name = "stop_on_encounter": expected a monitor that applies: radius = "absolute" needs a *'
config relativity_twice 9 'forces = ( { name = "gr"; }, { name = "gr_potential"; } );' \
    'forces?1?.name = "gr_potential": expected one force of relativity; there is gr before it'
config energies_of_forces 11 'monitors = ( { name = "energy_error"; } );' \
    'monitors?0?.name = "energy_error": expected no forces with it: it knows *' \
    'forces=({name="gr";})'
config mass_without_end 7 '    { name = "c"; log10_m = 400.0; a = 1.5; } ); };' \
    'system.bodies?2?.log10_m = 400*: expected a finite mass' 'sweep=()'
config density_without_end 7 '    { name = "c"; density = 1e308; r = 1e3; a = 1.5; } ); };' \
    'system.bodies?2?.density = 1e+308: expected a finite mass' 'sweep=()'
begin byte_order_marks
{ printf '\xef\xbb\xbf'; cat study.cfg; } >bad.cfg
err=$("$shoal" run bad.cfg 2>&1) && wrong "it ran"
[ "$err" = \
    'shoal: bad.cfg:1: it begins with a byte order mark; expected plain UTF-8 (an editor'"'"'s "UTF-8 without BOM")' ] \
    || wrong "$err"
{ printf '\xef\xbb\xbf'; cat study.csv; } >marked.csv
"$shoal" convert marked.csv whole.h5 --quiet && "$shoal" convert study.csv plain.h5 --quiet &&
    "$shoal" verify marked.csv study.csv >/dev/null || wrong "not the same table"
rm -f marked.csv whole.h5 plain.h5
end
config column_with_a_mean 8 \
    'sample = { file = "draws.csv"; parameters = ( { body = "c"; parameter = "e"; mean = 0.1; } ); };' \
    "sample.parameters?0?.mean = 0.1: expected no 'mean' without a distribution"
config odd_block 12 'run = { t_end = 2.0; gpu_block = 100; };' 'run.gpu_block = 100: expected a multiple of 32*'
config few_registers 12 'run = { t_end = 2.0; gpu_registers = 8; };' 'run.gpu_registers = 8: expected 16..255*'
config three_bodies_a_thread 12 'run = { t_end = 2.0; gpu_bodies = 3; };' \
    'run.gpu_bodies = 3: expected one of 0, 1, 2, 4, 5*'
row bodies_of_no_thread 2 'command line: run.gpu_bodies=2: expected 1 at most: mvs has no such threads for 3 bodies' \
    run study.cfg run.gpu_bodies=2
row bodies_of_another_model 2 "command line: run.gpu_bodies=1: expected the work model 'body', not 'pair'" \
    run study.cfg run.gpu_bodies=1 'run.work_model="pair"'
config unknown_model 12 'run = { t_end = 2.0; work_model = "planet"; };' \
    'run.work_model = "planet": expected one of auto, system, body*'
config unknown_devices 12 'run = { t_end = 2.0; devices = "two"; };' \
    'run.devices = "two": expected "auto", "all", a number of GPUs up to 64, or a list*'
config half_a_device 12 'run = { t_end = 2.0; devices = 1.5; };' 'run.devices = 1.5: expected "auto", "all", *'
config twice_a_device 12 'run = { t_end = 2.0; devices = [ 1, 1 ]; };' '*devices*: expected "auto", "all", *'
config unknown_engine 12 'run = { t_end = 2.0; engine = "gpu"; };' \
    'run.engine = "gpu": expected one of auto, cpu, cuda*'
config unknown_body 8 'sweep = ( { body = "d"; parameter = "a"; values = [1.0]; } );' \
    "sweep?0?.body = \"d\": expected a body's name or index*"
config unknown_parameter 8 'sweep = ( { body = "c"; parameter = "omga"; values = [1.0]; } );' \
    "sweep?0?.parameter = *'Omega'?)"
config unknown_action 11 'monitors = ( { name = "stop_on_encounter"; action = "lgo"; } );' \
    "monitors?0?.action = *'log'?)"
row unknown_outcome 2 'command line: monitors=*: expected one of *' \
    run study.cfg 'monitors=( { name = "stop_on_collision"; action = "survive"; } )'

# ---- a study: values ------------------------------------------------------------------------------------------------

config negative_mass 6 '{ name = "b"; m = -1e-3; a = 1.0; },' \
    'system.bodies?1?.m = -0.001: expected a number >= 0 in Msun'
config zero_bodies 4 'system = { bodies = (); }; epochs = { b = (' \
    "epochs = {...}: expected a known key (did you mean 'epoch'?)"
row no_bodies 2 'command line: system.bodies=(): expected at least 2 bodies; found 0' run study.cfg 'system.bodies=()'
row one_body 2 'command line: system.bodies=*: expected at least 2 bodies; found 1' run study.cfg \
    'system.bodies=( { name = "s"; m = 1.0; } )'
sed '5,$d; s/^system.*/&{ name = "sun"; m = 1.0; }/' study.cfg >many.cfg
for i in {1..1000}; do echo ", { name = \"b$i\"; m = 1e-9; a = $i.0; }"; done >>many.cfg
{ echo ' ); };'; sed '1,7d; /^sweep/d' study.cfg; } >>many.cfg
row too_many_bodies 2 \
    'many.cfg:4: system.bodies = (...): expected at most 1000 bodies; found 1001 (see the group model)' run many.cfg
{ echo system,body,name,m,x,y,z,vx,vy,vz; for i in {0..1000}; do echo "0,$i,b$i,1,$i,0,0,0,0,0"; done; } >many.csv
row too_many_bodies_in_a_file 2 \
    'command line: system.file=*: expected at most 1000 bodies a system; found 1001 (see model.file)' \
    run table.cfg system.file=many.csv
rm many.cfg many.csv
row no_mass_in_the_centre 2 \
    'study.cfg:8: sweep = (...): expected possible initial conditions of one system at least; *body 0 has no mass*' \
    run study.cfg system.bodies.sun.m=0
config negative_radius 6 '{ name = "b"; m = 1e-3; a = 1.0; r = -1; },' \
    'system.bodies?1?.r = -1: expected a number >= 0 in AU'
config unbound_ellipse 6 '{ name = "b"; m = 1e-3; a = 1.0; e = 1.5; },' \
    'system.bodies?1?.e = 1.5: expected elements of a possible orbit, not e > 1 with a > 0'
config bound_hyperbola 6 '{ name = "b"; m = 1e-3; a = -1.0; e = 0.5; },' \
    'system.bodies?1?.e = 0.5: expected *, not e < 1 with a < 0'
config same_name 7 '{ name = "b"; m = 1e-3; a = 1.5; } ); };' \
    'system.bodies?2?.name = "b": expected a name that no other body has'
sed 's/^monitors.*/monitors = ( { name = "closest_approach"; } );/' study.cfg >pairs.cfg
row columns_of_one_name 2 "pairs.cfg: system.bodies: *two would be called 'closest_a_b_c'" run pairs.cfg 'sweep=()' \
    'system.bodies=({ name="star"; m=1.0; }, { name="a"; m=1e-5; a=1.0; }, { name="b_c"; m=1e-5; a=2.0; },
        { name="a_b"; m=1e-5; a=4.0; }, { name="c"; m=1e-5; a=8.0; })'
row same_place 2 'command line: system={*: expected possible initial conditions: *' run study.cfg 'sweep=()' \
    'system={ bodies = (
    { name = "b"; m = 1.0; x = 1; y = 0; z = 0; vx = 0; vy = 1; vz = 0; },
    { name = "c"; m = 0.5; x = 1; y = 0; z = 0; vx = 0; vy = 2; vz = 0; } ); }'
config empty_grid 8 'sweep = ( { body = "c"; parameter = "a"; from = 1.4; to = 1.9; count = 0; } );' \
    'sweep?0?.count = 0: expected an integer from 1 *'
config no_values 8 'sweep = ( { body = "c"; parameter = "a"; values = []; } );' \
    'sweep?0?.values = ??: expected at least one value'
config impossible_grid 8 'sweep = ( { body = "c"; parameter = "e"; values = [1.5, 2.5]; } );' \
    'sweep = (...): expected possible initial conditions of one system at least; the first one: e > 1 with a > 0'
config empty_sample 8 'sample = { count = 0; };' 'sample.count = 0: expected an integer from 1 *'
config step_zero 10 'integrator = { name = "mvs"; dt = 0; };' 'integrator.dt = 0: expected a number > 0 in yr'
config step_negative 10 'integrator = { name = "mvs"; dt = -0.02; };' \
    'integrator.dt = -0.02: expected a number > 0 in yr'
config no_time 12 'run = { t_end = 0.0; };' 'run.t_end = 0.0: expected a time other than run.t_start'
config interval_zero 13 'output = { interval = 0; };' 'output.interval = 0: expected a number > 0 in yr'
config interval_too_short 13 'output = { interval = 1e-9; };' \
    'output.interval = 1e-09: expected at most 1e8 output times'
config time_outside 13 'output = { times = [5.0]; };' \
    'output.times?0? = 5.0: expected a time from run.t_start to run.t_end'

# ---- a study: values that contradict each other ----------------------------------------------------------------------

config two_sizes 6 '{ name = "b"; m = 1e-3; a = 1.0; P = 1.0; },' \
    'system.bodies?1?.P = 1.0: expected only one of a, P, *; given are a, P'
config two_anomalies 6 '{ name = "b"; m = 1e-3; a = 1.0; M = 3; l = 4; },' \
    'system.bodies?1?.l = 4: expected only one of f, M, *; given are M, l'
config two_ties 7 '{ name = "c"; m = 1e-3; period_ratio = 2.0; hill_spacing = 3.0; } ); };' \
    'system.bodies?2?.hill_spacing = 3.0: expected only one of a, P, *; given are period_ratio, hill_spacing' 'sweep=()'
config tied_to_itself 7 '{ name = "c"; m = 1e-3; period_ratio = 2.0; relative_to = "c"; } ); };' \
    "system.bodies?2?.relative_to = \"c\": expected a body's name or index*" 'sweep=()'
config tied_to_nobody 7 '{ name = "c"; m = 1e-3; a = 1.5; relative_to = "b"; } ); };' \
    'system.bodies?2?.relative_to = "b": expected one of period_ratio, *'
config elements_and_coordinates 6 '{ name = "b"; m = 1e-3; a = 1.0; x = 3; },' \
    'system.bodies?1?.x = 3: expected elements, not x: *'
config varied_twice 8 \
    'sweep = ( { body = "c"; parameter = "a"; values = [1.4]; }, { body = 2; parameter = "a"; values = [1.5]; } );' \
    'sweep?1?.parameter = "a": expected a parameter that is varied only once'
config units_that_disagree 2 'units = { time = "yr"; G = 1.0; };' 'units.G = 1.0: expected units that agree: *'
config two_steps 10 'integrator = { name = "mvs"; dt = 0.02; steps_per_orbit = 20; };' \
    'integrator.steps_per_orbit = 20: expected either dt or steps_per_orbit'
config bounds_of_fixed_steps 10 'integrator = { name = "mvs"; dt = 0.02; dt_min = 0.001; };' \
    'integrator.dt_min = 0.001: expected no dt_min: the steps of mvs are all the same'
config bounds_crossed 10 'integrator = { name = "gauss_radau"; dt_min = 2; dt_max = 1; };' \
    'integrator.dt_min = 2: expected dt_min <= dt_max'
config two_ends 12 'run = { t_end = 2.0; orbits = 5; };' 'run.orbits = 5: expected either run.t_end or run.orbits'
config same_monitor 11 'monitors = ( { name = "megno"; }, { name = "megno"; } );' \
    'monitors?1?.name = "megno": expected each monitor at most once'
config file_and_bodies 4 'system = { file = "study.csv"; bodies = (' \
    'system.bodies = (...): expected no system.bodies with system.file*'
config file_and_sweep 8 'sweep = ( { body = "c"; parameter = "a"; values = [1.5]; } );' \
    'sweep = (...): expected no sweep with system.file*' 'system={ file = "study.csv"; }'

# ---- a study: plugs that do not apply, each with its own sentence ----------------------------------------------------

config heavy_planet 10 'integrator = { name = "mvs"; dt = 0.02; };' \
    'integrator.name = "mvs": expected a propagator that applies: it moves bodies around body 0, *; use hermite4 *' \
    system.bodies.b.m=2
config collision_of_points 11 'monitors = ( { name = "stop_on_collision"; } );' \
    'monitors?0?.name = "stop_on_collision": expected a monitor that applies: no body has a radius*'
config drift_of_the_sun 11 'monitors = ( { name = "mean_motion_drift"; body = "sun"; } );' \
    'monitors?0?.name = *: body 0 is what *'
config axis_of_nothing 9 'forces = ( { name = "j2"; radius = 0.01; J2 = 1e-3; axis_z = 0; } );' \
    'forces?0?.name = "j2": expected a force that applies: *'
row changed_bodies_and_a_tangent 2 'command line: monitors=*: expected stop: a tangent vector *; use action = stop' \
    run study.cfg \
    system.bodies.b.r=0.001 'monitors=( { name = "megno"; }, { name = "stop_on_collision"; action = "merge"; } )'
config steps_without_number 10 'integrator = { name = "mvs"; dt = 1e-30; };' \
    'integrator.dt = 1e-30: expected less than 2^52 steps, not *'
row no_leave_for_plugins 2 'command line: plugins=*: expected leave to compile *: shoal run --allow-plugins' \
    run study.cfg "plugins=( \"$plugins/uniform_field.c\" )"
row no_plugin 2 'command line: plugins=*: expected a plugin that can be loaded: *No such file or directory' \
    run study.cfg 'plugins=( "nowhere.c" )' --allow-plugins
if "$shoal" info | grep -qi '^ *cuda.*\(no\|not\|missing\|cannot\)'; then
    row no_gpu 3 "study.cfg: engine = 'cuda': *" run study.cfg run.engine=cuda
    row nothing_to_tune 3 "study.cfg: engine = 'cuda': *" tune study.cfg
else
    skip no_gpu "there is a GPU here"
fi

# ---- names -----------------------------------------------------------------------------------------------------------

config name_with_newline 6 '    { name = "b\nc"; m = 1e-3; a = 1.0; },' '*expected a text without control characters'
config name_with_escape 6 '    { name = "b\x1b[2J"; m = 1e-3; a = 1.0; },' '*expected a text without control characters'
config name_with_c1 6 $'    { name = "b\xc2\x9b2J"; m = 1e-3; a = 1.0; },' '*??2J*expected a text without control*'
config name_with_quote 6 '    { name = "b\"c"; m = 1e-3; a = 1.0; },' '*expected a name without quotes'
config name_in_latin_1 6 '    { name = "b\xe9"; m = 1e-3; a = 1.0; },' '*expected a name in UTF-8'
table name_in_latin_1_of_a_table '2: name = s?: expected a name in UTF-8' $'0,0,s\xe9,1,0,0,0,0,0,0'
config epoch_with_escape 1 'epoch = "J2000\x07";' '*expected a text without control characters'
config output_with_newline 13 'output = { file = "new\n.h5"; };' '*expected a text without control characters'
config output_with_quote 13 'output = { file = "new\".h5"; };' "*expected a file's name without quotes"
row override_with_escape 2 'output.file=n?w.h5: expected no control characters' run study.cfg $'output.file=n\ew.h5'
row override_with_newline 2 'command line: output.file="n\\new.h5": *expected a text without control characters' \
    run study.cfg 'output.file="n\new.h5"'
row name_in_override 2 'command line: system.bodies.b.name=*: expected a text without control characters' \
    run study.cfg 'system.bodies.b.name="\x7f"'
row study_with_escape 2 'st?dy.cfg: expected no control characters' run $'st\edy.cfg'
row option_with_escape 2 '--no-?-option: expected no control characters' run $'--no-\e-option'
row command_with_newline 2 'r?n: expected no control characters' $'r\nn'
row picture_with_quote 2 "plot: a\".png: expected a file's name without quotes" plot study.h5 --output 'a".png'
row rerun_with_quote 2 "rerun: a\".h5: expected a file's name without quotes" rerun study.h5 --system 0 -o 'a".h5'
row merge_with_quote 2 "merge: a\".h5: expected a file's name without quotes" merge 'a".h5' study.h5
row generate_with_quote 2 "generate: a\".h5: expected a file's name without quotes" generate study.cfg -o 'a".h5'
row convert_with_quote 2 "convert: a\".csv: expected a file's name without quotes" convert study.h5 'a".csv'
table table_name_with_escape '2: name = ?: expected a name without control characters' \
    $'0,0,\e,1,0,0,0,0,0,0' '0,1,b,1e-3,1,0,0,0,1,0'

# ---- overrides, shards -----------------------------------------------------------------------------------------------

row override_without_value 2 'command line: run.t_end=: expected path.to.key=value' run study.cfg run.t_end=
row override_of_nothing 2 'command line: run.t_ned=5: expected a known key (did you mean *t_end*?)' run study.cfg \
    run.t_ned=5
row override_type 2 'command line: run.t_end=soon: expected a number in yr' run study.cfg run.t_end=soon
row override_value 2 'command line: integrator.dt=0: expected a number > 0 in yr' run study.cfg integrator.dt=0
row override_path 2 "command line: system.bodies.d.a=5: expected a path to a key; there is no 'd'*" \
    run study.cfg system.bodies.d.a=5
row override_twice 2 'command line: run.t_end=3: expected a value given once; it takes the place of run.t_end=2' \
    run study.cfg run.t_end=2 run.t_end=3
row override_of_all_around 2 'command line: run={ t_end = 3.0; }: expected a value given once; *of run.engine=cpu' \
    run study.cfg run.engine=cpu 'run={ t_end = 3.0; }'
row sweep_of_one 2 'study.cfg:8: sweep[[]0].to = 1.9: expected the number that from is, with a count of 1' \
    run study.cfg 'sweep[0].count=1'
row override_of_swept 2 'command line: system.bodies.c.a=1.6: expected no value of its own: sweep gives one to each *' \
    run study.cfg system.bodies.c.a=1.6
row override_of_sampled 2 'command line: system.bodies[[]1].e=0.1: expected no value of its own: sample gives one *' \
    run study.cfg 'system.bodies[1].e=0.1' 'sample={ count = 2; parameters =
        ( { body = "b"; parameter = "e"; distribution = "uniform"; from = 0.0; to = 0.1; } ); }'
row two_studies 2 'run: "table.cfg": expected key=value (one study at a time)' run study.cfg table.cfg
row shard_0 2 'command line: run.shard=0/3: expected "i/N", i from 1 to N*' run study.cfg run.shard=0/3
row shard_4_of_3 2 'command line: run.shard=4/3: expected "i/N", i from 1 to N*' run study.cfg run.shard=4/3
row shard_of_letters 2 'command line: run.shard=a/b: expected "i/N"*' run study.cfg run.shard=a/b
row shard_of_nothing 2 'command line: run.shard=7/9: expected at most as many shards as systems, 4' run study.cfg \
    run.shard=7/9
row no_such_system 2 'command line: run.system=9: expected the id of one of the 4 systems' run study.cfg run.system=9

# ---- tables ----------------------------------------------------------------------------------------------------------

rm -f bodies.csv
row no_table 2 './bodies.csv: cannot be read: No such file or directory' run table.cfg
table empty_table '1: expected a header and at least one system'
table cut_row '3: expected 10 cells, found 4' 0,0,s,1,0,0,0,0,0,0 0,1,p,1e
table cut_system '2: system = 0: expected at least 2 bodies' 0,0,s,1,0,0,0,0,0,0
table cut_later '4: system = 1: expected at least 2 bodies' 0,0,s,1,0,0,0,0,0,0 0,1,p,0,1,0,0,0,6,0 1,0,s,1,0,0,0,0,0,0
table no_number '2: vy = fast: expected a finite number' 0,0,s,1,0,0,0,0,fast,0
table not_finite '3: x = nan: expected a finite number' 0,0,s,1,0,0,0,0,0,0 0,1,p,0,nan,0,0,0,6,0
table no_mass_below_0 '2: m = -1: expected a number >= 0' 0,0,s,-1,0,0,0,0,0,0
table one_place '2: system = 0: expected possible initial conditions: *' 0,0,s,1,0,0,0,0,0,0 0,1,p,0,0,0,0,0,6,0
table bodies_out_of_order '3: body = 2: expected 1: *' 0,0,s,1,0,0,0,0,0,0 0,2,p,0,1,0,0,0,6,0
table system_in_two_parts '6: system = 0: expected the lines of a system together; *' \
    0,0,s,1,0,0,0,0,0,0 0,1,p,0,1,0,0,0,6,0 1,0,s,1,0,0,0,0,0,0 1,1,p,0,1,0,0,0,6,0 0,0,s,1,0,0,0,0,0,0 \
        0,1,p,0,1,0,0,0,6,0
row table_cut_short 2 'cut.csv:*: expected 11 cells, found *' verify cut.csv study.csv
row table_is_none 2 'study.cfg:1: column 1 *' verify study.csv study.cfg

printf '# time: 20\nsystem,body,name,m,x,y,z,vx,vy,vz\n0,0,s,1,0,0,0,0,0,0\n0,1,p,0,1,0,0,0,6,0\n' >later.csv
echo 'system = { file = "later.csv"; }; integrator = { dt = 0.01; }; run = { t_end = 40.0; engine = "cpu"; };
output = { file = "later.h5"; };' >later.cfg
printf 'model = { name = "plummer"; n = 20; }; integrator = { dt = 0.1; }; gravitation = { softening = 0.1; };
run = { t_end = 1.0; engine = "cpu"; }; output = { file = "one.h5"; snapshots = 0; };' >one.cfg
"$shoal" run --quiet one.cfg

# ---- results ---------------------------------------------------------------------------------------------------------

while read -r file pattern; do
    row "query_$file" 2 "$file: $pattern" query $file
    row "plot_$file" 2 "$file: $pattern" plot $file
    row "rerun_$file" 2 "$file: $pattern" rerun $file --system 1
    row "merge_$file" 2 "$file: $pattern" merge new.h5 part.1-of-2.h5 $file
    row "verify_$file" 2 "$file:*" verify study.h5 $file
    row "convert_$file" 2 "$file:*" convert $file new.csv
done <<'END'
cut.h5 truncated file: *
hole.h5 its checksum does not fit: *
empty.h5 not an HDF5 file
nowhere.h5 there is no such result file, and no journal of it
study.cfg not an HDF5 file
END
row query_no_time 2 'study.h5: there is no snapshot at 0.3 yr; the nearest are at 0 and 1' query study.h5 --time 0.3
row query_no_system 2 'study.h5: *0..3*' query study.h5 --systems 2..9
row query_two_things 2 'query: expected one of --final, --initial, *' query study.h5 --final --events
row table_of_a_later_time 2 'later.cfg:1: *: expected run.t_start with states of time 20: *' run later.cfg
row query_big_has_rows 2 'one.h5: of one big system there are its rows alone, *' query one.h5 --initial
row convert_onto_itself 2 "convert: ./study.h5: expected another file *" convert study.h5 ./study.h5 --force
row convert_big_has_its_end 2 "one.h5: a big system's file has its last state alone; *" convert one.h5 new.csv --initial
row plot_no_grid 2 'study.h5: a map needs a grid over two swept parameters; here is one' plot --kind map study.h5
row rerun_no_system 2 'study.h5: *no system 7*' rerun study.h5 --system 7
row merge_no_shards 2 '*study.h5*no run.shard*' merge new.h5 study.h5 part.1-of-2.h5
row merge_same_shard 2 '*both are shard 1/2' merge new.h5 part.1-of-2.h5 part.1-of-2.h5
row merge_missing_shard 2 '*shards missing of 2: 2*' merge new.h5 part.1-of-2.h5
row merge_other_studies 2 \
    'longer.1-of-2.h5 and part.2-of-2.h5: expected shards of one run; their config differs: run.t_end = *' \
    merge new.h5 longer.1-of-2.h5 part.2-of-2.h5
row convert_no_format 2 'study.cfg:1: *known format*' convert study.cfg new.csv
row convert_another_format 2 'study.cfg:*SwarmDataFile*' convert study.cfg new.csv --from swarm
row convert_no_planet 2 '*planet of Vega*' convert "$data/exoplanets.csv" new.csv --host Vega
echo "model = { file = \"$data/horizons_sun.txt\"; }; integrator = { dt = 0.1; };
run = { t_end = 1.0; engine = \"cpu\"; }; output = { file = \"alone.h5\"; snapshots = 0; };" >alone.cfg
row big_of_one_body 2 '*horizons_sun.txt: 1 bodies: expected at least 2' run alone.cfg
row generate_one_body 2 '*horizons_sun.txt: 1 bodies: expected at least 2' generate alone.cfg -o new.csv
row no_study 2 'nowhere.cfg: cannot be read: No such file or directory' run nowhere.cfg
row folder_for_a_study 2 '.: cannot be read: Is a directory' run .
mkfifo pipe
for command in run query plot 'verify pipe'; do
    row "pipe_to_${command%% *}" 2 'pipe: cannot be read: it is a pipe or a device, not a file' $command pipe
done
row device_to_convert 2 '/dev/zero: cannot be read: it is a pipe or a device, not a file' convert /dev/zero new.csv
row pipe_of_systems 2 './pipe: cannot be read: it is a pipe or a device, not a file' run table.cfg system.file=pipe
mv pipe pipe.c
printf 'plugins = [ "pipe.c" ];\n' | cat - study.cfg >piped.cfg
row pipe_of_a_plugin 2 "piped.cfg:1: plugins*'./pipe.c': cannot be read: it is a pipe or a device, not a file" \
    run piped.cfg --allow-plugins
mv pipe.c piped.h5.journal
row pipe_of_a_journal 2 'piped.h5.journal: not a journal: not a regular file' query piped.h5
row pipe_of_a_journal_to_run 2 'piped.h5.journal: not a journal: not a regular file' run study.cfg \
    output.file=piped.h5
rm piped.h5.journal
row result_for_a_study 2 'study.h5:1: expected the syntax of libconfig: *' run study.h5

# ---- outputs ---------------------------------------------------------------------------------------------------------

row output_exists 2 'study.h5: exists; --force replaces it' run study.cfg output.file=study.h5
row output_is_the_study 2 'study.cfg: is there and no result file: it is not replaced' run study.cfg \
    output.file=study.cfg --force
row merged_over_the_study 2 'study.cfg: is there and no *' merge study.cfg part.1-of-2.h5 part.2-of-2.h5 --force
row generated_over_the_study 2 'study.cfg: is there and no *' generate study.cfg --output study.cfg --force
row output_nowhere 2 'nowhere/x.h5: cannot be written: folder nowhere: No such file or directory' \
    run study.cfg output.file=nowhere/x.h5
row output_in_a_file 2 'study.cfg/x.h5: cannot be written: folder study.cfg: *' run study.cfg output.file=study.cfg/x.h5
row output_is_a_device 2 '/dev/full: is there and not a file' run study.cfg output.file=/dev/full
mkdir there.h5 there.png
row output_of_a_big_system_is_a_folder 2 'there.h5: is there and not a file' run one.cfg output.file=there.h5 --force
row generated_is_a_folder 2 'there.h5: is there and not a file' generate study.cfg --output there.h5 --force
! command -v gnuplot >/dev/null || row picture_is_a_folder 1 '*there.png: is there and not a file' plot study.h5 \
    --output there.png
printf garbage >broken.h5.journal
: >empty_one.h5.journal
row empty_journal 2 'empty_one.h5.journal: the journal is empty: if its run was killed, run it again with --force' \
    run study.cfg output.file=empty_one.h5
row no_journal 2 'broken.h5.journal: not a journal' run study.cfg output.file=broken.h5

# ---- a full disk, impossible systems ---------------------------------------------------------------------------------

begin full_disk
# blocks of 1024 bytes in a file: the journal fits, the result does not
(ulimit -f 8 && "$shoal" run study.cfg output.file=full.h5 --quiet 2>../err)
[ $? -eq 1 ] || wrong "exit code of a full disk"
[ "$(cat ../err)" = "shoal: full.h5: cannot write the result file: File too large" ] || wrong "$(cat ../err)"
[ "$(ls full.h5*)" = full.h5.journal ] || wrong "there are: $(ls full.h5*)"
"$shoal" query full.h5 | cmp - study.csv || wrong "the journal has not the results"
end
row journal_of_another_study 2 \
    'full.h5.journal: *another run *(its config differs: run.t_end = *[0-9] and 3.0); --force discards it' \
    run study.cfg output.file=full.h5 run.t_end=3
begin shards_of_other_tables
printf '%s\n' system,body,name,m,x,y,z,vx,vy,vz 0,0,s,1,0,0,0,0,0,0 0,1,p,0.001,1,0,0,0,6,0 1,0,s,1,0,0,0,0,0,0 \
    1,1,p,0.001,1,0,0,0,6,0 >bodies.csv
"$shoal" run table.cfg run.shard=1/2 output.file=t.h5 --quiet || wrong "first shard"
sed -i s/0.001/0.002/ bodies.csv
"$shoal" run table.cfg run.shard=2/2 output.file=t.h5 --quiet || wrong "second shard"
err=$("$shoal" merge both.h5 t.1-of-2.h5 t.2-of-2.h5 2>&1) && wrong "merged"
expected="expected shards of one run; their config differs: what is in a file that it names"
[ "$err" = "shoal: t.1-of-2.h5 and t.2-of-2.h5: $expected" ] || wrong "$err"
rm -f t.?-of-2.h5 bodies.csv
end
row journal_of_another_list 2 'full.h5.journal: *(its config differs: monitors?1? is in the second alone); --force*' \
    run study.cfg output.file=full.h5 'monitors=({name="stop_on_encounter";}, {name="amd";})'
begin full_disk_goes_on
"$shoal" run study.cfg output.file=full.h5 run.threads=1 run.lanes=4 run.checkpoint_s=7 --quiet ||
    wrong "the same study does not go on"
"$shoal" query full.h5 | cmp - study.csv || wrong "not the same end"
[ "$(ls full.h5*)" = full.h5 ] || wrong "there are: $(ls full.h5*)"
end

begin impossible_systems_are_results
"$shoal" run study.cfg 'sweep=( { body = "c"; parameter = "e"; values = [0.1, 1.5]; } )' output.file=e.h5 --quiet \
    2>../err ||
    wrong "exit code"
[ "$(cat ../err)" = "shoal: warning: 1 of 2 systems are invalid; the first of them, system 1: e > 1 with a > 0" ] ||
    wrong "$(cat ../err)"
[ "$("$shoal" query e.h5 --systems-table | cut -d , -f 1,2 | tr '\n' ' ')" = "system,outcome 0,survived 1,invalid " ] ||
    wrong "$("$shoal" query e.h5 --systems-table)"
end

begin systems_that_a_propagator_is_not_for_are_results
"$shoal" run study.cfg 'sweep=( { body = "c"; parameter = "m"; values = [1e-5, 2.0]; } )' output.file=heavy.h5 --quiet \
    2>../err ||
    wrong "exit code"
expected="the first of them, system 1: it moves bodies around body 0, which must have the largest mass"
case $(cat ../err) in *"1 of 2 systems are invalid; $expected"*) ;;
    *) wrong "$(cat ../err)" ;; esac
[ "$("$shoal" query heavy.h5 --systems-table | cut -d , -f 1,2 |
    tr '\n' ' ')" = "system,outcome 0,survived 1,invalid " ] ||
    wrong "$("$shoal" query heavy.h5 --systems-table)"
end

[ "$failures" -eq 0 ]
