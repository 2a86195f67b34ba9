# bash completion of watchscope (bash 4.2 and later). Each Tab asks `watchscope __complete`.

_watchscope() {
    COMPREPLY=()
    # bash splits words at = and :, which occur in flags and in names of contexts. Here they are joined again.
    local rest=${COMP_LINE:0:COMP_POINT} piece i
    local -a words=()
    for ((i = 0; i <= COMP_CWORD; i++)); do
        piece=${COMP_WORDS[i]}
        if ((i == COMP_CWORD)); then
            piece=${rest#"${rest%%[![:space:]]*}"}
        fi
        if ((i > 0)) && [[ $rest != [[:space:]]* && -n $rest ]]; then
            words[${#words[@]} - 1]+=$piece
        else
            words+=("$piece")
        fi
        rest=${rest#"${rest%%[![:space:]]*}"}
        rest=${rest#"$piece"}
    done
    # No script of ours evaluates the line. Of what the shell would expand, only a leading ~/ is.
    words=("${words[@]/#\~\//$HOME/}")

    local program=${words[0]} current=${words[${#words[@]} - 1]} line directive=4
    type -P "$program" >/dev/null || program=watchscope
    local -a candidates=()
    while IFS= read -r line; do
        candidates+=("$line")
    done < <("$program" __complete "${words[@]:1}" 2>/dev/null)
    if ((${#candidates[@]} > 0)); then
        directive=${candidates[${#candidates[@]} - 1]#:}
        unset "candidates[${#candidates[@]} - 1]"
    fi

    # Behind --name= only the value is completed. bash replaces --name= too where = is none of its separators.
    local flag=
    if [[ $current == --*=* ]]; then
        [[ $COMP_WORDBREAKS == *=* ]] || flag=${current%%=*}=
        current=${current#*=}
    fi
    local typed=$current
    if ((directive == 16)); then
        compopt -o filenames
        while IFS= read -r line; do COMPREPLY+=("$flag$line"); done < <(compgen -d -- "$current")
        return
    elif ((directive == 8)); then
        compopt -o filenames
        while IFS= read -r line; do
            [[ -d ${line/#\~\//$HOME/} || $line == *.wscope ]] && COMPREPLY+=("$flag$line")
        done < <(compgen -f -- "$current")
        return
    elif ((directive == 0 && ${#candidates[@]} == 0)); then
        compopt -o filenames
        while IFS= read -r line; do COMPREPLY+=("$flag$line"); done < <(compgen -f -- "$current")
        return
    fi

    # bash replaces only what follows the last of its own separators.
    local before=
    if [[ $COMP_WORDBREAKS == *:* && $typed == *:* ]]; then
        before=${typed%"${typed##*:}"}
    fi
    if [[ $COMP_WORDBREAKS == *=* && ${typed#"$before"} == *=* ]]; then
        before=${typed%"${typed##*=}"}
    fi
    local value description
    for line in "${candidates[@]}"; do
        value=${line%%$'\t'*}
        [[ $value == "$typed"* ]] || continue
        value=${value#"$before"}
        if [[ $COMP_TYPE == 63 && $line == *$'\t'* && ${#candidates[@]} -gt 1 ]]; then
            # The second Tab only shows a list, so each line can say what it means.
            description=${line#*$'\t'}
            printf -v value '%-24s (%s)' "$value" "$description"
            COMPREPLY+=("${value:0:${COLUMNS:-80} - 2}")
        else
            printf -v value '%q' "$value"
            COMPREPLY+=("$flag$value")
        fi
    done
}

complete -o nosort -F _watchscope watchscope 2>/dev/null || complete -F _watchscope watchscope
