# SPDX-License-Identifier: GPL-3.0-or-later
#
# Completion of `shoal` in bash: commands, options and names are asked of the program itself.

# Offer the lines of standard input that begin as the word does. They may come from a file, so nothing in them is
# expanded. $1: what stands before each, as it is; $2: the word after that.
_shoal_offer()
{
    local line
    while IFS= read -r line; do
        if [[ -n $line && $line == "$2"* ]]; then COMPREPLY+=("$1$(printf '%q' "$line")"); fi
    done
}

# The columns of the result files that the command line names, else those that monitors have.
_shoal_columns()
{
    local shoal=$1 file found=
    for file in "${COMP_WORDS[@]:2}"; do
        if [[ $file == *.h5 && -f $file ]]; then
            found=1
            "$shoal" query --systems-table "$file" 2>/dev/null | head -n 1 | tr , '\n' |
                grep -vxE 'system|outcome|body_[ab]|n_final'
        fi
    done
    [ -n "$found" ] || "$shoal" list --words columns
}

_shoal()
{
    local shoal=$1 word=${COMP_WORDS[COMP_CWORD]} option=${COMP_WORDS[COMP_CWORD - 1]} command=${COMP_WORDS[1]}
    COMPREPLY=()
    # bash takes --kind=map for three words
    if [ "$word" = = ]; then word=
    elif [ "$option" = = ]; then option=${COMP_WORDS[COMP_CWORD - 2]}
    fi
    if [ "$COMP_CWORD" -eq 1 ]; then
        _shoal_offer "" "$word" < <("$shoal" list --words commands)
    elif [[ $word == -* ]]; then
        _shoal_offer "" "$word" < <("$shoal" "$command" --help 2>/dev/null | grep -oE -- '--[a-z][a-z-]*=?' | sort -u)
        [[ ${COMPREPLY[*]} != *= ]] || compopt -o nospace
    elif [ "$command" = plot ] && [[ $option == --kind || $option == -k ]]; then
        _shoal_offer "" "$word" < <("$shoal" list --words pictures | sort -u)
    elif [ "$command" = plot ] && [[ $option == --column || $option == -c ]]; then
        local before= # pairs take several
        [[ $word != *,* ]] || before=${word%,*},
        _shoal_offer "$before" "${word##*,}" < <(_shoal_columns "$shoal")
    elif [ "$command" = query ] && [ "$option" = --events ]; then
        _shoal_offer "" "$word" < <("$shoal" list --words outcomes)
    elif [ "$command" = list ] && [[ $option == --words || $option == -w ]]; then
        _shoal_offer "" "$word" < <(printf '%s\n' commands plugs keys overrides columns outcomes pictures)
    elif [ "$command" = explain ]; then
        _shoal_offer "" "$word" < <(for kind in plugs keys columns outcomes commands; do
            "$shoal" list --words "$kind"; done | sort -u)
    elif [[ $command =~ ^(run|fit|calibrate|generate|tune)$ && $option != = && $option != -* &&
        $COMP_CWORD -gt 2 ]]; then
        _shoal_offer "" "$word" < <("$shoal" list --words overrides | sort -u | sed 's/$/=/')
        [ ${#COMPREPLY[@]} -eq 0 ] || compopt -o nospace
    else
        compopt -o filenames
        mapfile -t COMPREPLY < <(compgen -f -- "$word")
    fi
}
complete -o nosort -F _shoal shoal
