#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Other compilers and machines, as far as they are here: clang takes every source and a kernel without a warning;
# gcc for aarch64 makes a kernel of fused operations on two doubles. Prints the lines of a cmocka program.

build=${SHOAL_BUILD:-build}
make=${MAKE:-make}
root=${SHOAL_ROOT:-.}
. "$(dirname "$0")/testing.sh"
unset MAKEFLAGS MFLAGS MAKELEVEL
cd "$root" || exit 1

missing_sources=
[ -f Makefile ] && [ -d "$build/texts" ] || missing_sources="no sources here"
usable() { echo 'int main(void) { return 0; }' | "$@" -x c -o /dev/null - 2>/dev/null; }
small="SAN= KERNEL_N=3 KERNEL_SOME=3 KERNEL_FEW= KERNEL_TEST_LANES="

begin clang_warns_of_nothing
if [ -n "$missing_sources" ]; then skip "$missing_sources"
elif ! usable clang -fopenmp; then skip "clang with OpenMP (libomp-dev) is not on this machine"
else
    flags=$($make -s CC=clang BUILD="$build" print-HOST_FLAGS WERROR=1)
    sources=$($make -s CC=clang BUILD="$build" print-SOURCES print-COMMANDS print-TEST_SUPPORT)
    # shellcheck disable=SC2086
    if out=$(printf '%s\n' $sources | xargs -P 2 -n 8 clang $flags -Itests -DSHOAL_KERNEL_FLAGS='""' \
        -DSHOAL_FLAGS_V3='""' -DSHOAL_FLAGS_V4='""' -fsyntax-only 2>&1) && [ -z "$out" ]; then pass
    else fail "$(head -n 20 <<<"$out")"; fi
fi

# object CC ARCHS KERNEL: one kernel, as the build compiles it; a warning fails.
object() {
    $make -s CC="$1" BUILD="$scratch/$1" KERNEL_ARCHS="$2" WERROR=1 $small \
        "$scratch/$1/kernel/$3.o" 2>&1
}

begin clang_compiles_a_kernel
if [ -n "$missing_sources" ]; then skip "$missing_sources"
elif ! usable clang -fopenmp; then skip "clang with OpenMP (libomp-dev) is not on this machine"
elif [ "$(clang -dumpmachine | cut -d - -f 1)" != x86_64 ]; then skip "not an x86-64"
elif out=$(object clang v3 v3_l4_n3_hermite4); then pass
else fail "$out"; fi

begin aarch64_kernels_have_two_lanes
if [ -n "$missing_sources" ]; then skip "$missing_sources"
elif ! usable aarch64-linux-gnu-gcc; then skip "aarch64-linux-gnu-gcc is not on this machine"
elif ! out=$(object aarch64-linux-gnu-gcc neon neon_l2_n3_hermite4); then fail "$out"
elif ! aarch64-linux-gnu-objdump -d "$scratch/aarch64-linux-gnu-gcc/kernel/neon_l2_n3_hermite4.o" |
    grep -q 'fmla.*2d'; then
    fail "no fused operations on two doubles"
else pass; fi

[ "$failures" -eq 0 ]
