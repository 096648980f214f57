#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# test_docs.sh: the documentation tells the truth: the blocks marked `sh` of every page run, page by page, in an empty
# folder with the configs; the reference and the C functions are what the program and the header say; links lead
# somewhere. A study of minutes runs for a twentieth of its time.

root=${SHOAL_ROOT:-$(cd "$(dirname "$0")/.." && pwd)}
shoal=$(realpath "${SHOAL_PROGRAM:-${SHOAL_BUILD:-$root/build}/shoal}")
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
mkdir "$scratch/bin" && ln -s "$shoal" "$scratch/bin/shoal"
PATH=$scratch/bin:$PATH
failures=0

# A bundle has no pages.
if [ ! -d "$root/docs" ]; then
    printf '[ RUN      ] docs\nno sources here\n[  SKIPPED ] docs\n'
    exit 0
fi

# verdict NAME COMMAND...: the test NAME passes if the command does; what it said is printed if not
verdict() {
    local name=$1
    shift
    printf '[ RUN      ] %s\n' "$name"
    if "$@" >"$scratch/log" 2>&1; then
        printf '[       OK ] %s\n' "$name"
    else
        tail -n 20 "$scratch/log"
        printf '[  FAILED  ] %s\n' "$name"
        failures=$((failures + 1))
    fi
}

blocks() { awk '/^```sh$/ { inside = 1; next } /^```$/ { inside = 0 } inside' "$1"; }

run_page() {
    rm -rf "$scratch/page" && mkdir "$scratch/page" && cd "$scratch/page" && ln -s "$root/configs" configs || return 1
    blocks "$1" | sed 's|run configs/swarm_ng_5_2_2.cfg|& run.t_end=1e5|' >../page.sh
    bash -ex ../page.sh
}

links() {
    local page=$1 target wrong=0
    for target in $(grep -o '](\([^)#:]*\))' "$page" | sed 's/^](//; s/)$//'); do
        [ -e "$(dirname "$page")/$target" ] || { echo "$page: no $target"; wrong=1; }
    done
    return $wrong
}

for page in "$root"/README.md "$root"/docs/*.md; do
    name=$(basename "$page" .md)
    if [ "$name" = pictures ] && ! command -v gnuplot >/dev/null 2>&1; then
        printf '[ RUN      ] docs_run_%s\nno gnuplot\n[  SKIPPED ] docs_run_%s\n' "$name" "$name"
        continue
    fi
    [ -z "$(blocks "$page")" ] || verdict "docs_run_$name" run_page "$page"
    verdict "docs_links_$name" links "$page"
done

reference() { "$shoal" explain --all | diff "$root/docs/reference.md" -; }
functions() { "$root/tools/api" "$root/core/shoal.h" | diff "$root/docs/api.md" -; }
verdict docs_reference reference
verdict docs_functions functions
exit $((failures > 0))
