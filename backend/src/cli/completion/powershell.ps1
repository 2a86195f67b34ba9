# PowerShell completion of watchscope (PowerShell 7). Each Tab asks `watchscope __complete`.

Register-ArgumentCompleter -Native -CommandName watchscope -ScriptBlock {
    param($wordToComplete, $commandAst, $cursorPosition)

    $before = @($commandAst.CommandElements |
        Where-Object { $_.Extent.EndOffset -lt $cursorPosition -or $_.Extent.StartOffset -eq 0 } |
        ForEach-Object { if ($_ -is [System.Management.Automation.Language.StringConstantExpressionAst]) {
            $_.Value } else { $_.Extent.Text } })
    $program = $before[0]
    $words = @('__complete') + @($before | Select-Object -Skip 1)
    # Before PowerShell 7.3 an empty word is lost unless it is quoted.
    if ($wordToComplete -eq '' -and $PSNativeCommandArgumentPassing -notin 'Standard', 'Windows') {
        $words += '""'
    } else {
        $words += $wordToComplete
    }
    $lines = @(& $program @words 2>$null)
    if ($lines.Count -eq 0) { return }
    $directive = [int]$lines[-1].TrimStart(':')
    $lines = @($lines | Select-Object -SkipLast 1)

    if ($directive -eq 8) {
        # The program's one candidate is the ending, wscope. Folders lead to further recordings.
        Get-ChildItem -Path "$wordToComplete*" -ErrorAction SilentlyContinue |
            Where-Object { $_.PSIsContainer -or $_.Extension -eq '.wscope' } |
            ForEach-Object {
                $path = Resolve-Path -LiteralPath $_.FullName -Relative
                if ($_.PSIsContainer) { $path += [IO.Path]::DirectorySeparatorChar }
                [System.Management.Automation.CompletionResult]::new($path, $_.Name, 'ProviderItem', $_.Name)
            }
        return
    }
    # Without a result PowerShell offers files. That is right for 0 and 16; otherwise an empty word prevents it.
    if ($lines.Count -eq 0) {
        if ($directive -eq 4) { '' }
        return
    }
    # PowerShell replaces the whole word, so what stands before a value is put before its candidates.
    $prefix = if ($wordToComplete -match '^--[^=]*=') { $Matches[0] } else { '' }
    foreach ($line in $lines) {
        $value, $description = $line -split "`t", 2
        if (-not $description) { $description = $value }
        $text = if ($value -match '[^\w.,:/@=-]') { "'" + $value.Replace("'", "''") + "'" } else { $value }
        [System.Management.Automation.CompletionResult]::new("$prefix$text", $value, 'ParameterValue', $description)
    }
}
