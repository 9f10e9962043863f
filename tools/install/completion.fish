# Completion of xferscope for fish. Made from what xferscope --help says, by tools/install/completion.py.

# Functions and files of the call sites of the run that is named on the line.
function __xferscope_sites
    set -l words (commandline -opc)
    for word in $words[3..-1]
        if string match -qr '\.(xft|trace)/?$' -- $word; and test -e $word
            $words[1] dump --sites $word 2>/dev/null
            return
        end
    end
end

# The subcommand on the line is this one.
function __xferscope_of
    set -l words (commandline -opc)
    test (count $words) -gt 1; and test $words[2] = $argv[1]
end

# The words behind xferscope COMMAND and its options: a program of its own.
function __xferscope_program
    set -l words (commandline -opc)
    for i in (seq 3 (count $words))
        string match -q -- '-*' $words[$i]; and continue
        return 0
    end
    return 1
end

function __xferscope_first
    test (count (commandline -opc)) -eq 1
end

complete -c xferscope -f
complete -c xferscope -n __xferscope_first -l help -d 'list the commands'
complete -c xferscope -n __xferscope_first -l version -d 'name the version'
complete -c xferscope -n __xferscope_first -a help -d 'explain a command'
@COMMANDS@
@DATA@
