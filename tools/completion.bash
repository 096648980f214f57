# SPDX-License-Identifier: GPL-3.0-or-later
#
# Completion of `shoal` in bash: commands, options and names are asked of the program itself.

_shoal()
{
    local word=${COMP_WORDS[COMP_CWORD]} command=${COMP_WORDS[1]} words
    if [ "$COMP_CWORD" -eq 1 ]; then
        words=$("$1" --help | awk '/^Commands:/ { on = 1; next } /^$/ { on = 0 } on { print $1 }')
    elif [[ $word == -* ]]; then
        words=$("$1" "$command" --help 2>/dev/null | grep -oE -- '--[a-z][a-z-]*=?' | sort -u)
    elif [ "$command" = explain ]; then
        words=$("$1" list | awk '/^  / { print $1 }'; "$1" explain --all |
            awk '/^## / { on = /keys/ } /^### / { section = $2 == "`" || $2 == "top" ? "" : $2 "."
                             gsub("`", "", section) }
                 on && /^\| `/ { gsub("`", "", $2); print section $2 }')
    else
        mapfile -t COMPREPLY < <(compgen -f -- "$word")
        return
    fi
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
}
complete -o filenames -o nosort -F _shoal shoal
