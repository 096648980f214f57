#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# missing.sh: what tests in the emulator lack on this machine, in $missing; empty: nothing. Scripts source it, with
# $build, $shoal and $root.
# shellcheck disable=SC2034,SC2154

missing=
[ -x "$build/tests/test_work_models" ] && [ -x "$root/tests/emulator/run" ] || missing="no sources here"
command -v python3 >/dev/null || missing="python3 is not on this machine"
[ -n "$missing" ] || "$root/tests/emulator/run" "$build" "$shoal" info | grep -q 'compiler: NVRTC' ||
    missing="NVRTC is not on this machine"
