# Completion of xferscope for bash. Made from what xferscope --help says, by tools/install/completion.py.

_xferscope_commands='@COMMANDS@'

# Of a command: options, what follows each of those that take something (words, or FILE), and what
# stands where no option does (TRACE, PROGRAM or nothing).
_xferscope_data() { # command
    case $1 in
@DATA@
    esac
}

_xferscope_files() { # pattern...
    local pattern
    compopt -o filenames 2>/dev/null
    mapfile -t COMPREPLY < <(
        for pattern; do compgen -f -X "!$pattern" -- "$cur"; done
        compgen -d -- "$cur"
    )
}

# Functions and files of the call sites of the run that is named on the line.
_xferscope_sites() {
    local word
    for word in "${COMP_WORDS[@]:2}"; do
        [[ ${word%/} == *.@(xft|trace) && -e $word ]] || continue
        mapfile -t COMPREPLY < <(compgen -W "$("${COMP_WORDS[0]}" dump --sites "$word" 2>/dev/null)" -- "$cur")
        return
    done
}

_xferscope_values() { # what follows the option
    local before=
    case $1 in
    FILE) _xferscope_files '*' ;;
    SITE) _xferscope_sites ;;
    -) COMPREPLY=() ;;
    *)
        # Several, separated by commas: the last one is completed.
        [[ $cur == *,* ]] && before=${cur%,*},
        mapfile -t COMPREPLY < <(compgen -P "$before" -W "$1" -- "${cur##*,}")
        ;;
    esac
}

# The index of the first word that is neither an option nor what follows one; nothing when there is none.
_xferscope_operand() {
    local i
    for ((i = 2; i < COMP_CWORD; i++)); do
        if [[ ${COMP_WORDS[i]} == -- ]]; then
            echo $((i + 1))
            return
        fi
        if [[ ${COMP_WORDS[i]} == -* ]]; then
            [[ -n ${takes[${COMP_WORDS[i]}]:-} && ${optional[${COMP_WORDS[i]}]:-} == '' &&
                ${COMP_WORDS[i + 1]} != '=' ]] && ((i++))
        elif [[ ${COMP_WORDS[i]} == '=' ]]; then
            ((i++))
        else
            echo "$i"
            return
        fi
    done
}

_xferscope_recorded() { # index of the program's word
    if ((COMP_CWORD == $1)); then
        mapfile -t COMPREPLY < <(compgen -c -- "$cur")
        [[ $cur == */* ]] && _xferscope_files '*'
    elif declare -F _command_offset >/dev/null; then
        _command_offset "$1"
    else
        _xferscope_files '*'
    fi
}

_xferscope() {
    local cur=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]} equals='' operand
    local options='' operands=''
    local -A takes=() optional=()
    COMPREPLY=()
    if ((COMP_CWORD == 1)); then
        mapfile -t COMPREPLY < <(compgen -W "$_xferscope_commands help --help --version" -- "$cur")
        return
    fi
    if [[ ${COMP_WORDS[1]} == help ]]; then
        ((COMP_CWORD == 2)) && mapfile -t COMPREPLY < <(compgen -W "$_xferscope_commands" -- "$cur")
        return
    fi
    _xferscope_data "${COMP_WORDS[1]}"
    operand=$(_xferscope_operand)
    if [[ $operands == PROGRAM && -n $operand ]]; then
        _xferscope_recorded "$operand"
        return
    fi
    if [[ $cur == '=' ]]; then
        cur='' equals=1
    elif [[ $previous == '=' ]]; then
        previous=${COMP_WORDS[COMP_CWORD - 2]} equals=1
    fi
    if [[ -n ${takes[$previous]:-} && (-n $equals || -z ${optional[$previous]:-}) ]]; then
        _xferscope_values "${takes[$previous]}"
    elif [[ $cur == -* ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$options" -- "$cur")
    elif [[ $operands == TRACE ]]; then
        _xferscope_files '*.trace'
    elif [[ $operands == PROGRAM ]]; then
        _xferscope_recorded "$COMP_CWORD"
    fi
}

complete -F _xferscope xferscope
