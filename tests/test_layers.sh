#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# test_layers.sh: the house stands: a file includes from its own folder and from floors below it (core/README.md has the
# list of floors), in no circle, and by the path from the root. list.h of a folder is a list of names, for everybody.

root=${SHOAL_ROOT:-$(cd "$(dirname "$0")/.." && pwd)}
printf '[ RUN      ] layers\n'
if [ ! -f "$root/core/README.md" ]; then
    printf 'no sources here\n[  SKIPPED ] layers\n'
    exit 0
fi
cd "$root" || exit 1

# check FLOORS: reads "file:#include "path"" lines; prints what is wrong.
check() {
    awk -v floors="$1" '
    function folder(path) { sub(/\/[^\/]*$/, "", path); return path }
    function base(path) { sub(/.*\//, "", path); return path }
    function visit(file, trail,    i, n, next_files) {
        if (state[file] == 2) return
        if (state[file] == 1) { print "a circle: " trail file; wrong = 1; return }
        state[file] = 1
        n = split(arrows[file], next_files, " ")
        for (i = 1; i <= n; i++) visit(next_files[i], trail file " -> ")
        state[file] = 2
    }
    BEGIN {
        n_floors = split(floors, lines, "\n")
        for (i = 1; i <= n_floors; i++) {
            n = split(lines[i], words, " ")
            for (w = 2; w <= n; w++) floor_of[words[w]] = words[1] + 0
        }
    }
    {
        at = index($0, ":")
        from = substr($0, 1, at - 1)
        split(substr($0, at + 1), quoted, "\"")
        to = quoted[2]
        if (to ~ /^(plugins|texts)\// || base(to) == "list.h") next
        if (!(folder(from) in floor_of)) { print from ": its folder has no floor in core/README.md"; wrong = 1; next }
        if (!(folder(to) in floor_of)) {
            print from ": includes \"" to "\": expected a path from the root"; wrong = 1; next
        }
        if (floor_of[folder(to)] > floor_of[folder(from)]) {
            print from " (floor " floor_of[folder(from)] ") includes " to " (floor " floor_of[folder(to)] ")"
            wrong = 1
        }
        arrows[from] = arrows[from] " " to
    }
    END { for (file in arrows) visit(file, ""); exit wrong }'
}

includes() { grep -n '^ *# *include *"' -r core integrators gravitation monitors big --include='*.[ch]' |
    sed 's/:[0-9]*:/:/'; }

# "| 3 | `core/plug/` | ..." of the table in core/README.md becomes "3 core/plug"
floors=$(sed -n 's/^| *\([0-9][0-9]*\) *| *\(`[^|]*`\) *|.*/\1 \2/p' core/README.md | tr -d '`,' |
    sed 's/\/\( \|$\)/\1/g')
wrong=0
[ "$(wc -l <<<"$floors")" -ge 10 ] || { echo "core/README.md: no table of floors"; wrong=1; }
includes | check "$floors" || wrong=1
# The check itself: an arrow that runs up, a circle and a bare name are seen.
for bad in 'core/base/error.c:#include "core/plan/plan.h"' 'core/base/error.c:#include "base.h"' \
    $'core/base/a.h:#include "core/base/b.h"\ncore/base/b.h:#include "core/base/a.h"'; do
    if check "$floors" <<<"$bad" >/dev/null; then
        echo "not seen: $bad"
        wrong=1
    fi
done
if [ $wrong -eq 0 ]; then printf '[       OK ] layers\n'; else printf '[  FAILED  ] layers\n'; fi
exit $wrong
