#compdef xferscope
# Completion of xferscope for zsh. Made from what xferscope --help says, by tools/install/completion.py.

_xferscope_commands() {
    local -a commands=(
@COMMANDS@
        'help:explain a command'
    )
    _describe -t commands command commands
}

# Functions and files of the call sites of the run that is named on the line.
_xferscope_sites() {
    local word
    for word in ${words[2,-1]}; do
        [[ $word == *.(xft|trace)(/|) && -e $word ]] || continue
        compadd -- ${(f)"$(_call_program sites ${words[1]} dump --sites ${(q)word} 2>/dev/null)"}
        return
    done
    return 1
}

_xferscope_program() {
    shift words
    (( CURRENT-- ))
    _normal
}

_xferscope_of() { # command
    case $1 in
@DATA@
    esac
}

_xferscope() {
    if (( CURRENT == 2 )); then
        if [[ ${words[2]} == -* ]]; then
            compadd -- --help --version
        else
            _xferscope_commands
        fi
    elif [[ ${words[2]} == help ]]; then
        (( CURRENT == 3 )) && _xferscope_commands
    else
        local command=${words[2]}
        shift words
        (( CURRENT-- ))
        words[1]=${_comp_command1:-xferscope}
        _xferscope_of $command
    fi
}

if [[ ${funcstack[1]} == _xferscope ]]; then
    _xferscope "$@"
else
    compdef _xferscope xferscope
fi
