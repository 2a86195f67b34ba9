#compdef watchscope
# zsh completion of watchscope. Each Tab asks `watchscope __complete`.

_watchscope() {
    local program=${(Q)words[1]} line directive=4
    local -a lines described
    program=${~program}
    (( $+commands[$program] )) || [[ -x $program ]] || program=watchscope
    lines=("${(@f)$("$program" __complete "${(@Q)words[2,CURRENT-1]}" "${(Q)PREFIX}" 2>/dev/null)}")
    if [[ ${lines[-1]} == :<-> ]]; then
        directive=${lines[-1]#:}
        lines=("${(@)lines[1,-2]}")
    fi
    # Behind --name= only the value is completed.
    compset -P '--*='

    if (( directive == 16 )); then
        _files -/
        return
    elif (( directive == 8 )); then
        _files -g '*.wscope'
        return
    elif (( directive == 0 && ${#lines} == 0 )); then
        _files
        return
    fi
    for line in $lines; do
        # _describe wants VALUE:DESCRIPTION, with colons in the value escaped.
        if [[ $line == *$'\t'* ]]; then
            described+=("${${line%%$'\t'*}//:/\\:}:${line#*$'\t'}")
        else
            described+=("${line//:/\\:}")
        fi
    done
    _describe -V 'watchscope' described
}

# Read by `source`, the file registers its function; as an autoloaded file in fpath it is the function.
if [[ ${funcstack[1]} == _watchscope ]]; then
    _watchscope "$@"
else
    compdef _watchscope watchscope
fi
