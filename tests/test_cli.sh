#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# test_cli.sh: the command line: exit codes, one-line messages, the columns that scripts rely on. Prints the lines of a
# cmocka program; the program under test is SHOAL_PROGRAM, or shoal in the build folder SHOAL_BUILD, BUILD or build.

build=${SHOAL_BUILD:-${BUILD:-build}}
shoal=$(realpath "${SHOAL_PROGRAM:-$build/shoal}")
data=$(realpath "$(dirname "$0")/data")
failures=0
configs=$(realpath "${SHOAL_ROOT:-.}/configs")
tools=$(realpath "$(dirname "$0")/../tools")
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
cd "$scratch" || exit 1

begin() { name=$1; problem=; printf '[ RUN      ] %s\n' "$name"; }
end() {
    if [ -z "$problem" ]; then printf '[       OK ] %s\n' "$name"
    else printf '%s\n[  FAILED  ] %s\n' "$problem" "$name"; failures=$((failures + 1)); fi
}
skip() { printf '%s\n[  SKIPPED ] %s\n' "$1" "$name"; }
wrong() { problem="$problem$*"$'\n'; }

# run CODE ARGUMENT...: the command must end with CODE; leaves $out and $err
run() {
    local expected=$1
    shift
    out=$("$shoal" "$@" 2>err </dev/null)
    code=$?
    err=$(cat err)
    [ "$code" -eq "$expected" ] || wrong "shoal $*: exit code $code, expected $expected; it said: $err"
}

# refused CODE WORDS ARGUMENT...: the same, and one line on stderr that begins with "shoal: " and contains the words
refused() {
    local code=$1 words=$2
    shift 2
    run "$code" "$@"
    [ "$(printf '%s\n' "$err" | wc -l)" -eq 1 ] || wrong "shoal $*: not one line: $err"
    case $err in "shoal: "*) ;; *) wrong "shoal $*: no \"shoal: \" in front: $err" ;; esac
    case $err in *"$words"*) ;; *) wrong "shoal $*: expected \"$words\" in: $err" ;; esac
    [ -z "$out" ] || wrong "shoal $*: an error, but it printed: $out"
}

holds() { case $out in *"$1"*) ;; *) wrong "expected \"$1\" in: $out" ;; esac; }

cat >study.cfg <<'END'
angles = "degrees";
system = { elements = "jacobi"; bodies = (
    { name = "sun"; m = 1.0; },
    { name = "b"; m = 1e-3; a = 1.0; e = 0.05; l = 10.0; pomega = 20.0; },
    { name = "c"; m = 1e-3; a = 1.3; e = 0.02; l = 130.0; inc = 2.0; } ); };
sweep = ( { body = "c"; parameter = "a"; from = 1.1; to = 1.9; count = 4; },
          { body = "c"; parameter = "e"; from = 0.0; to = 0.3; count = 3; } );
integrator = { name = "mvs"; dt = 0.02; };
monitors = ( { name = "stop_on_encounter"; radius = "mutual_hill"; factor = 1.0; } );
run = { t_end = 20.0; engine = "cpu"; };
output = { file = "study.h5"; interval = 10.0; };
END

begin cli_version_and_help
run 0 --version
[ "$(printf '%s\n' "$out" | head -n 1 | cut -d ' ' -f 1)" = shoal ] || wrong "--version: $out"
run 0 --help
words="run merge status rerun query plot verify generate convert list explain info bench"
for word in $words 130 Exit; do holds "$word"; done
for command in $words; do
    run 0 "$command" --help
    holds "Usage: shoal $command"
done
end

begin cli_unknown_commands_and_options
refused 2 "expected a command"
refused 2 'did you mean "query"' qurey x.h5
refused 2 'unknown command "integrate"' integrate
run 2 run --no-such-option study.cfg
case $err in "shoal run: "*no-such-option*) ;; *) wrong "unknown option: $err" ;; esac
refused 2 "expected a study" run
refused 2 "key=value" run study.cfg other.cfg
refused 2 "expected a result file" query
refused 2 "expected a result file" plot
refused 2 "expected a name" explain
refused 2 "no arguments" info here
end

begin cli_bad_input
refused 2 "nowhere.cfg" run nowhere.cfg
refused 2 "run.t_ned" run study.cfg run.t_ned=3
refused 2 "t_end" run study.cfg run.t_end=long
refused 2 "mvs" run study.cfg integrator.name=mvz
refused 2 "nowhere" run study.cfg output.file=nowhere/x.h5
refused 2 "nothing.h5" query nothing.h5
refused 2 "study.cfg" query study.cfg
refused 2 "nothing.h5" plot nothing.h5
[ -z "$(find . -name '*.h5*')" ] || wrong "left behind: $(find . -name '*.h5*')"
end

begin cli_run
run 0 run study.cfg --no-plot
[ -z "$err" ] || wrong "not a terminal, but on stderr: $err"
for word in "12 systems" survived encounter "|dE/E|" study.h5; do holds "$word"; done
[[ $out != *stragglers* ]] || wrong "nobody was late: $out"
[ -f study.h5 ] || wrong "no study.h5"
[ ! -e study.h5.journal ] || wrong "the journal is left"
[ ! -e study.png ] || wrong "--no-plot, but there is a picture"
refused 2 "--force" run study.cfg
run 0 run study.cfg --force --quiet
[ -z "$out$err" ] || wrong "--quiet, but it said: $out$err"
end

begin cli_stragglers
run 0 run study.cfg output.file=late.h5 'integrator={ name = "leapfrog"; steps_per_orbit = 20.0; }' \
    "sweep=( { body = \"b\"; parameter = \"a\"; values = [$(printf '1.0, %.0s' {1..39})0.001]; } )"
holds "the last 1 of 40 systems took "
holds "; the slowest: 39"
end

begin cli_run_progress
run 0 run study.cfg output.file=lines.h5 run.t_end=3000 --progress 1e-9 --no-plot
printf '%s\n' "$err" | grep -q '^shoal: *[0-9.]* %  .* left  .* system-steps/s ' || wrong "no line of progress: $err"
run 0 run study.cfg output.file=lines.h5 run.t_end=3000 --no-plot --force
if printf '%s\n' "$err" | grep -q system-steps; then wrong "a line of progress at once: $err"; fi
refused 2 '--progress: "often"' run study.cfg --progress often
end

begin cli_run_overrides
run 0 run study.cfg output.file=short.h5 run.t_end=1.5 integrator.dt=0.01 --quiet
run 0 query short.h5 --systems-table
printf '%s\n' "$out" | awk -F , 'NR > 1 && $2 == "survived" && ($3 + 0 != 1.5 || $7 < 149 || $7 > 150) { exit 1 }' ||
    wrong "t_stop is not 1.5 or steps not 150: $out"
run 0 run study.cfg output.file=times.h5 'output.times=[1, 1.5]' --quiet # libconfig's own arrays mix no types
run 0 query times.h5 --time 1.5 --systems 11
run 0 run study.cfg output.file=julian.h5 run.t_start=2454833.5 run.t_end=2454834.5 output.interval=0.01 --quiet
refused 2 "the nearest are at" query julian.h5 --time 2454833.5004 --systems 11
run 0 query julian.h5 --time 2454833.51 --systems 11
refused 2 "a number" run study.cfg output.file=words.h5 'output.times=[1, two]'
sed 's/interval = 10.0;/times = [ 1, 1.5 ];/' study.cfg >mixed.cfg
refused 2 "[ 1.0, 1.5 ]" run mixed.cfg output.file=mixed.h5
end

begin cli_run_orbits
refused 2 "either run.t_end or run.orbits" run study.cfg run.orbits=2
sed 's/t_end = 20.0/orbits = 2.0/; s/interval = 10.0/interval = 0.5/' study.cfg >orbits.cfg
run 0 run orbits.cfg output.file=orbits.h5
holds "2 shortest periods of each system"
run 0 query orbits.h5 --systems-table
printf '%s\n' "$out" | awk -F , 'NR > 1 && $2 == "survived" && ($3 < 1.9 || $3 > 2.1) { exit 1 }' ||
    wrong "two periods of the inner planet are about 2 yr: $out"
end

begin cli_pericentres
run 0 run study.cfg output.file=steep.h5 integrator.dt=0.05
[ "$err" = "$(printf '%s\n' "$err" | grep '^shoal: warning: [1-9].* of 12 systems.*pericentre')" ] ||
    wrong "no warning: $err"
holds "warning  "
run 0 run study.cfg --force output.file=steep.h5 integrator.dt=0.05 --quiet
[ -z "$out" ] || wrong "--quiet, but it said: $out"
[ "$(printf '%s\n' "$err" | grep -c '^shoal: warning: ')" = "$(printf '%s\n' "$err" | wc -l)" ] ||
    wrong "no warning: $err"
end

begin cli_forces_that_do_little
cat >grain.cfg <<'END'
system = { bodies = ( { name = "s"; m = 1.0; }, { name = "d"; m = 0.0; a = 1.0; e = 0.2; } ); };
integrator = { name = "mvs"; dt = 0.2; };
forces = ( { name = "radiation"; beta = 0.5; drag = false; } );
run = { t_end = 2.0; };
END
run 0 run grain.cfg output.file=grain.h5 --quiet --no-plot
case $err in "shoal: warning: radiation: beta = 0.5: mvs "*) ;; *) wrong "no warning: $err" ;; esac
run 0 run grain.cfg output.file=grain.h5 --quiet --no-plot --force system.bodies.d.m=1e-9
case $err in *"radiation acts on bodies without mass, and there are none"*) ;; *) wrong "no warning: $err" ;; esac
run 0 run grain.cfg output.file=grain.h5 --quiet --no-plot --force 'integrator={ name="gauss_radau"; }'
[ -z "$err" ] || wrong "a warning: $err"
end

begin cli_forces_that_brake
cat >boulder.cfg <<'END'
system = { bodies = ( { name = "s"; m = 1.0; }, { name = "d"; m = 0.0; a = 1.0; e = 0.1; } ); };
integrator = { name = "mvs"; dt = 0.01; };
forces = ( { name = "gas_drag"; size = 6.7e-13; density = 7e-10; } );
run = { t_end = 0.1; };
END
run 0 run boulder.cfg --quiet --no-plot
# 0.2 |u| / 2 |a| at the pericentre, where the gas is 0.17 % slower than a circle and 0.9^-2.75 times as dense as at r0
[[ $err =~ "steps longer than a fifth of the time in which gas_drag brakes a body".*"dt = "([0-9.e-]+)" yr" ]] &&
    awk "BEGIN { u = 6.28319 * (sqrt(1.1) - 0.9983) / sqrt(0.9); rho = 7e-10 * 0.9 ^ -2.75
        off = ${BASH_REMATCH[1]} / (0.2 / (0.375 * rho / 6.7e-13 * u)) - 1; exit !(off < 0.01 && off > -0.01) }" ||
    wrong "no warning: $err"
run 0 run boulder.cfg --quiet --no-plot --force "integrator.dt=${BASH_REMATCH[1]}"
[ -z "$err" ] || wrong "a warning: $err"
run 0 run boulder.cfg --quiet --no-plot --force 'integrator={ name="gauss_radau"; }'
[ -z "$err" ] || wrong "a warning: $err"
run 0 run boulder.cfg --quiet --no-plot --force 'forces=( { name="migration"; body="d"; tau_a=1.0; K=100.0; } )'
case $err in *"migration brakes a body"*", 2 times, for 'd' in system 0; all need dt = 0.001 yr"*) ;;
    *) wrong "no warning: $err" ;; esac
end

begin cli_heavy_planets
cat >heavy.cfg <<'END'
system = { bodies = ( { name = "s"; m = 0.82; }, { name = "b"; m = 0.66; a = 1.0; },
                      { name = "c"; m = 1e-3; a = 9.0; } ); };
integrator = { name = "mvs"; dt = 0.02; };
run = { t_end = 2.0; };
END
run 0 run heavy.cfg --quiet
case $err in "shoal: warning: mvs is for planets that are light: 1 of 1 systems "*" 'b' has 0.8 "*) ;;
    *) wrong "no warning: $err" ;; esac
run 0 run heavy.cfg --quiet --force integrator.name=mvs_jacobi
[ -z "$err" ] || wrong "a warning of a binary: $err"
run 0 run heavy.cfg --quiet --force integrator.name=saba system.bodies.c.m=0.3
case $err in "shoal: warning: saba is for planets that are light: "*", most of all system 0, where 'b' has 0.8 "*) ;;
    *) wrong "no warning: $err" ;; esac
end

begin cli_events
run 0 run "$configs/scattering.cfg" sample.count=24 run.t_end=3000 run.engine=cpu output.file=scattering.h5 --no-plot
fewer=$(printf '%s\n' "$out" | awk '/^fewer bodies/ { print $3 }')
run 0 query scattering.h5 --systems-table --where 'n_final < 4'
[ "${fewer:-0}" -gt 0 ] && [ "$fewer" -eq $(($(printf '%s\n' "$out" | wc -l) - 1)) ] ||
    wrong "fewer bodies: $fewer, but $out"
# a table says that the systems ended at different times, and a study of it counts anew
run 0 convert study.h5 ends.csv
grep -qx '# time: differs' ends.csv || wrong "no time: $(head -n 4 ends.csv)"
run 0 convert ends.csv ends_too.csv
[[ $err == *"ends.csv are at different times, which it does not say"* ]] || wrong "notes: $err"
cmp ends.csv ends_too.csv || wrong "not the same"
printf 'system = { file = "ends.csv"; }; integrator = { dt = 0.01; }; run = { t_end = 41.0; };' >ends.cfg
for start in '' run.t_start=40; do
    refused 2 "run.t_start = 0, to count anew: the states in system.file are of different times" run ends.cfg $start
done
run 0 run ends.cfg run.t_start=0 run.t_end=0.1 --quiet
# time 0 is then that of the states, which the epoch of the table is not
sed '1i # epoch: BJD 2454990' ends.csv >dated.csv
dated=(ends.cfg --quiet --force 'system.file="dated.csv"' run.t_start=0 run.t_end=0.1)
refused 2 'expected the time of the states, or none: time 0 of system.file is "BJD 2454990"' run "${dated[@]}" \
    'epoch="BJD 2454990"'
run 0 run "${dated[@]}"
run 0 run "${dated[@]}" 'epoch="BJD 2456490"'
# the ends of run.orbits differ by roundings, which is no difference
cat >rounded.cfg <<'END'
system = { bodies = ( { name = "a"; m = 1.0; }, { name = "b"; m = 1e-5; a = 1.0; } ); };
sample = {
    count = 50;
    parameters = ( { body = "b"; parameter = "M"; distribution = "uniform"; from = 0.0; to = 6.28; } );
};
integrator = { name = "mvs"; steps_per_orbit = 20; };
run = { orbits = 100.0; };
END
run 0 run rounded.cfg --quiet
# a transit on a Julian day, and a run from day 0
sed 's/a = 1.0; }/a = 1.0; T0 = 2456905.8; }/; /^sample/,/^};/d; s/^run.*/run = { t_end = 9.0; };/
    1i units = { length = "AU"; mass = "Msun"; time = "day"; };' rounded.cfg >day_zero.cfg
run 0 run day_zero.cfg --quiet --no-plot
case $err in "shoal: warning: the place of 'b' is that of the time 2456905.8 day, and the run begins 6727 years "*) ;;
    *) wrong "no warning: $err" ;; esac
run 0 run day_zero.cfg --quiet --no-plot --force run.t_start=2456900 run.t_end=2456909
[ -z "$err" ] || wrong "a warning of a date: $err"
# tangent vectors that err far more than their bodies
while IFS='|' read -r integrator said; do
    run 0 run rounded.cfg --quiet --no-plot sample.count=1 run.orbits=2 'monitors=({name="megno";})' \
        "integrator={$integrator}" 'output.file="megno.h5"' --force
    [[ -z $said$err || -n $said && $err == "$said"* ]] || wrong "$integrator: $err"
done <<'END'
name="hybrid";dt=0.05;|
name="hybrid";dt=0.05;tolerance=1e-9;|
name="hybrid";dt=0.05;tolerance=1e-8;|shoal: warning: megno: with tolerance = 1e-08 tangent vectors of hybrid err
name="hermite4_adaptive";|shoal: warning: megno: tangent vectors of hermite4_adaptive err
END
run 0 convert rounded.h5 rounded.csv
[[ $err != *"at times from"* ]] && grep -q '^# time: 100[.]0' rounded.csv || wrong "time: $err"
run 0 query scattering.h5 --events
event_head=system,time,event,body_a,body_b,m_a,m_b,distance,speed,dE,ended
[ "$(printf '%s\n' "$out" | head -n 1)" = $event_head ] || wrong "events: $out"
printf '%s\n' "$out" | awk -F , 'NR > 1 && (NF != 11 || $2 <= 0 || $2 > 3000 || ($1 == last && $2 < time)) { bad = 1 }
    NR > 1 { last = $1; time = $2; n[$3]++ } END { exit bad || n["encounter"] < 50 }' || wrong "events: $out"
run 0 query scattering.h5 --events --systems 3
printf '%s\n' "$out" | awk -F , 'NR > 1 && $1 != 3 { exit 1 }' || wrong "events of system 3: $out"
end

begin cli_query
state_head=system,body,name,time,m,x,y,z,vx,vy,vz
table_head=system,outcome,t_stop,body_a,body_b,dE_final,steps,n_final
for which in --initial --final "--time 10" ""; do
    run 0 query study.h5 $which
    heading=$(printf '%s\n' "$out" | head -n 1)
    [ "$heading" = $state_head ] || wrong "$which: heading: $heading"
    printf '%s\n' "$out" | awk -F , 'NF != 11 { exit 1 }' || wrong "$which: not 11 columns everywhere"
done
run 0 query study.h5 --initial
[ "$(printf '%s\n' "$out" | wc -l)" -eq 37 ] || wrong "--initial: $(printf '%s\n' "$out" | wc -l) lines"
run 0 query study.h5 --initial --systems 2..3
[ "$(printf '%s\n' "$out" | sed 1d | cut -d , -f 1 | sort -u | tr '\n' ' ')" = "2 3 " ] || wrong "--systems 2..3: $out"
run 0 query study.h5 study.h5 --initial --systems 2..3
[ "$(printf '%s\n' "$out" | wc -l)" -eq 13 ] || wrong "two files: $out"
run 0 query study.h5 --systems-table
case $out in "$table_head"*) ;; *) wrong "table: $out" ;; esac
[ "$(printf '%s\n' "$out" | wc -l)" -eq 13 ] || wrong "table: $(printf '%s\n' "$out" | wc -l) lines"
printf '%s\n' "$out" | head -n 1 | grep -q 'c\.a.*c\.e\|c\.e.*c\.a' || wrong "table: no swept columns: $out"
run 0 query study.h5 short.h5 --systems-table --systems 2
[ "$(printf '%s\n' "$out" | wc -l)" -eq 3 ] || wrong "two tables: $out"
run 0 run study.cfg output.file=other.h5 'sweep=()' run.t_end=1 --quiet
run 0 run study.cfg output.file=in_days.h5 'sweep=()' 'units={time="d";}' run.t_end=1 output.interval=1 --quiet
run 2 query study.h5 in_days.h5
case $err in *"in_days.h5: its units (AU, Msun, d, "*") are not those of the first file (AU, Msun, yr"*) ;; *) wrong \
    "two units: $err" ;; esac
run 2 query study.h5 other.h5 --systems-table
case $err in "shoal: "*other.h5*"c.a [AU],c.e"*) ;; *) wrong "tables of different columns: $err" ;; esac
for angles in degrees radians; do
    run 0 run study.cfg output.file=$angles.h5 angles=\"$angles\" --quiet \
        'sweep=({ body = "c"; parameter = "l"; from = 0.0; to = 1.0; count = 2; })' run.t_end=1
done
run 2 query degrees.h5 radians.h5 --systems-table
case $err in *"radians.h5: its columns (c.l [rad]"*") are not those of the first file (c.l [deg]"*) ;; *) wrong \
    "degrees and radians in one table: $err" ;; esac
cat >ids.csv <<'END'
system,body,name,m,x,y,z,vx,vy,vz
7,0,star,1,0,0,0,0,0,0
7,1,p,1e-3,1,0,0,0,6,0
2,0,star,1,0,0,0,0,0,0
2,1,p,1e-3,2,0,0,0,4,0
END
printf 'system = { file = "ids.csv"; }; integrator = { dt = 0.01; }; run = { t_end = 1.0; engine = "cpu"; };' >ids.cfg
run 0 run ids.cfg --quiet
for which in --systems-table --initial --final; do
    run 0 query ids.h5 $which --systems 7..7
    [ "$(printf '%s\n' "$out" | sed 1d | cut -d , -f 1 | sort -u)" = 7 ] || wrong "$which of system 7: $out"
done
refused 2 "2..7" query ids.h5 --systems 7..8
refused 2 "0..11" query study.h5 --systems 3..12
refused 2 "A..B" query study.h5 --systems 3..x
refused 2 "A..B" query study.h5 --systems 5..3
refused 2 "--time" query study.h5 --time soon
if [ -w /dev/full ]; then
    "$shoal" query study.h5 >/dev/full 2>err
    [ $? -eq 1 ] || wrong "a full disk is no success"
fi
end

begin cli_query_selects
# elements of the initial state are those of the config, in every unit and frame that keeps them
run 0 query study.h5 --initial --elements --systems 0
case $out in "system,body,name,time,m,a,e,inc,Omega,omega,f,M,P"*) ;; *) wrong "heading of orbits: $out" ;; esac
near() { awk -v x="$1" -v y="$2" 'BEGIN { d = x - y; exit !(d < 1e-12 && d > -1e-12) }' || wrong "$3: $1, not $2"; }
orbit_b=$(printf '%s\n' "$out" | grep '^0,1,')
orbit_c=$(printf '%s\n' "$out" | grep '^0,2,')
near "$(echo "$orbit_b" | cut -d, -f6)" 1 "a of b"
near "$(echo "$orbit_b" | cut -d, -f7)" 0.05 "e of b"
near "$(echo "$orbit_b" | awk -F, '{ print $9 + $10 + $12 }')" 10 "mean longitude of b" # in degrees, inc = 0
near "$(echo "$orbit_c" | cut -d, -f6)" 1.1 "a of c"
near "$(echo "$orbit_c" | cut -d, -f8)" 2 "inc of c"
run 0 query study.h5 --initial --elements=astrocentric --systems 0
near "$(printf '%s\n' "$out" | grep '^0,1,' | cut -d, -f6)" 1 "astrocentric a of b"
[ "$(printf '%s\n' "$out" | grep '^0,2,')" != "$orbit_c" ] || wrong "c's orbit is the same in both frames"
# what the table says picks the systems of every other query, too
run 0 query study.h5 --systems-table
wanted=$(printf '%s\n' "$out" | awk -F, 'NR > 1 && $2 == "survived" && $9 >= 0.1 { print $1 }' | sort -u)
few='outcome == survived && c.a>=0.1'
[ "$(printf '%s\n' "$out" | head -n 1 | cut -d, -f9)" = c.a ] || wrong "column 9 is not c.a"
for which in --systems-table --initial --elements "--time 10"; do
    run 0 query study.h5 $which --where "$few"
    [ "$(printf '%s\n' "$out" | sed 1d | cut -d , -f 1 | sort -u)" = "$wanted" ] || wrong "$which --where: $out"
done
run 0 query study.h5 --systems-table --where 'outcome != survived && body_a == b'
printf '%s\n' "$out" | sed 1d | awk -F, '$2 == "survived" || $4 != "b" { exit 1 }' || wrong "body_a == b: $out"
[ "$(printf '%s\n' "$out" | wc -l)" -gt 1 ] || wrong "nobody met b"
run 0 query study.h5 --systems-table --where 'body_a >= 0'
met=$out
[[ $met != *survived* ]] || wrong "of an empty cell: $met"
for condition in 'body_a != sun' 'body_a < 3' 'body_a != 7'; do
    run 0 query study.h5 --systems-table --where "$condition"
    [ "$out" = "$met" ] || wrong "$condition: $out"
done
run 0 query study.h5 --time 0..20 --systems 0
all=$out
run 0 query study.h5 --time .. --systems 0
[ "$out" = "$all" ] || wrong "--time .. is not all times"
run 0 query study.h5 --time 5.. --systems 0
[ "$(printf '%s\n' "$out" | sed 1d | awk -F, '$4 < 5' | wc -l)" -eq 0 ] || wrong "--time 5..: $out"
run 0 run study.cfg 'system.bodies.c.name="C/2020 F3"' 'sweep=({ body = "C/2020 F3"; parameter = "a"; from = 1.1;
    to = 1.9; count = 4; })' output.file=comet.h5 --quiet
run 0 query comet.h5 --systems-table --where '"C/2020 F3.a">1.2 && body_b != "C/2020 F3"'
[ "$(printf '%s\n' "$out" | sed 1d | cut -d , -f 1 | tr '\n' ' ')" = "" ] || wrong "names in quotes: $out"
run 0 query comet.h5 --systems-table --where 'system >= 1 && "C/2020 F3.a" > 1.2'
[ "$(printf '%s\n' "$out" | sed 1d | cut -d , -f 1 | tr '\n' ' ')" = "1 2 3 " ] || wrong "names in quotes: $out"
refused 2 "names with blanks in double quotes" query comet.h5 --where 'C/2020 F3.a > 1.2'
refused 2 "COLUMN OP VALUE" query comet.h5 --where '"C/2020 F3.a > 1.2'
refused 2 "did you mean 'outcome'" query study.h5 --where 'outcom == survived'
refused 2 "did you mean 'survived'" query study.h5 --where 'outcome == survive'
refused 2 "expected a number" query study.h5 --where 'c.a < x'
refused 2 "COLUMN OP VALUE" query study.h5 --where 'c.a <'
refused 2 "expected one of" query study.h5 --where 'c.a =< 1'
refused 2 "after &&" query study.h5 --where 'c.a < 1 &&'
refused 2 "--elements" query study.h5 --elements=helio
refused 2 "expected an outcome" query study.h5 --events=explosion
refused 2 "expected states" query study.h5 --elements --events
refused 2 "expected states" query study.h5 --systems-table --elements
refused 2 "expected one of" query study.h5 --time 0 --time 10
refused 2 "--time" query study.h5 --time 3..2
end

begin cli_merge
for i in 1 2 3; do run 0 run study.cfg run.shard=$i/3 --quiet; done
[ -f study.2-of-3.h5 ] || wrong "no study.2-of-3.h5: $(ls)"
run 0 merge whole.h5 study.3-of-3.h5 study.1-of-3.h5 study.2-of-3.h5
holds "12 systems"
for which in --systems-table --initial "--time 10" --final; do
    run 0 query study.h5 $which
    expected=$out
    run 0 query whole.h5 $which
    [ "$out" = "$expected" ] || wrong "$which: merged shards are not the whole: $out"
done
run 0 plot whole.h5 --column t_stop
refused 2 "--force" merge whole.h5 study.1-of-3.h5
refused 2 "shards missing of 3: 2, 3" merge part.h5 study.1-of-3.h5
refused 2 "both are shard 1/3" merge part.h5 study.1-of-3.h5 study.1-of-3.h5
refused 2 "no run.shard" merge part.h5 study.h5
refused 2 "nothing.h5" merge part.h5 nothing.h5
refused 2 "merge OUT A B" merge part.h5
[ ! -e part.h5 ] || wrong "refused, but there is part.h5"
run 0 merge --partial part.h5 study.1-of-3.h5 study.2-of-3.h5
holds "8 systems of 2 shards, not complete"
end

begin cli_many
run 0 run study.cfg sweep='({ body = "c"; parameter = "a"; from = 1.1; to = 1.9; count = 100001; })' run.t_end=0.02 \
    output.interval=1.0 output.file=many.h5 --force --no-plot
[ "$(printf '%s\n' "$out" | grep -c '^extend .*output.extend = true')" -eq 2 ] || wrong "$out"
refused 2 "output.extend" run many.h5 --extend 1
for word in output.extend=false 'sweep=({ body = "c"; parameter = "a"; from = 1.1; to = 1.9; count = 3; })'; do
    run 0 run study.cfg "$word" run.t_end=0.02 output.file=many.h5 --force --no-plot
    [ "$(printf '%s\n' "$out" | grep -c '^extend ')" -eq 0 ] || wrong "$word: $out"
done
rm many.h5
end

begin cli_certify
run 0 run study.cfg run.certify.fraction=1.0 output.file=certified.h5 --no-plot
holds "certify        12 systems again"
holds "step           undecided: half the step changes at most"
verdict=$(printf '%s\n' "$out" | sed -n '/^certify/,$p')
run 0 query certified.h5 --certify
[ "$out" = "$verdict" ] || wrong "not what run printed: $out"
run 0 query certified.h5 --log=certify --where 'outcome == encounter'
[ "$(printf '%s\n' "$out" | head -n 1 | cut -d , -f 1-7)" = \
    system,time,outcome,n_final,outcome_shadow,n_final_shadow,t_stop_shadow ] || wrong "heading: $out"
holds ,encounter,3,encounter,3,
for i in 1 2; do run 0 run study.cfg run.certify.fraction=1.0 run.shard=$i/2 output.file=certified.h5 --quiet; done
run 0 merge halves.h5 certified.?-of-2.h5
[ "$(printf '%s\n' "$out" | sed 1d)" = "$verdict" ] || wrong "not that of the whole: $out"
refused 2 "without run.certify" query study.h5 --certify
refused 2 "without run.certify" plot study.h5 --kind certify --script
refused 2 "expected one of --final" query certified.h5 --certify --events
end

begin cli_status
mkdir runs
run 0 run study.cfg run.shard=2/3 output.file=runs/study.h5 --quiet
run 0 run study.cfg output.file=runs/other.h5 --quiet
printf 'not a result\n' >runs/note.h5
run 0 status runs
[ "$(printf '%s\n' "$out" | tail -n 2 | tr -s ' ')" = "runs/other.h5 1 1 0 0 0 100.0 % -
runs/study.h5 3 1 0 0 2 33.3 % -" ] || wrong "$out"
run 0 status --csv runs/
[ "$(printf '%s\n' "$out" | tail -n 3 | cut -d , -f 2-5 | tr '\n' ' ')" = "1,3,waiting,0 2,3,done,1 3,3,waiting,0 " ] ||
    wrong "$out"
mkdir certifies # the last of the further runs takes long
"$shoal" run study.cfg monitors='()' run.t_end=20000 run.certify.fraction=1.0 output.interval=20000 \
    output.file=certifies/x.h5 --quiet --no-plot >/dev/null 2>&1 &
runner=$!
while kill -0 $runner 2>/dev/null; do
    run 0 status certifies
    case $out in *certified*) break ;; esac
    sleep 0.05
done
[ "$(printf '%s\n' "$out" | tail -n 2 | tr -s ' ' | sed 's/[0-9.]* %$/N %/')" = \
    "certifies/x.h5 1 0 1 0 0 100.0 % ?
 certifies/x.h5: running, certified N %" ] || wrong "$out"
run 0 status --csv certifies
[ "$(printf '%s\n' "$out" | tail -n +2 | cut -d , -f 1-7)" = certifies/x.h5,1,1,running,1,,certifies/x.h5 ] ||
    wrong "$out"
{ kill -KILL $runner && wait $runner; } 2>/dev/null
refused 2 "not done yet: the command that began this run goes on with it" query certifies/x.h5 --certify
refused 2 "run.certify is not done yet" run --extend 30000 certifies/x.h5
run 0 convert certifies/x.h5 certifies/x.csv # of the journal
run 0 status certifies
holds "certifies/x.h5: failed, certified"
[ "$(printf '%s\n' "$out" | wc -l)" -eq 3 ] || wrong "$out"
run 0 status --all runs
holds "runs/study.3-of-3.h5: waiting at 0.0 %"
run 0 status "$configs"
holds "no runs of ensembles in"
refused 2 "nowhere: cannot be read" status nowhere
refused 2 "expected one folder" status runs runs
rm -r runs certifies
end

begin cli_names
cat >names.cfg <<'END'
system = { bodies = ( { name = "#s, 1"; m = 1.0; }, { name = " b"; m = 1e-3; a = 1.0; },
                      { name = "c "; m = 1e-3; a = 2.0; }, { name = "d's é"; m = 1e-3; a = 4.0; } ); };
sample = { count = 2; parameters = (
    { body = "c "; parameter = "e"; distribution = "uniform"; from = 0.0; to = 0.1; } ); };
integrator = { name = "mvs"; dt = 0.02; };
run = { t_end = 1.0; engine = "cpu"; };
END
run 0 run names.cfg --quiet
run 0 convert names.h5 names.csv
run 0 convert names.csv names_again.csv
cmp names.csv names_again.csv || wrong "a table that was written is not read as it was: $(cat names.csv)"
for word in '"#s, 1"' '" b"' '"c "' "d's é"; do grep -qF ",$word," names.csv || wrong "$word: $(cat names.csv)"; done
"$shoal" query names.h5 --final >final.csv
run 0 verify names.h5 final.csv
end

begin cli_draws
cat >draws.cfg <<'END'
system = { bodies = ( { name = "s"; m = 1.0; }, { name = "p"; m = 1e-3; P = 30.0; },
                      { name = "q"; m = 1e-3; P = 80.0; } ); };
units = { length = "AU"; mass = "Msun"; time = "d"; };
sample = { file = "draws.csv"; parameters = ( { body = "p"; parameter = "P"; column = "per [d]"; },
           { body = "q"; parameter = "e"; },
    { body = "q"; parameter = "M"; distribution = "uniform"; from = 0.0; to = 6.28; } ); };
integrator = { name = "mvs"; dt = 1.0; };
run = { t_end = 10.0; engine = "cpu"; };
END
printf '%s\n' '# a posterior' '"per [d]",lnL,q.e' 30.5,-1,0.01 31.25,-2,0.02 '29,-3,0.03' >draws.csv
run 0 run draws.cfg --quiet
run 0 query draws.h5 --systems-table
[ "$(printf '%s\n' "$out" | cut -d , -f 1,9,10 | tail -n 3 |
    tr '\n' ' ')" = "0,30.5,0.01 1,31.25,0.02 2,29,0.03 " ] || wrong "draws: $out"
run 0 run draws.cfg sample.count=2 'sweep=({body="q";parameter="P";values=[70.0,80.0];})' output.file=grid.h5 --quiet
run 0 query grid.h5 --systems-table
[ "$(printf '%s\n' "$out" | grep -c ',31.25,')" = 2 ] || wrong "draws at the points of a grid: $out"
run 0 run draws.cfg --force
case $out in *rows*) wrong "all rows: $out" ;; esac
run 0 run draws.cfg --force sample.count=2
case $out in *"draws: the first 2 of 3 rows of draws.csv"*) ;; *) wrong "some rows: $out" ;; esac
end

begin cli_rerun
cat >sample.cfg <<'END'
system = { bodies = ( { name = "s"; m = 1.0; }, { name = "p"; m = 1e-3; a = 1.0; },
                      { name = "q"; m = 1e-3; hill_spacing = 4.0; } ); };
sweep = ( { body = "q"; parameter = "hill_spacing"; from = 2.0; to = 6.0; count = 3; } );
sample = { count = 4; seed = 3; parameters = (
    { body = "q"; parameter = "delta_l"; distribution = "uniform"; from = 0.0; to = 6.28; } ); };
integrator = { name = "mvs"; steps_per_orbit = 50.5; };
run = { orbits = 20.3; engine = "cpu"; };
END
run 0 run sample.cfg --quiet
run 0 run sample.cfg run.shard=2/5 --quiet
for file in study.h5 study.2-of-3.h5 sample.h5 sample.2-of-5.h5; do
    run 0 rerun $file --system 1 --interval 0.5 --times 1.25,2 --output again.h5 --force
    holds "the same to the last bit"
    run 0 query again.h5 --systems-table
    again=$out
    run 0 query $file --systems-table --systems 1
    [ "$out" = "$again" ] || wrong "$file: $again"
done
run 0 query again.h5 --initial
[ "$(printf '%s\n' "$out" | cut -d , -f 1 | sort -u | tr '\n' ' ')" = "1 system " ] || wrong "not system 1: $out"
run 0 rerun study.h5 --system 7 --interval 0.5 --quiet
[ -z "$out$err" ] || wrong "--quiet, but it said: $out$err"
run 0 query study.system-7.h5 --time 2.5
run 0 rerun ids.h5 --system 7 --quiet
sed -i 's/^7,1,p,1e-3,1/7,1,p,1e-3,1.0001/' ids.csv
refused 1 "/initial/state is not the same" rerun ids.h5 --system 7 --quiet --force
refused 2 "none/ids.csv" rerun ids.h5 --system 2 --folder none
refused 2 "no system 12" rerun study.h5 --system 12
refused 2 "expected an integer" rerun study.h5 --system x
refused 2 "--system K" rerun study.h5
refused 2 "--force" rerun study.h5 --system 7
end

begin cli_bench_range
run 0 bench --range integrator.dt=0.005..0.02 study.cfg run.t_end=5
heading=integrator.dt,systems,bodies,survived,steps,seconds,ns_per_system_step,error,plan
case $out in $heading*) ;; *) wrong "heading: $out" ;; esac
[ "$(printf '%s\n' "$out" | cut -d , -f 1 | tr '\n' ' ')" = "integrator.dt 0.005 0.01 0.02 " ] || wrong "values: $out"
printf '%s\n' "$out" | awk -F , 'NR > 2 && !($8 > 3 * error && $8 < 5 * error) { exit 1 } { error = $8 }' ||
    wrong "energy errors do not go as dt^2: $out"
run 0 bench --range run.threads=1..2:2 study.cfg run.t_end=5
[ "$(printf '%s\n' "$out" | wc -l)" -eq 3 ] || wrong "two values: $out"
run 1 bench --range integrator.dt=0.01..0.02 --limit 1e-12 study.cfg run.t_end=5
case $err in "shoal: integrator.dt=0.01: "*"above 1e-12") ;; *) wrong "limit: $err" ;; esac
refused 2 --allow-plugins bench --range run.threads=1..2 study.cfg 'plugins=["absent.c"]'
refused 2 "No such file" bench --allow-plugins --range run.threads=1..2 study.cfg 'plugins=["absent.c"]'
refused 2 "did you mean 'threads'" bench --range run.thread=1..2 study.cfg
refused 2 "expected KEY=A..B" bench --range run.threads=2..1 study.cfg
refused 2 "expected KEY=A..B" bench --range run.threads=0..2 study.cfg
refused 2 "expected a study" bench --range run.threads=1..2
end

begin cli_bench_monitors
# it compares the states of all its runs, too
run 0 bench monitors mvs hybrid 3 --engine cpu --systems 16 --steps 100 --csv
printf '%s\n' "$out" | awk -F , '
    NR == 1 { n = NF; next }
    NF != n || $2 != "cpu" || $3 != "system" || $4 != 16 || !($5 > 0) { exit 1 }
    { for (i = 6; i < NF; i += 2) if (!($i > 0 && $(i + 1) == "system") && ($i != "" || $1 != "hybrid-3")) exit 1 }
    END { exit NR != 3 || n != 25 }' || wrong "$out"
run 0 bench monitors mvs 3 --engine cpu --systems 16 --steps 100
[ "$(printf '%s\n' "$out" | tail -n 1 | wc -w)" -eq 26 ] || wrong "$out"
run 0 bench monitors mvs energy 3 sweep --tune=never --engine cpu --systems 16 --steps 100 --csv
case $out in "case,engine,work_model,systems,bare,energy,model,sweep,model"*) ;; *) wrong "$out" ;; esac
[ "$(printf '%s\n' "$out" | tail -n 1 | tr , ' ' | wc -w)" -eq 9 ] || wrong "$out"
refused 2 "'mvss': expected mvs, mvs_jacobi" bench monitors mvss
run 2 bench monitors mvs 3 --tune=sometimes --systems 16 --steps 100
case $err in *"tune = 'sometimes': expected one of auto|always|never"*) ;; *) wrong "$err" ;; esac
end

begin cli_bench_ladder
# climbed ROWS: the heading and so many rows, whose time and errors are numbers, and errors no larger than half
# precision's
climbed() {
    printf '%s\n' "$out" | awk -F , -v n="$1" \
        'NR > 1 && !($1 == "cpu" && $7 > 0 && $8 > 0 && $9 >= 0 && $9 < 1e-3 && $10 < 0.1) {
        exit 1 } $9 == "rms_error" { heading = 1 } END { exit !heading || NR != n + 1 }' ||
            wrong "expected $1 rows: $out"
}
run 0 bench ladder 1000 --engine cpu --csv
climbed 32
run 0 bench ladder edges 300 naive 1000 --engine cpu --csv
climbed 28
[ "$(printf '%s\n' "$out" | cut -d , -f 2,6 | sort -u | tr '\n' ' ')" = \
    "edges,1000 edges,300 kernel,bodies naive,1000 naive,300 " ] || wrong "two steps: $out"
refused 2 "'1e9': expected a number of bodies from 2 to 1e8" bench ladder 1000 1e9
refused 2 "did you mean 'edges'" bench ladder edgse 1000
refused 2 "'lanes': expected" bench ladder lanes --engine cpu
printf 'model = { name = "plummer"; n = 100; }; gravitation = { method = "naive"; precision = "fp32";
                softening = 0.1; };
        integrator = { dt = 0.1; }; run = { t_end = 1.0; engine = "cpu"; };' >naive.cfg
refused 2 'naive.cfg:1: gravitation.method = "naive": expected a force method that makes potentials' run naive.cfg \
    --quiet
run 0 run naive.cfg gravitation.method=rows
holds " interactions/s"
refused 2 "'radii' does not use it" plot naive.h5 --kind radii --width 3 --script
refused 2 "'density' does not use it" plot naive.h5 --kind density --column t_stop --script
run 0 plot naive.h5 --kind density --width 3 --plane xz --script
end

# what was assumed of a big system's file is told, as convert does
begin cli_big_notes
grep -v 'central mass' "$data/planets.big.in" >noted.in
printf 'model = { file = "%s"; }; integrator = { dt = 0.1; }; run = { t_end = 1.0; engine = "cpu"; };
    output = { file = "noted.h5"; snapshots = 0; };' noted.in >noted.cfg
run 0 convert noted.in noted.csv
notes=$err
case $notes in "shoal: note: the central mass"*) ;; *) wrong "no notes: $notes" ;; esac
run 0 run noted.cfg
[ "$err" = "$notes" ] || wrong "run: $err"
run 0 run noted.cfg --force --quiet
[ -z "$err" ] || wrong "--quiet, but it said: $err"
run 0 generate noted.cfg -o noted.phigrape
[ "$err" = "$notes" ] || wrong "generate: $err"
end

begin cli_plot
run 0 plot study.h5 --column t_stop
[ "$(printf '%s\n' "$out" | wc -l)" -gt 3 ] || wrong "no preview: $out"
refused 2 "no_such_column" plot study.h5 --column no_such_column
if command -v gnuplot >/dev/null 2>&1; then
    run 0 plot study.h5 --column t_stop --png map.png
    [ "$(head -c 4 map.png | tail -c 3)" = PNG ] || wrong "map.png is no picture"
    refused 2 "no_such_column" plot study.h5 --column no_such_column --png other.png
    # by a name that was not given, only a picture of shoal is replaced
    run 0 plot study.h5 --kind ends
    run 0 plot study.h5 --kind ends
    printf mine >study_ends.png
    cp study_ends.png study.png
    run 2 plot study.h5 --kind ends
    case $err in
    *"study_ends.png: is there and no picture of this version of shoal"*) ;;
    *) wrong "over a picture: $err" ;;
    esac
    run 0 run study.cfg --force
    holds "no map: study.png: is there and no picture of this version of shoal"
    [ "$(cat study_ends.png study.png)" = minemine ] || wrong "pictures of others are gone"
    run 0 plot study.h5 --kind ends --output study_ends.png
    : >study_ends.png
    run 0 plot study.h5 --kind ends
    rm study.png
    run 0 run study.cfg --force
    run 0 run study.cfg --force
    holds "map            study.png"
else
    refused 3 "gnuplot" plot study.h5 --column t_stop --png other.png
fi
[ ! -e other.png ] || wrong "a picture of nothing"
refused 2 "--png" plot study.h5 study.h5 --png one.png
refused 2 ".png or .pdf" plot study.h5 --output map.jpg
refused 2 "did you mean: survival" plot study.h5 --kind survivel
refused 2 "0 or more" plot study.h5 --system -1
refused 2 "no column 'nonsense'" plot study.h5 --kind pairs --column nonsense --script
refused 2 "does not use it" plot study.h5 --kind survival --column t_stop --script
refused 2 "does not use it" plot study.h5 --width 3
refused 2 "either --linear or --log" plot study.h5 --linear --log
refused 2 "no system 99" plot study.h5 --kind elements --system 99 --script
run 0 generate study.cfg --output bare.h5
refused 2 "output.interval" plot bare.h5 --kind elements --script
refused 2 "output.interval" plot bare.h5 --kind energy --script
refused 2 "no system of this result has run" plot bare.h5 --kind survival --script
run 0 run study.cfg sweep='()' output.interval=1 output.file=alone.h5 --quiet
run 0 plot alone.h5 --script
holds '$b1 << EOD'
refused 2 "two swept" plot alone.h5 --kind pairs --script
# backwards, through a merger: its jump counts from the first snapshot without the body
cat >merge_back.cfg <<'END'
system = { bodies = ( { name = "star"; m = 1.0; }, { name = "b"; m = 1e-3; r = 0.02; a = 1.0; },
    { name = "c"; m = 1e-3; r = 0.02; a = 1.05; l = 0.5; } ); };
integrator = { name = "gauss_radau"; };
monitors = ( { name = "stop_on_collision"; action = "merge"; }, { name = "energy_error"; } );
run = { t_start = 5.0; t_end = -60.0; engine = "cpu"; };
output = { interval = 0.5; };
END
run 0 run merge_back.cfg --quiet
run 0 query merge_back.h5 --events
holds collided
run 0 plot merge_back.h5 --kind energy --script
printf '%s\n' "$out" | awk '/<< EOD/ { on = 1; next } /^EOD/ { on = 0 } on && NF == 2 { n++; bad = bad || $2 > 1e-12 }
    END { exit bad || n < 100 }' || wrong "the energy of a merger: $out"
if command -v gnuplot >/dev/null 2>&1; then
    run 0 plot study.h5 --kind survival
    [ "$out" = study_survival.png ] && [ -s study_survival.png ] || wrong "survival: $out"
    run 0 plot alone.h5 --output alone.pdf
    [ "$(head -c 4 alone.pdf)" = %PDF ] || wrong "alone.pdf is no PDF"
    run 0 plot study.h5 --kind elements --output single.png # one snapshot
    refused 2 "output.interval" plot bare.h5 --kind energy --output none.png
    [ ! -e none.png ] || wrong "a picture of nothing"
fi
end

# The columns of transits count what the log has: none of a planet after the moment in a step in which it merged.
begin cli_transits_of_mergers
cat >crowd.cfg <<'END'
angles = "degrees";
system = { bodies = ( { name = "star"; m = 1.0; r = 0.01; },
    { name = "b"; m = 1e-3; a = 1.0; e = 0.1; omega = 20.0; M = 30.0; r = 0.01; },
    { name = "c"; m = 5e-4; a = 1.15; e = 0.05; omega = 120.0; M = 130.0; r = 0.02; inc = 1.0; },
    { name = "d"; m = 8e-4; a = 1.35; e = 0.05; omega = 120.0; M = 230.0; r = 0.01; inc = 0.5; },
    { name = "t"; m = 0.0; a = 1.5; e = 0.2; M = 10.0; inc = 0.3; r = 0.02; } ); };
sample = { count = 60; parameters = (
    { body = "b"; parameter = "M"; distribution = "uniform"; from = 0.0; to = 360.0; } ); };
integrator = { name = "hybrid"; steps_per_orbit = 40.0; };
monitors = ( { name = "stop_on_collision"; action = "merge"; }, { name = "transits"; } );
run = { t_end = 50.0; engine = "cpu"; };
END
run 0 run crowd.cfg --quiet
run 0 query crowd.h5 --events
[ "$(grep -c collided <<<"$out")" -gt 20 ] || wrong "few mergers: $out"
run 0 query crowd.h5 --log transits
printf '%s\n' "$out" >crowd_log.csv
run 0 query crowd.h5 --systems-table
printf '%s\n' "$out" | awk -F, 'NR == FNR { n[$1 "," $3]++; next }
    FNR == 1 { for (i = 1; i <= NF; i++) if ($i ~ /^transits_/) body[i] = substr($i, 10); next }
    { for (i in body) { n_seen++; bad = bad || $i != n[$1 "," body[i]] + 0 } }
    END { exit bad || n_seen < 240 }' crowd_log.csv - || wrong "$out"
end

begin cli_verify
run 0 verify study.h5 study.h5 -p 0 -v 0 -t 0 -m 0
holds "compared: 12 systems"
[ "$(printf '%s\n' "$out" | tail -n 1)" = same ] || wrong "not the same as itself: $out"
printf 'units = { length = "km"; mass = "Mjup"; time = "d"; };\n' | cat - study.cfg |
    sed 's/a = 1.0;/a = 149597870.7;/; s/a = 1.3;/a = 194477231.91;/
         s/m = 1.0;/m = 1047.5655146604772;/; s/1e-3/1.0475655146604772/g
         s/from = 1.1; to = 1.9/from = 164557657.77; to = 284235954.33/; s/t_end = 20.0/t_end = 7305.0/
         s/dt = 0.02/dt = 7.305/
         s/interval = 10.0/interval = 3652.5/; s/study.h5/days.h5/' >days.cfg
run 0 run days.cfg --quiet
run 0 verify study.h5 days.h5 -p 1e-9 -v 1e-9 # rounding, stretched by close orbits
run 1 verify study.h5 days.h5 --absolute -p 1e-30
holds different
run 0 run study.cfg output.file=close.h5 integrator.dt=0.0200001 --quiet
run 1 verify study.h5 close.h5
holds "position"
run 1 verify study.h5 short.h5
holds "time"
run 1 verify study.h5 other.h5
holds "only in the first file: 11 systems, first 1"
run 0 query study.h5
printf '%s\n' "$out" >states.csv
run 0 verify study.h5 states.csv -p 0 -v 0
run 0 verify states.csv states.csv
for epoch in 'J2000.0' 'JD 2451545 TDB' 'BJD_TDB 2451546' 'day 5'; do
    sed "1i # epoch: $epoch" states.csv >"epoch ${epoch%% *}.csv"
done
run 0 verify "epoch J2000.0.csv" "epoch JD.csv"
run 0 verify "epoch J2000.0.csv" states.csv
run 1 verify "epoch J2000.0.csv" "epoch BJD_TDB.csv"
holds 'epochs: time 0 is "J2000.0" in the first file, "BJD_TDB 2451546" in the second'
run 1 verify "epoch J2000.0.csv" "epoch day.csv"
holds different
sed 's/^0,1,b,\([^,]*\),\([^,]*\),[^,]*/0,1,b,\1,\2,/' states.csv >empty.csv # an x that is not known
run 1 verify states.csv empty.csv
holds inf
refused 2 "two files" verify study.h5
refused 2 "--position" verify study.h5 study.h5 --position far
refused 2 "nothing.h5" verify study.h5 nothing.h5
refused 2 "study.cfg:1: column 1" verify study.h5 study.cfg
end

begin cli_generate
run 0 generate study.cfg
holds "12 systems of 3 bodies: study_initial.h5"
run 0 query study.h5 --initial
printf '%s\n' "$out" >run.csv
for which in --initial --final; do
    run 0 query study_initial.h5 $which
    [ "$out" = "$(cat run.csv)" ] || wrong "generate: $which states are not those of the run"
done
run 0 query study_initial.h5 --systems-table
printf '%s\n' "$out" | grep -q '^0,running,.*c.a\|c.a,c.e' || wrong "generate: no swept columns: $out"
printf '%s\n' "$out" | awk -F , 'NR > 1 && ($2 != "running" || $7 != 0 || $8 == "") { exit 1 }' ||
    wrong "generate: table: $out"
run 0 plot study_initial.h5 --column c.a
refused 2 "--force" generate study.cfg
run 0 generate study.cfg --force run.t_end=5
run 0 generate study.cfg sweep='()' --output one.csv
holds "1 systems"
run 0 generate study.cfg --output study.csv
# the study with that table gives the same bits, in units whose factors are not powers of two
sed '/^angles/d; /^system/,/^    *{ body/d; /^ *{ body/d' study.cfg >tail.cfg
printf 'units = { time = "d"; length = "km"; }; system = { file = "study.csv"; };' >from_csv.cfg
sed 's/t_end = 20.0/t_end = 7305.0/; s/dt = 0.02/dt = 7.305/
     s/interval = 10.0/interval = 3652.5/; s/study.h5/from_csv.h5/' \
    tail.cfg >>from_csv.cfg
run 0 generate from_csv.cfg --output again.csv
sed '/^# epoch/d' again.csv | cmp -s - study.csv || wrong "a table that went through a study has other bits"
printf 'units = { time = "yr"; }; system = { file = "study.csv"; };' | cat - tail.cfg |
    sed 's/study.h5/same.h5/' >same.cfg
run 0 run same.cfg --quiet
for which in --initial --final; do
    run 0 query study.h5 $which
    printf '%s\n' "$out" >one
    run 0 query same.h5 $which
    [ "$out" = "$(cat one)" ] || wrong "$which: the study with the generated table has other bits"
done
refused 2 "expected a study" generate
refused 2 "key=value" generate study.cfg other.cfg
refused 2 "nowhere.cfg" generate nowhere.cfg
refused 2 "t_end" generate study.cfg run.t_end=long
refused 1 "cannot be written" generate study.cfg --output nowhere/x.csv
end

begin cli_convert
run 0 convert --help
for word in csv hdf5 swarm mercury exoplanets horizons docs/formats.md; do holds "$word"; done
run 0 convert "$data/planets.big.in" "$data/comet.small.in" solar.csv
[ "$err" = "shoal: note: 1 bodies have a spin or forces of their own (a1, a2, a3, b): left out" ] || wrong "notes: $err"
run 0 convert "$data/planets.big.in" solar.h5 --units AU,Msun,yr --quiet
[ -z "$err" ] || wrong "--quiet, but it said: $err"
printf 'system = { file = "solar.csv"; }; integrator = { name = "mvs"; dt = 0.5; };
        run = { t_end = 100.0; engine = "cpu"; };
        output = { file = "solar_run.h5"; };' >solar.cfg
run 0 run solar.cfg --quiet
run 0 convert solar_run.h5 "$scratch/end.in"
run 0 convert "$data/two.swarm.txt" two.csv --quiet
run 0 convert two.csv two.h5 --units km,Mearth,s
run 0 convert two.h5 two.txt
run 0 verify two.h5 two.csv -p 1e-15 -v 1e-15
run 0 convert two.csv one.in --system 7
grep -q 'central mass (solar) = 0.9' one.in || wrong "big.in: $(cat one.in)"
run 0 convert one.in back.csv
run 0 convert two.csv two_days.csv --units AU,Msun,d
# what time 0 is: a date is one in a big.in, too; any other epoch is told
while IFS='|' read -r epoch day note; do
    { printf '# epoch: %s\n# time: 1\n' "$epoch" && sed '/^# time/d' two_days.csv; } >dated.csv
    run 0 convert dated.csv dated.in --system 7 --force
    awk -v day="$day" '/^ epoch/ { exit !($5 - day < 1e-8 && day - $5 < 1e-8) }' dated.in ||
        wrong "$epoch: $(grep epoch dated.in)"
    case $err in *"what time 0 is: the epoch \"$epoch\""*) [ "$note" = told ] ;; *) [ -z "$note" ] ;; esac ||
        wrong "$epoch: $err"
done <<EOF
J2000.0|2451546|
BJD_TDB 2454833.5|2454834.5|
MJD 58000|2458001.5|
JD 2451545 TDB|2451546|
day 7|8|
first light|1|told
day of the launch|1|told
EOF
run 0 convert dated.csv dated.txt
case $err in *"dated.txt does not say what time 0 is: the epoch"*) ;; *) wrong "swarm has no epoch: $err" ;; esac
printf '%s\n' '# units: AU, Msun, d' system,body,name,m,x,y,z,vx,vy,vz,r 0,0,sun,1,0,0,0,0,0,0,0.00465 \
    0,1,b,1e-3,1,0,0,0,0.0172,0,5e-4 >radii.csv
run 0 convert radii.csv radii.in
[ "$err" = "shoal: note: radii.in has no place for the radii of 1 bodies: they are lost" ] || wrong "radii: $err"
run 0 convert radii.csv radii.phigrape
case $err in *"the radii of 2 bodies"*) ;; *) wrong "radii: $err" ;; esac
run 0 convert study.h5 snapshot.csv --time 10
grep -q '^# time: 10$' snapshot.csv && grep -q '^# units: AU, Msun, yr$' snapshot.csv ||
    wrong "heading: $(head -n 3 snapshot.csv)"
run 0 convert study.h5 lived.csv --where 'outcome == survived'
[ -z "$err" ] && grep -q '^# time: ' lived.csv || wrong "survivors are at one time: $err $(head -n 3 lived.csv)"
run 0 query study.h5 --where 'outcome == survived'
[ "$(grep '^[0-9]' lived.csv | cut -d, -f1 | uniq)" = "$(printf '%s\n' "$out" | sed 1d | cut -d, -f1 | uniq)" ] ||
    wrong "not the survivors: $(cat lived.csv)"
run 0 convert study.h5 at_last.csv
case $err in "shoal: note: the systems are at times from "*) ;; *) wrong "no note on times: $err" ;; esac
run 0 convert study.h5 first.csv --initial
run 0 verify first.csv study_initial.h5 -p 0 -v 0 -m 0
run 0 convert ids.csv ids_out.csv
case $err in "shoal: note: ids.csv does not state its units"*) ;; *) wrong "no note on units: $err" ;; esac
run 0 convert "$data/exoplanets.csv" exo.h5 --quiet
run 0 convert "$data/horizons_sun.txt" "$data/horizons_jupiter.txt" sky.csv -m 5=9.54e-4
printf '%s\n' '# units: kpc, Msun, G=4.30091e-6' '# time: 2' system,body,name,m,x,y,z,vx,vy,vz \
    0,0,a,1e10,-8,0,0,0,-220,0 \
    0,1,b,1e10,8,0,0,0,220,0 >disc.csv
# body_of FILE: m x vy and the time of its last body; is A B: as numbers, to the digits of that G
body_of() { awk -F '[, ]' '$2 == "time:" { t = $3 } END { print $4, $5, $9, t }' "$1"; }
is() { echo "$1 $2" | awk '{ for (i = 1; i <= 4; i++) if (($i - $(i + 4)) ^ 2 > 1e-10 * $i ^ 2) exit 1 }' ||
    wrong "$1 is not $2"; }
# names that tables must quote: each table that is written can be read, by shoal and by Python
cat >quoted.csv <<'END'
# units: AU, Msun, yr/2pi
system,body,name,m,x,y,z,vx,vy,vz
0,0,"a ""b"", c",1,0,0,0,0,0,0
0,1," C/2020 F3 ",0,1,0,0,0,1,0
0,2,"#d",0,0,3,0,-0.577,0,0
END
printf '%s\n' 'system = { file = "quoted.csv"; };' 'integrator = { name = "mvs"; dt = 0.3; };' \
    'monitors = ( { name = "element_range"; } );' 'run = { t_end = 3.0; engine = "cpu"; };' >quoted.cfg
run 0 run quoted.cfg --quiet
run 0 query quoted.h5 --systems-table
printf '%s\n' "$out" >quoted_table.csv
run 0 query quoted.h5 --initial
printf '%s\n' "$out" >quoted_states.csv
run 0 convert quoted_states.csv quoted_again.csv --from-units AU,Msun,yr/2pi
run 0 convert quoted_again.csv quoted_last.csv
run 0 verify quoted_again.csv quoted_last.csv -p 0 -v 0 -m 0
! command -v python3 >/dev/null || python3 - >python_csv 2>&1 <<'END' || wrong "Python: $(cat python_csv)"
import csv
names = ['a "b", c', ' C/2020 F3 ', '#d']
for file in 'quoted_states.csv', 'quoted_again.csv', 'quoted_last.csv':
    lines = [line for line in open(file, newline='') if not line.startswith('# ')]
    assert [row['name'] for row in csv.DictReader(lines, strict=True)] == names, lines
head, row = csv.reader(open('quoted_table.csv', newline=''), strict=True)
assert len(row) == len(head) and 'a_min_' + names[1] in head and 'e_max_#d' in head, head
END
for end in tipsy phigrape; do
    run 0 convert disc.csv "one.$end"
    [ "$err" = "shoal: note: one.$end is in kpc, Msun, G = 1, which it does not state (--units)" ] ||
        wrong "notes: $err"
    run 0 convert "one.$end" back.csv -F --from-units kpc,Msun,G=1
    is "$(body_of back.csv)" "1e10 8 $(awk 'BEGIN { s = sqrt(4.30091e-6); print 220 / s, 2 * s }')"
    run 0 convert disc.csv "km_s.$end" --units kpc,Msun,G=4.30091e-6
    run 0 convert "km_s.$end" back.csv -F --from-units kpc,Msun,G=4.30091e-6
    is "$(body_of back.csv)" "1e10 8 220 2"
    run 0 convert "km_s.$end" back.csv -F --from-units kpc,Msun,G=4.30091e-6 --units pc,Msun,yr
    is "$(body_of back.csv)" "1e10 8e3 2.2499676e-4 1.9555844e9"
done
[ "$(tail -n 1 km_s.phigrape)" = "1 10000000000 8 0 0 0 220 0" ] || wrong "km_s.phigrape: $(cat km_s.phigrape)"
# one system of several, to formats that have room for one
run 0 convert two.csv seven.csv --system 7 --units AU,Msun,G=1
for format in phigrape tipsy gadget; do
    run 0 convert two.csv "seven.$format" --to $format --system 7 --units AU,Msun,G=1 --quiet
    run 0 convert "seven.$format" back.csv -F --quiet
    awk -F , '/^[0-9]/ { for (i = 4; i <= 10; i++) if (NR == FNR) x[$2, i] = $i
        else if (($i - x[$2, i]) ^ 2 > 1e-13) exit 1 } /^[0-9]/ { n++ } END { exit n != 6 }' seven.csv back.csv ||
        wrong "$format: $(cat seven.csv back.csv)"
done
refused 2 "expected files" convert two.csv
refused 2 "expected a file of tipsy's or gadget's format" convert two.csv x.csv --components gas
refused 2 'did you mean "swarm"' convert two.csv x.csv --from swram
refused 2 'unknown format "fits"' convert two.csv x.csv --to fits
refused 2 "--to FORMAT" convert two.csv x.dat
refused 2 "only read" convert two.csv x.csv --to horizons
refused 2 "--force" convert two.csv two.txt
refused 2 "--units" convert two.csv x.txt --units km,Msun,s
refused 2 "unknown unit of length" convert two.csv x.csv --units miles,Msun,yr
refused 2 "no system 5" convert two.csv x.csv --system 5
refused 2 "2 systems: expected one" convert two.csv x.in
refused 2 "one file" convert two.csv study.h5 x.csv
refused 2 "nothing.csv" convert nothing.csv x.csv
refused 2 "there is no snapshot at 3" convert study.h5 x.csv --time 3
refused 2 "NAME=MSUN" convert two.csv x.csv --mass 5
for option in "--mass 5=1" "--central-mass 1" "--host X" "--epoch 1" --initial --final "--time 0"; do
    refused 2 "convert: ${option%% *}: expected a file of the format" convert two.csv x.csv $option
done
refused 2 "expected one of --final" convert study.h5 x.csv --initial --time 10
refused 2 "units of its own" convert study.h5 x.csv --from-units km,kg,s
refused 2 "no GM of Jupiter" convert "$data/horizons_sun.txt" "$data/horizons_jupiter.txt" x.csv
refused 2 "known format" convert study.cfg x.csv
refused 2 "SwarmDataFile" convert study.cfg x.csv --from swarm
refused 2 "expected a result file" convert two.csv x.csv --where 'outcome == survived'
refused 2 "did you mean 'outcome'" convert study.h5 x.csv --where 'outcom == survived'
refused 2 "at least one system" convert study.h5 x.csv --where 't_stop < 0'
refused 2 "planet of Vega" convert "$data/exoplanets.csv" x.csv --host Vega
[ -z "$(find . -name 'x.*')" ] || wrong "left behind: $(find . -name 'x.*')"
end

# The same results are the same bytes: what is left in memory is in no file.
begin cli_same_bytes
for garbage in 1 85; do
    export MALLOC_PERTURB_=$garbage
    run 0 run study.cfg --quiet --no-plot output.file=bytes.h5
    run 0 merge bytes_merged.h5 study.1-of-3.h5 study.2-of-3.h5 study.3-of-3.h5
    run 0 rerun bytes.h5 --system 1 -o bytes_again.h5 -i 1
    run 0 convert --quiet "$data/two.swarm.txt" bytes_two.h5
    for end in hdf5 tipsy; do run 0 convert bytes_two.h5 bytes.$end --system 7; done
    unset MALLOC_PERTURB_
    mkdir "garbage$garbage" && mv bytes[._]* "garbage$garbage"
done
out=$(diff -rq garbage1 garbage85 2>&1) || wrong "$out"
[ "$(find garbage1 -type f | wc -l)" -eq 6 ] || wrong "files: $(ls garbage1)"
end

begin cli_list_explain_info
run 0 list
for word in mvs hermite4 leapfrog stop_on_ejection; do holds $word; done
run 0 explain mvs
holds mvs
run 0 explain stop_on_ejection
holds r_max
run 0 explain stop_on_ejection.r_max
holds "a parameter of the monitor stop_on_ejection"
run 0 explain min_separation
holds "a column of the monitor closest_approach"
for word in frequency mean_motion tides.spin; do
    run 0 explain $word
    holds "rad/yr"
done
# every column that query prints
run 0 run study.cfg 'monitors=({ name = "closest_approach"; }, { name = "element_range"; },
    { name = "transits"; }, { name = "frequency"; bodies = "all"; }, { name = "megno"; })' \
    output.file=all_columns.h5 -q
run 0 query all_columns.h5 --systems-table --systems 0
[[ $out == *frequency_amplitude_c* && $out == *transits_b* && $out == *c.a* ]] || wrong "columns: $out"
for word in $(printf '%s\n' "$out" | head -n 1 | tr , ' ') closest_b_c m_a dE; do run 0 explain "$word"; done
run 0 explain frequency_amplitude_c
holds "frequency_amplitude, a column of the monitor frequency"
run 0 explain n_final
holds "n_final, a column of the table of systems: bodies left at the end"
refused 2 hermite4 explain hermit4
refused 2 "" explain stop_on_ejection.r_mix
refused 2 "" explain stop_on_ejection.r
refused 2 "" explain run.e
run 0 info
for word in GSL HDF5 libconfig cpu cuda gnuplot compiler "threads by default"; do
    printf '%s' "$out" | grep -qi "$word" || wrong "info does not tell of $word"
done
end

begin cli_words
for kind in commands plugs keys overrides columns outcomes pictures; do
    run 0 list --words $kind
    for word in $(case $kind in commands) echo run bench ;; plugs) echo mvs newton megno rows ;;
        keys) echo run.t_end sweep.count ;; overrides) echo run.t_end sweep ;; columns) echo megno t_stop ;;
        outcomes) echo survived budget ;; pictures) echo map pairs density ;; esac); do
        printf '%s\n' "$out" | grep -qx "$word" || wrong "no $word in the $kind: $out"
    done
done
refused 2 "expected one of commands|plugs" list --words verbs
run 0 list --words overrides
if printf '%s\n' "$out" | grep -q '^sweep\.'; then wrong "sweep is a list: $out"; fi
for word in $("$shoal" list --words commands; "$shoal" list --words outcomes; "$shoal" list --words keys); do
    run 0 explain "$word"
done
run 0 explain query
holds "query, a command: "
refused 2 "did you mean 'query'" explain qurey
run 0 --help
[ "$(printf '%s\n' "$out" | sed -n '/^Commands:/,/^$/p' | grep -c '^[^ ]')" -eq 1 ] || wrong "lines are broken: $out"
end

begin cli_man
"$tools/man" "$shoal" >shoal.1 || wrong "tools/man failed"
sections=$(sed -n 's/^\.SH SHOAL //p' shoal.1 | tr '[:upper:]' '[:lower:]')
[ "$sections" = "$("$shoal" list --words commands)" ] || wrong "sections: $sections"
end

begin cli_completion
mkdir program && ln -s "$shoal" program/shoal
# complete WORD...: what bash offers for the last word, sorted, in one line
complete_words() {
    PATH=$scratch/program:$PATH bash -c '. "$0"; compopt() { :; }; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1))
        _shoal shoal; printf "%s\n" "${COMPREPLY[@]}" | sort | tr "\n" " "' "$tools/completion.bash" "$@"
}
offers() { # EXPECTED WORD...
    local expected=$1 found
    shift
    found=$(complete_words "$@")
    [ "$found" = "$expected " ] || wrong "$*: \"$found\", expected \"$expected\""
}
offers "$("$shoal" list --words commands | sort | tr '\n' ' ' | sed 's/ $//')" shoal ""
offers "query" shoal q
offers "pairs" shoal plot study.h5 --kind pai
offers "survival" shoal plot study.h5 --kind = surv
offers "c.a c.e" shoal plot study.h5 --column c.
offers "c.a,c.e" shoal plot study.h5 --kind pairs --column c.a,c.e
offers "megno" shoal plot --column meg
offers "run.t_end= run.t_start=" shoal run study.cfg run.t_
offers "survived" shoal query study.h5 --events = surv
offers "survived" shoal explain survi
offers "study.cfg" shoal run study.cf
sed 's/"c "/"$(touch pwned)"/g' names.cfg >odd.cfg
run 0 run odd.cfg --quiet
offers '\$\(touch\ pwned\).e' shoal plot odd.h5 --column '$'
[ ! -e pwned ] || wrong "a name was run"
end

# A monitor whose columns depend on its parameters.
begin cli_frequencies_of_all_bodies
for which in 'body = "b"' 'body = "c"' 'bodies = "all"'; do
    run 0 run study.cfg "monitors=({ name = \"frequency\"; $which; })" run.t_end=200.0 output.file=all.h5 -q --force
    run 0 query all.h5 --systems-table
    case $which in
    *'"b"') printf '%s\n' "$out" | cut -d, -f11 | sed 's/frequency/&_b/' >b.txt ;;
    *'"c"') printf '%s\n' "$out" | cut -d, -f11 | sed 's/frequency/&_c/' >c.txt ;;
    esac
done
printf '%s\n' "$out" | cut -d, -f11,12 | cmp -s - <(paste -d, b.txt c.txt) || wrong "not those of each alone: $out"
head -n 1 <<<"$out" | grep -q ',c.e,frequency_b,frequency_c,frequency_second_b,frequency_second_c,' || wrong "$out"
end

begin cli_extend
sed 's/count = 4/count = 2/; s/study.h5/extend.h5/' study.cfg >extend.cfg
run 0 run extend.cfg --quiet
cp extend.h5 short.h5
run 0 run extend.cfg run.t_end=50 --quiet --force
mv extend.h5 first.h5
cp short.h5 extend.h5
run 0 run --extend 50 extend.h5
holds "going on from"
cmp -s extend.h5 first.h5 || wrong "not the bytes of a run to 50"
refused 2 "expected a number beyond 50" run --extend 50 extend.h5
refused 2 "expected --output, too" run --extend 60 extend.h5 --where 'outcome == survived'
refused 2 "no system of extend.h5" run --extend 60 extend.h5 --where 'outcome == chaotic' --output some.h5
refused 2 "expected --extend" run extend.cfg --output other.h5
refused 2 "output.extend" run --extend 60 "$data/format_2.h5"
refused 2 "sweep[0].count" run --extend 60 extend.h5 'sweep[0].count=3' --output other.h5
refused 2 "extend.h5: exists" run --extend 60 short.h5 --output extend.h5
run 0 run --extend 60 extend.h5 --where 'outcome == survived' --output some.h5 run.threads=1 --quiet
run 0 query --systems-table some.h5
few=$(printf '%s\n' "$out" | grep -c '^[0-9]')
run 0 query --systems-table first.h5 --where 'outcome == survived'
[ "$few" -gt 0 ] && [ "$few" -eq "$(printf '%s\n' "$out" | grep -c '^[0-9]')" ] || wrong "--where: $few of $out"
cmp -s extend.h5 first.h5 || wrong "--output changed the file that was extended"
# a study of a table is extended without it, but not if its states were not kept
run 0 generate extend.cfg -o table.csv
mkdir elsewhere
printf '%s\n' 'system = { file = "table.csv"; };' 'integrator = { name = "mvs"; dt = 0.02; };' \
    'run = { t_end = 1.01; engine = "cpu"; };' 'output = { file = "elsewhere/table.h5"; };' >table.cfg
run 0 run table.cfg --quiet
run 0 run --extend 2 elsewhere/table.h5 --quiet
run 0 run --extend 3 elsewhere/table.h5 --quiet
mv elsewhere/table.h5 extended.h5
run 0 run table.cfg run.t_end=3 --quiet
cmp -s extended.h5 elsewhere/table.h5 || wrong "of a table: not the bytes of a run to 3"
run 0 run table.cfg output.extend=false --quiet --force
refused 2 "a file that its config names has changed, or is not in this folder (--folder)" \
    run --extend 2 elsewhere/table.h5
refused 2 "output.extend = false" run --extend 2 elsewhere/table.h5 --folder .
# the shards of a study, merged and extended, are the study
for i in 1 2; do run 0 run extend.cfg run.shard=$i/2 output.file=piece.h5 --quiet; done
run 0 merge joined.h5 piece.1-of-2.h5 piece.2-of-2.h5
run 0 run --extend 50 joined.h5 --quiet
for what in --systems-table --final --events '--time ..'; do
    run 0 query $what joined.h5
    one=$out
    run 0 query $what first.h5
    [ "$one" = "$out" ] || wrong "shards, merged and extended: query $what differs"
done
end

begin cli_convert_keeps_parameters_and_radii
sed 's/"c"; m = 1e-3;/"c"; m = 1e-3; r = 0.02;/; s/"b"; m = 1e-3;/"b"; m = 1e-3; r = 0.01;/
    s/^monitors.*/monitors = ( { name = "stop_on_collision"; action = "merge"; factor = 3.0; } );/
    s/from = 1.1/from = 1.02/; s/to = 1.9/to = 1.3/; s/study.h5/radii.h5/' study.cfg >radii.cfg
run 0 run radii.cfg --quiet
run 0 convert radii.h5 all.csv --initial --quiet
grep -q '^system,body,name,m,x,y,z,vx,vy,vz,r,c.a,c.e$' all.csv || wrong "columns: $(head -n 4 all.csv)"
[ "$(grep ^3,2 all.csv | cut -d, -f11-)" = "0.02,1.1133333333333333,0" ] || wrong "radius, c.a, c.e: $(cat all.csv)"
run 0 convert radii.h5 merged.csv --where 'n_final == 2' --quiet
grep -q '^[0-9]*,1,' merged.csv || wrong "nothing has merged: $(cat merged.csv)"
awk -F , '$2 == 1 && ($11 < 0.0208 || $11 > 0.0209) { exit 1 }' merged.csv || wrong "radii: $(cat merged.csv)"
run 0 convert radii.h5 few.h5 --where 'n_final == 3' --quiet
run 0 convert few.h5 few.csv --quiet
run 0 convert radii.h5 same.csv --where 'n_final == 3' --quiet
cmp -s few.csv same.csv || wrong "by a result file: $(diff few.csv same.csv | head -n 4)"
printf '%s\n' 'system = { file = "same.csv"; };' 'integrator = { name = "mvs"; dt = 0.02; };' \
    'run = { t_start = 0.0; t_end = 1.0; engine = "cpu"; };' 'output = { file = "columns.h5"; };' >columns.cfg
run 0 run columns.cfg --quiet
run 0 query columns.h5 --systems-table
printf '%s\n' "$out" | cut -d, -f1,9- | grep '^[0-9]' >again.txt
grep '^[0-9]*,0,' same.csv | cut -d, -f1,12- | cmp -s - again.txt || wrong "columns of a study of the table: $out"
{ head -n 5 same.csv; sed -n 6p same.csv | sed 's/,[^,]*$/,7/'; } >bad.csv
refused 2 "c.e = 7: expected the number of the system's other bodies" run columns.cfg system.file=bad.csv
printf 'a.b,c.d\n1,2\n' >bad.csv
refused 2 "column 1 = a.b: expected system" run columns.cfg system.file=bad.csv
end

# A copy knows the forces, on which the elements of dust depend; what is a copy is no run.
begin cli_convert_keeps_forces
printf '%s\n' 'units = { length = "AU"; mass = "Msun"; time = "yr"; };' \
    'system = { bodies = ( { name = "star"; m = 1.0; }, { name = "b"; m = 1e-3; a = 1.0; },
        { name = "grain"; m = 0.0; a = 3.0; } ); };' \
    'forces = ( { name = "gr"; }, { name = "radiation"; beta = 0.3; body = "grain"; } );' \
    'integrator = { name = "gauss_radau"; dt = 0.01; };' 'run = { t_end = 1.0; engine = "cpu"; };' \
    'output = { file = "dust.h5"; };' >dust.cfg
run 0 run dust.cfg --quiet
run 0 query dust.h5 --elements
elements=$out
run 0 convert dust.h5 dust_copy.h5
[ -z "$err" ] || wrong "notes: $err"
run 0 convert dust_copy.h5 dust_again.h5
for file in dust_copy.h5 dust_again.h5; do
    run 0 query "$file" --elements
    [ "$out" = "$elements" ] || wrong "$file: $out"
done
run 0 convert dust_copy.h5 dust.csv
[ "$err" = "shoal: note: the run of dust_copy.h5 had the forces gr, radiation: a study of dust.csv must name them" ] ||
    wrong "notes: $err"
# a body that is gone keeps its place, which the force's name means
printf '%s\n' 'system = { bodies = ( { name = "star"; m = 1.0; }, { name = "b"; m = 1e-3; r = 0.05; a = 1.0; },
        { name = "c"; m = 1e-3; r = 0.05; a = 1.05; l = 0.2; }, { name = "grain"; m = 0.0; a = 3.0; e = 0.1; },
        { name = "d"; m = 1e-4; a = 6.0; e = 0.1; } ); };' \
    'forces = ( { name = "radiation"; beta = 0.3; body = "grain"; } );' 'integrator = { name = "gauss_radau"; };' \
    'monitors = ( { name = "stop_on_collision"; action = "merge"; } );' 'run = { t_end = 10.0; engine = "cpu"; };' \
    >gone.cfg
run 0 run gone.cfg --quiet
run 0 query gone.h5 --systems-table --where 'n_final == 4'
[ "$(printf '%s\n' "$out" | wc -l)" -eq 2 ] || wrong "no merger: $out"
run 0 query gone.h5 --elements
elements=$out
run 0 convert gone.h5 gone_copy.h5
[ -z "$err" ] || wrong "notes: $err"
run 0 query gone_copy.h5 --elements
[ "$out" = "$elements" ] || wrong "after a merger: $out, not $elements"
run 0 query gone.h5
states=$out
run 0 query gone_copy.h5
[ "$out" = "$states" ] || wrong "after a merger: $out, not $states"
run 0 query gone_copy.h5 --systems-table --where 'n_final == 4'
[ "$(printf '%s\n' "$out" | wc -l)" -eq 2 ] || wrong "bodies of the copy: $out"
for file in gone.h5 gone_copy.h5; do
    run 0 convert $file gone.csv -F
    case $err in *"1 systems have lost bodies"*) ;; *) wrong "notes: $err" ;; esac
    [ "$(grep -c '^0,' gone.csv)" -eq 4 ] || wrong "$file: $(cat gone.csv)"
done
refused 2 "no run made it" run --extend 2 dust_copy.h5
refused 2 "no run made it" rerun dust_copy.h5 --system 0
end

begin cli_convert_keeps_units
printf '%s\n' 'angles = "degrees"; system = { bodies = (
    { name = "sun"; m = 1.0; }, { name = "b"; m = 1e-3; a = 1.0; }, { name = "c"; m = 1e-3; a = 2.0; } ); };
sample = { count = 2; parameters = (
    { body = "c"; parameter = "a"; distribution = "uniform"; from = 2.0; to = 2.5; },
    { body = "c"; parameter = "e"; distribution = "uniform"; from = 0.0; to = 0.1; },
    { body = "c"; parameter = "M"; distribution = "uniform"; from = 0.0; to = 360.0; } ); };
integrator = { dt = 0.01; }; run = { t_end = 1.0; engine = "cpu"; };' >drawn.cfg
run 0 run drawn.cfg --quiet
run 0 convert drawn.h5 drawn.csv
grep -q '^# column units: AU, , deg$' drawn.csv || wrong "$(head -n 5 drawn.csv)"
run 0 convert drawn.csv drawn_again.csv
cmp -s drawn.csv drawn_again.csv || wrong "read and written again: $(head -n 5 drawn_again.csv)"
printf 'units = { length = "km"; }; system = { file = "drawn.csv"; }; integrator = { dt = 0.01; };
run = { t_start = 1.0; t_end = 2.0; engine = "cpu"; };' >km.cfg
run 0 run km.cfg --quiet
run 0 convert km.h5 km.csv
grep -q '^# column units: km, , deg$' km.csv || wrong "$(head -n 5 km.csv)"
run 0 convert km.csv au.csv --units AU,Msun,yr
paste -d , drawn.csv au.csv | awk -F , '/^[0-9]/ { n++; for (i = 11; i <= 13; i++)
    if (!($i > 0) || $i - $(i + 13) > 1e-14 * $i || $(i + 13) - $i > 1e-14 * $i) exit 1 } END { exit n != 6 }' ||
    wrong "$(cat drawn.csv au.csv)"
# a unit of time that follows from G
printf '%s\n' 'units = { length = "AU"; mass = "Mearth"; G = 1.0; }; system = { bodies = (
    { name = "s"; m = 332946.0; }, { name = "b"; m = 1.0; a = 1.0; e = 0.1; } ); };
sweep = ( { body = "b"; parameter = "T0"; values = [ 1.0, 2.0 ]; } );
integrator = { dt = 0.0001; }; run = { t_end = 0.01; engine = "cpu"; };' >of_g.cfg
run 0 run of_g.cfg --quiet
run 0 convert of_g.h5 of_g.csv --initial
run 0 convert of_g.csv of_g_again.csv --units AU,Msun,yr
run 0 convert of_g.h5 of_g_direct.csv --units AU,Msun,yr --initial
grep -q '^# column units: yr$' of_g_again.csv || wrong "$(head -n 5 of_g_again.csv)"
paste -d , of_g_again.csv of_g_direct.csv | awk -F , '
    /^[0-9]/ { n += $11 > 90 && ($11 - $22) ^ 2 <= 1e-20 } END { exit n != 4 }' ||
    wrong "$(cat of_g_again.csv of_g_direct.csv)"
sed 's/^# column units.*/# column units: AU/' drawn.csv >lacks.csv
refused 2 "lacks.csv:4: expected 3 column units, one for each column with a dot in its name, found 1" \
    convert lacks.csv x.csv
end

# A table's time and epoch are those of its study; a logarithm of a mass is of the unit of mass.
begin cli_tables_keep_their_meaning
printf '%s\n' '# units: AU, Msun, yr' '# epoch: J2000.0' '# time: 3' 'system,body,name,m,x,y,z,vx,vy,vz,b.log10_m' \
    '0,0,star,1,0,0,0,0,0,0,-3' '0,1,b,1e-3,1,0,0,0,6.28,0,-3' >dated.csv
printf 'units = { time = "yr"; }; system = { file = "dated.csv"; }; integrator = { dt = 0.01; };
run = { t_start = 3.0; t_end = 4.0; engine = "cpu"; };' >dated.cfg
run 0 run dated.cfg --quiet
run 0 convert dated.h5 dated_again.csv --units km,Mearth,d
grep -q '^# epoch: J2000.0$' dated_again.csv || wrong "$(head -n 5 dated_again.csv)"
awk -F , '/^[0-9]/ && ($11 < 2.5223 || $11 > 2.5224) { exit 1 }' dated_again.csv || wrong "$(cat dated_again.csv)"
refused 2 "run.t_start=1.0: expected 3, the time of the states" run dated.cfg run.t_start=1.0 --quiet
refused 2 'expected "J2000.0", as system.file has it' run dated.cfg 'epoch="BJD 2455000"' --force --quiet
run 0 run dated.cfg 'epoch="BJD 2455000"' run.t_start=0.0 --force --quiet
# dates that are one, and texts that are not, of which one may be no date
while IFS='|' read -r table config code; do
    sed "s/^# epoch.*/# epoch: $table/" dated.csv >epochs.csv
    run "$code" run dated.cfg system.file=epochs.csv "epoch=\"$config\"" --force --quiet
    [ "$code" -eq 0 ] || case $err in *"expected \"$table\", as system.file has it") ;; *) wrong "$err" ;; esac
done <<'EOF'
JD 2451545 TDB|J2000.0|0
JD 2460000.5 TDB|J2000.0|2
JD 2460000.5 UT|MJD_UTC 60000|0
day 5|J2000.0|2
day 5|day 5|0
J2000.0|first light|2
EOF
run 0 convert dated.csv no_steps.h5
run 0 query no_steps.h5 --systems-table --where 'dE_final != 0'
[ "$(printf '%s\n' "$out" | wc -l)" -eq 1 ] || wrong "of an empty cell: $out"
end

begin cli_unsupported_engine
if "$shoal" info | grep -qi '^ *cuda.*\(no\|not\|missing\|cannot\)'; then
    refused 3 "" run study.cfg run.engine=cuda output.file=gpu.h5 --quiet
    [ ! -e gpu.h5 ] && [ ! -e gpu.h5.journal ] || wrong "left behind: $(ls gpu.h5*)"
    end
else
    skip "there is a GPU here"
fi

begin cli_interrupt_and_resume
long="output.file=broken.h5 run.t_end=2000000 run.checkpoint_s=0.1 run.slice_steps=2000 output.interval=1000"
# wait_for N COMMAND...: until the command succeeds, N/20 seconds at most
wait_for() { local n=$1; shift; while [ "$n" -gt 0 ] && ! "$@"; do sleep 0.05; n=$((n - 1)); done; }
"$shoal" run study.cfg $long --quiet 2>err &
pid=$!
wait_for 200 test -e broken.h5.journal
sleep 0.3
kill -INT $pid
wait $pid
code=$?
[ $code -eq 130 ] || wrong "SIGINT: exit code $code: $(cat err)"
grep -q '^shoal: interrupted' err || wrong "SIGINT: $(cat err)"
[ -e broken.h5 ] && [ -e broken.h5.journal ] || wrong "SIGINT: nothing is left"
run 0 query broken.h5 --systems-table
holds running
printf '%s\n' "$out" | awk -F , '$2 == "running" && !($7 > 0) { exit 1 }' || wrong "SIGINT: no steps: $out"
run 0 query broken.h5 --final
printf '%s\n' "$out" | awk -F , 'NR > 1 && ($4 == "" || $5 == "" || $11 == "") { exit 1 }' ||
    wrong "SIGINT: a system without a state: $out"
"$shoal" run study.cfg $long >out 2>err &
pid=$!
wait_for 200 grep -qs 'going on from' out
grep -q 'going on from' out || wrong "it does not go on: $(cat out)"
kill -TERM $pid
wait $pid
code=$?
[ $code -eq 130 ] || wrong "SIGTERM: exit code $code: $(cat err)"
end

[ "$failures" -eq 0 ]
