# nushell completion of watchscope. Each Tab asks `watchscope __complete`. Other commands keep the completer they had.

let watchscope_other_completer = $env.config?.completions?.external?.completer?

$env.config.completions.external.enable = true
$env.config.completions.external.completer = {|spans|
    if ($spans.0 | path basename) != "watchscope" {
        if $watchscope_other_completer == null { null } else { do $watchscope_other_completer $spans }
    } else {
        let lines = (run-external $spans.0 "__complete" ...($spans | skip 1) | complete | get stdout | lines)
        let directive = ($lines | append ":4" | where ($it | str starts-with ":") | first)
        # What stands before the value of --name=value stays before each candidate.
        let before = ($spans | last | parse --regex '^(?<flag>--[^=]*=)' | get flag? | default [] | append "" | first)
        # null lets nushell offer files: any, recordings (*.wscope) or folders.
        if $directive in [":0", ":8", ":16"] { null } else {
            $lines | where not ($it | str starts-with ":") | each {|line|
                let parts = ($line | split row --number 2 "\t")
                { value: $"($before)($parts.0)", description: ($parts.1? | default "") }
            }
        }
    }
}
