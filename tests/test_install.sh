#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# What a user of the library gets: the installed tree alone (header, libraries, pkg-config file) compiles and runs every
# example, and the libraries show no names but shoal's. Prints the lines of a cmocka program.

build=${SHOAL_BUILD:-build}
make=${MAKE:-make}
cc=${CC:-gcc}
. "$(dirname "$0")/testing.sh"
prefix=$scratch/prefix

if [ ! -f Makefile ]; then
    begin install
    skip "no sources here"
    exit 0
fi
declared=$(sed -n '/^[a-z].*[( *]shoal_[a-z0-9_]*(/s/^[^(]*[ *]\(shoal_[a-z0-9_]*\)(.*/\1/p' core/shoal.h | sort -u)
sanitizer=
if nm "$build/libshoal.a" 2>/dev/null | grep -q __asan_init; then
    sanitizer='-fsanitize=address -fsanitize=undefined'
fi

# A machine that has next to nothing: what tools/deps says is missing, with no apt-get, and with one whose `update`
# fails.
begin missing_packages_are_named
mkdir "$scratch/bare"
packages="gcc libc6-dev make pkg-config libgsl-dev libconfig-dev libhdf5-dev zlib1g-dev libcmocka-dev gnuplot-nox"
bare() { env -i PATH="$scratch/bare" /bin/sh tools/deps "$@" 2>&1; }
if out=$(bare install check) || [[ $out != *"missing packages: $packages"$'\n'*"no apt-get"* ]]; then fail "$out"
else
    for tool in mktemp rm tail env; do ln -s "$(command -v $tool)" "$scratch/bare/"; done
    printf '#!/bin/sh\necho 0\n' >"$scratch/bare/id"
    printf '#!/bin/sh\n[ $1 = install ]\n' >"$scratch/bare/apt-get"
    chmod +x "$scratch/bare/id" "$scratch/bare/apt-get"
    if out=$(bare install check) || [[ $out != *"installing: $packages"*"still not found"* ]]; then fail "$out"
    else pass; fi
fi

# What the demo builds.
begin native_kernels
out=$($make -s print-KERNEL_ARCHS KERNEL_ARCHS=native 2>&1)
case $out in v3 | v4 | neon | any) pass ;; *) fail "KERNEL_ARCHS=native is \"$out\"" ;; esac

# The demo keeps the kernels that there are; where nothing is built it compiles a few.
begin the_demo_takes_no_kernels_away
mkdir -p "$scratch/there/kernel"
touch "$scratch/there/shoal"
echo 'KERNEL_ARCHS="v3 v4" KERNEL_N="2 3 7" KERNEL_SOME="2" KERNEL_FEW="2 3"' >"$scratch/there/kernel/choices"
kept=$($make -s print-DEMO_KERNELS BUILD="$scratch/there" SAN= 2>&1)
fresh=$($make -s print-DEMO_KERNELS BUILD="$scratch/none" SAN= 2>&1)
if [ "$kept" != "$(cat "$scratch/there/kernel/choices")" ]; then fail "not kept: $kept"
elif [[ $fresh != *'KERNEL_N="2 3 4" KERNEL_FEW='* ]]; then fail "not few: $fresh"
elif ! grep -q '^KERNEL_ARCHS=".*" KERNEL_N="' "$build/kernel/choices"; then fail "$build says not what it has"
else pass; fi

# An outer make's BUILD and SAN come through MAKEFLAGS.
if [ -n "${MAKEFLAGS:-}" ]; then place=; else place=BUILD=$build; fi

# What is compiled stays so: `install` and `bundle` after this build compile nothing, whatever the folder is called.
begin nothing_is_compiled_twice
again=$($make -n $place install 2>&1; $make -n $place bundle 2>&1)
compiled=$(grep -E -- ' -c -o ' <<<"$again")
if [ -n "$compiled" ]; then fail "compiled once more:" "$(head -n 3 <<<"$compiled" | cut -c 1-300)"
elif [[ $again != *shoal.pc* || $again != *tools/bundle* ]]; then fail "$(tail -n 5 <<<"$again")"
else pass; fi

begin install_tree
if $make install $place prefix="$prefix" DESTDIR= >"$scratch/log" 2>&1; then
    missing=
    for file in bin/shoal include/shoal.h lib/libshoal.a lib/libshoal.so lib/pkgconfig/shoal.pc share/shoal/configs \
        share/man/man1/shoal.1 share/bash-completion/completions/shoal; do
        [ -e "$prefix/$file" ] || missing="$missing $file"
    done
    headers=$(cd "$prefix/include" && find . -type f)
    if [ -n "$missing" ]; then fail "not installed:$missing"
    elif [ "$headers" != ./shoal.h ]; then fail "installed headers: $headers"
    else pass; fi
else
    fail "make install failed" "$(tail -n 20 "$scratch/log")"
    exit 1
fi

begin installed_program_runs
if out=$("$prefix/bin/shoal" --version 2>&1); then pass; else fail "bin/shoal --version: $out"; fi

export PKG_CONFIG_PATH=$prefix/lib/pkgconfig
export LD_LIBRARY_PATH=$prefix/lib

begin exported_symbols_are_the_header
exported=$(nm -D --defined-only "$prefix/lib/libshoal.so" | awk '$2 != "A" {sub(/@.*/, "", $3); print $3}' | sort -u)
foreign=$(echo "$exported" | grep -v '^shoal_')
extra=$(comm -13 <(echo "$declared") <(echo "$exported"))
absent=$(comm -23 <(echo "$declared") <(echo "$exported"))
if [ -z "$declared" ]; then fail "no functions found in core/shoal.h"
elif [ -n "$foreign" ]; then fail "exported without the prefix:" "$foreign"
elif [ -n "$extra" ]; then fail "exported but not in shoal.h:" "$extra"
elif [ -n "$absent" ]; then fail "in shoal.h but not exported:" "$absent"
else pass; fi

begin static_library_symbols_have_the_prefix
foreign=$(nm -g --defined-only "$prefix/lib/libshoal.a" 2>/dev/null | awk 'NF == 3 {print $3}' | sort -u |
    grep -v -e '^shoal_' -e '^__asan' -e '^__odr_asan' -e '^DW\.ref\.' -e '^__x86\.' -e '^\.gomp_critical_user_')
if [ -n "$foreign" ]; then fail "global without the prefix:" "$foreign"; else pass; fi

begin header_is_clean_c11
printf '#include <shoal.h>\nint main(void) { return !shoal_version(); }\n' >"$scratch/header.c"
strict='-pedantic -Wall -Wextra -Wshadow -Werror'
if out=$($cc -std=c11 $strict -fsyntax-only $(pkg-config --cflags shoal) "$scratch/header.c" 2>&1); then pass
    else fail "$out"; fi

begin header_is_clean_cxx
if command -v g++ >/dev/null 2>&1 && echo | g++ -x c++ -fsyntax-only - 2>/dev/null; then
    if out=$(g++ -x c++ -std=c++17 $strict -fsyntax-only $(pkg-config --cflags shoal) "$scratch/header.c" 2>&1)
        then pass; else fail "$out"; fi
else
    skip "no C++ compiler here"
fi

for example in examples/*.c; do
    [ -f "$example" ] || continue
    program=$(basename "$example" .c)
    cp "$example" "$scratch/"
    begin "example_${program}_shared"
    # Nothing of the sources is in reach: the compiler runs in the scratch folder.
    if ! out=$(cd "$scratch" && $cc -std=c11 -O2 $strict -Wstrict-prototypes $sanitizer -o "$program" \
        "$program.c" $(pkg-config --cflags --libs shoal) -lm 2>&1); then
        fail "$out"
    elif ! out=$(cd "$scratch" && timeout 120 "./$program" 2>&1); then
        fail "it failed:" "$out"
    elif [ -z "$out" ]; then
        fail "it printed nothing"
    else
        pass
    fi
done

begin example_likelihood_python
if [ -n "$sanitizer" ]; then skip "python loads no library of a sanitizer build"
elif ! python3 --version >/dev/null 2>&1; then skip "python3 is not on this machine"
elif out=$(timeout 120 python3 examples/likelihood.py 2>&1) && [[ $out == *"the best mass is 5" ]]; then pass
else fail "$out"; fi

# The program and the config that the README shows are what they are said to be.
block() { awk -v word="$1" -v n="$2" '/^```/ { open = !open; take = open && $0 == "```" word && ++k == n; next } take' \
    README.md; }
begin readme_program
block c 1 >"$scratch/readme.c"
if ! out=$(cd "$scratch" && $cc -std=c11 -O2 $strict $sanitizer -o readme readme.c \
    $(pkg-config --cflags --libs shoal) 2>&1); then fail "$out"
elif ! out=$("$scratch/readme" 2>&1) || [[ $out != *" of 1000 survived" ]]; then fail "$out"
else pass; fi

begin readme_config
bare_text() { sed 's/#.*//' | tr -d ' \n'; }
if [ "$(block '' 1 | bare_text)" = "$(bare_text <configs/sun_jupiter_saturn.cfg)" ]; then pass
else fail "README.md shows another configs/sun_jupiter_saturn.cfg"; fi

begin static_link
libs=$(pkg-config --static --libs shoal | sed 's/-lshoal//')
if out=$($cc -std=c11 $sanitizer -o "$scratch/static" "$scratch/header.c" $(pkg-config --cflags shoal) \
    "$prefix/lib/libshoal.a" $libs 2>&1) && "$scratch/static"; then pass; else fail "$out"; fi

begin bundle_needs_nothing_of_this_machine
if [ -n "$sanitizer" ]; then
    skip "a bundle is not made of a sanitizer build"
elif ! $make bundle $place >"$scratch/log" 2>&1; then # it checks its libraries itself
    fail "make bundle failed" "$(tail -n 20 "$scratch/log")"
else
    mkdir "$scratch/unpacked"
    tar -C "$scratch/unpacked" -xzf "$build"/shoal-*.tar.gz
    unpacked=$(echo "$scratch"/unpacked/*)
    if ! out=$(cd / && env -i PATH=/nowhere "$unpacked/bin/shoal" run "$unpacked/configs/sun_jupiter_saturn.cfg" \
        run.t_end=1 output.file="$scratch/bundle.h5" --no-plot 2>&1); then fail "$out"
    elif [ ! -s "$scratch/bundle.h5" ]; then fail "no result"
    else pass; fi
fi

begin uninstall
if $make uninstall $place prefix="$prefix" DESTDIR= >"$scratch/log" 2>&1 && [ -z "$(find "$prefix" -type f)" ]
then pass
else fail "left behind:" "$(find "$prefix" -type f)" "$(tail -n 5 "$scratch/log")"; fi

[ "$failures" -eq 0 ]
