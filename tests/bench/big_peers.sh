#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Forces of one big system on a GPU beside other direct-sum codes, in turns, each with its best number of threads a
# block.
#
#   SAMPLES=DIR MIKI=DIR tests/bench/big_peers.sh build FOLDER      compile the peers into FOLDER, where there is nvcc
#   tests/bench/big_peers.sh FOLDER [SHOAL [N ...]]                 run them and Shoal, where there is a GPU
#
# SAMPLES: a checkout of NVIDIA/cuda-samples; MIKI: one of ymiki-repo/nbody; either may be missing. Only their kernels
# are compiled, with peer/nbody_peer.cu around them: their windows and files need libraries. N: multiples of 512,
# default 16384 65536 262144 1048576. Prints 10^9 interactions/s and the rms error at the largest N, and each number as
# it comes (stderr); seven minutes on an H200. The exit code is 0 if every answer was right.

fail() { echo "big_peers.sh: $*" >&2; exit 2; }
here=$(cd "$(dirname "$0")" && pwd) || exit 2

# compile NAME OPTIONS...: NAME with 128, 256 and 512 threads a block; the text is in $work.
compile() {
    local name=$1
    shift
    for threads in 128 256 512; do
        nvcc -O3 -w -std=c++17 -Xcompiler -fopenmp -arch="${ARCH:-sm_90}" -DNTHREADS=$threads -I"$work" "$@" \
            -o "$folder/$name-$threads" "$here/peer/nbody_peer.cu" || fail "$name does not compile"
    done
}

if [ "$1" = build ]; then
    [ $# -eq 2 ] && mkdir -p "$2" && folder=$(cd "$2" && pwd) || fail "usage: big_peers.sh build FOLDER"
    command -v nvcc >/dev/null || fail "no nvcc on PATH"
    work=$(mktemp -d) || exit 2
    trap 'rm -rf "$work"' EXIT
    if [ -n "${SAMPLES:-}" ]; then
        text=$SAMPLES/Samples/5_Domain_Specific/nbody
        [ -f "$text/bodysystemcuda.cu" ] || fail "no $text/bodysystemcuda.cu"
        { # from the constants to the kernel, without the host's part
            printf '#include <cooperative_groups.h>\nnamespace cg = cooperative_groups;\n#include <string>\n'
            printf '#include "bodysystem.h"\n'
            sed -n '/^__constant__/,/^void integrateNbodySystem/p' "$text/bodysystemcuda.cu" | head -n -2
        } >"$work/peer_kernel.cuh"
        compile sdk-fp32 -DPEER_SDK=1 -DREAL=float -I"$text"
        compile sdk-fast-fp32 -DPEER_SDK=1 -DREAL=float -I"$text" --use_fast_math
        compile sdk-fp64 -DPEER_SDK=1 -DREAL=double -I"$text"
    fi
    if [ -n "${MIKI:-}" ]; then
        text=$MIKI/cpp/cuda/12_memcpy_shmem/nbody_leapfrog2.cu
        [ -f "$text" ] || fail "no $text"
        {
            printf '#include <type_traits>\n#include "common/type.hpp"\n#define NUNROLL 128\n'
            sed -n '/^#if NUNROLL == 1$/,/^#endif/p; /^__global__ void calc_acc_device/,/^}/p' "$text"
        } >"$work/peer_kernel.cuh"
        common=(-I"$MIKI/cpp" -DFP_H=64 -DSIMD_BITS=512 -ftz=true --expt-relaxed-constexpr)
        compile miki-fp32 "${common[@]}" -DFP_L=32 -DFP_M=32
        compile miki-mixed "${common[@]}" -DFP_L=32 -DFP_M=64
        compile miki-fp64 "${common[@]}" -DFP_L=64 -DFP_M=64
    fi
    exit 0
fi

folder=$1 shoal=${2:-$here/../../build/shoal}
[ -d "$folder" ] || fail "no folder $folder: build it first"
[ -x "$shoal" ] || fail "no program $shoal"
shift $(($# < 2 ? $# : 2))
[ $# -gt 0 ] || set -- 16384 65536 262144 1048576
rows=$(mktemp) || exit 2
trap 'rm -f "$rows"' EXIT
failed=0
set -o pipefail
for n; do
    for program in "$folder"/*-*; do
        name=$(basename "$program")
        "$program" "${name%-*}" "$n" | tee -a "$rows" >&2 || failed=1
    done
    "$shoal" bench -e cuda ladder --csv auto "$n" |
        awk -F, '$4 == "" && $5 == "unequal" { print "shoal-" $3 ",0," $6 "," $7 "," $8 "," $9 }' |
            tee -a "$rows" >&2 || failed=1
done
awk -F, '
    { if ($5 + 0 > best[$1, $3] + 0) best[$1, $3] = $5
      if (!($1 in seen)) { seen[$1]; names[++n_names] = $1 }
      if (!($3 in there)) { there[$3]; counts[++n_counts] = $3 }
      error[$1] = $6 }
    END {
        printf "| 10^9 interactions/s |"
        for (k = 1; k <= n_counts; k++) printf " %d |", counts[k]
        printf " rms error |\n|---|"
        for (k = 0; k <= n_counts; k++) printf "---|"
        print ""
        for (i = 1; i <= n_names; i++) {
            printf "| %s |", names[i]
            for (k = 1; k <= n_counts; k++) printf " %.0f |", best[names[i], counts[k]]
            printf " %s |\n", error[names[i]]
        }
    }' "$rows"
exit $failed
