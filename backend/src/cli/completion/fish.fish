# fish completion of watchscope (fish 3.1 and later). Each Tab asks `watchscope __complete`.

function __watchscope_complete
    set -l words (commandline -opc)
    set -l current (commandline -ct)
    set -l program $words[1]
    type -q -f -- $program; or set program watchscope
    set -l lines ($program __complete $words[2..-1] "$current" 2>/dev/null)
    test (count $lines) -gt 0; or return
    set -l directive (string replace -r '^:' '' -- $lines[-1])
    set -e lines[-1]
    # fish replaces the whole word, so what stands before a value is put before its candidates.
    set -l before (string match -r -- '^--[^=]*=' "$current")
    set -l path (string replace -r -- '^--[^=]*=' '' "$current")
    switch $directive
        case 16
            __watchscope_prefixed "$before" (__fish_complete_directories "$path" '')
        case 8
            __watchscope_prefixed "$before" (__fish_complete_path "$path" '' |
                string match -r '^.*(?:/|\.wscope)(?:\t.*)?$')
        case 0
            if test (count $lines) -eq 0
                __watchscope_prefixed "$before" (__fish_complete_path "$path" '')
            else
                __watchscope_prefixed "$before" $lines
            end
        case '*'
            __watchscope_prefixed "$before" $lines
    end
end

function __watchscope_prefixed
    for line in $argv[2..-1]
        printf '%s%s\n' $argv[1] $line
    end
end

complete -c watchscope -e
complete -c watchscope -k -f -a '(__watchscope_complete)'
