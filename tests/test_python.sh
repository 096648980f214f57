#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# test_python.sh: the Python package as users get it: a wheel, installed where nothing else is, passes python/tests.
# PYTHON names an interpreter with pip, NumPy, pytest and what packs a wheel (tools/wheel); without them there is
# nothing to test.

build=${SHOAL_BUILD:-build}
root=${SHOAL_ROOT:-$(cd "$(dirname "$0")/.." && pwd)}
make=${MAKE:-make}
python=${PYTHON:-python3}
. "$(dirname "$0")/testing.sh"

begin python_wheel
if [ ! -f "$root/pyproject.toml" ]; then
    skip "no sources here"
    exit 0
fi
if nm -D "$build/libshoal.so" 2>/dev/null | grep -q __asan_init; then
    skip "the library has a sanitizer, which Python has not"
    exit 0
fi
if ! said=$("$python" -c 'import numpy, pip, pytest, auditwheel, scikit_build_core' 2>&1); then
    skip "$python: $(tail -n 1 <<<"$said")"
    exit 0
fi
cd "$root" || exit 1
if [ -n "${MAKEFLAGS:-}" ]; then place=; else place=BUILD=$build; fi
if ! $make wheel $place PYTHON="$python" >"$scratch/log" 2>&1; then
    fail "$(tail -n 20 "$scratch/log")"
    exit 1
fi
wheel=$(grep -o '[^ ]*\.whl$' "$scratch/log" | tail -n 1)
size=$(stat -c %s "$wheel")
if [ "$size" -gt 25000000 ]; then fail "$wheel has $size bytes"
elif ! "$python" -m pip install -q --no-index --no-deps --target "$scratch/site" "$wheel" >"$scratch/log" 2>&1; then
    fail "$(cat "$scratch/log")"
else pass; fi

# The lines of pytest -v as those of a cmocka program: one test, one verdict.
export PYTHONPATH=$scratch/site COLUMNS=160 MPLBACKEND=agg
unset SHOAL_PROGRAM SHOAL_LIBRARY
"$python" -m pytest -v -p no:cacheprovider "$root/python/tests" >"$scratch/log" 2>&1
code=$?
awk '
    match($0, / (PASSED|SKIPPED|FAILED|ERROR)/) && /::/ && !/^(FAILED|ERROR)/ {
        name = $1
        sub(/.*\//, "", name)
        sub(/\.py::/, ".", name)
        print "[ RUN      ] " name
        why = $0
        if (/ PASSED/) print "[       OK ] " name
        else if (/ SKIPPED/) {
            if (sub(/^[^(]*\(/, "", why) && sub(/\).*/, "", why)) print why
            print "[  SKIPPED ] " name
        } else print "[  FAILED  ] " name
    }' "$scratch/log"
if [ "$code" -ne 0 ]; then
    sed -n '/^=* *\(FAILURES\|ERRORS\)/,$p' "$scratch/log"
    failures=$((failures + 1))
fi

# Tools that are not there have nothing to say.
tool() {
    begin "python_$1_$2"
    if ! "$python" -m "$1" --version >/dev/null 2>&1; then skip "no $1"
    elif out=$("$python" -m "$@" 2>&1); then pass
    else fail "$out"; fi
}
export MYPY_CACHE_DIR=$scratch/mypy RUFF_NO_CACHE=true
tool mypy --strict
tool ruff check
tool ruff format --check
exit $((failures > 0))
