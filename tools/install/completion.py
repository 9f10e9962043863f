#!/usr/bin/env python3
"""Completion for bash, zsh and fish, from what the command's --help says.

usage: completion.py XFERSCOPE FOLDER    writes xferscope.bash, _xferscope and xferscope.fish there"""
import sys
from pathlib import Path

sys.dont_write_bytecode = True  # nothing is left in the source folder
from usage import commands_of, options_of, usage_of  # noqa: E402

HERE = Path(__file__).parent


# ---- the one list, for all shells ----------------------------------------------------------------

def operands_of(usage):
    """What stands where no option does: traces, a program, or nothing."""
    first = usage.split("\n\n")[0]
    if "PROGRAM" in first:
        return "PROGRAM"
    return "TRACE" if "TRACE" in first or "RUN" in first else ""


def takes(option):
    """What follows an option: words; or FILE, SITE (call sites of the run on the line), NOTHING that is known;
    None: the option takes nothing."""
    if not option.value and not option.forms:
        return None
    if option.value == "PATTERN":
        return "SITE"
    return option.words() or ("FILE" if option.is_file() else "NOTHING")


def about(option):
    """Its text, as one line that says what it does; of the first sentence."""
    return " ".join(option.text.split(";")[0].split())


# ---- bash ----------------------------------------------------------------------------------------

def bash_of(name, usage):
    options = options_of(usage)
    names = " ".join(name for option in options for name in (option.short, option.name) if name)
    lines = [f"    {name})", f"        options='{names}'", f"        operands='{operands_of(usage)}'"]
    for option in options:
        values = takes(option)
        if values is None:
            continue
        text = values if isinstance(values, str) else " ".join(values)
        for key in filter(None, (option.short, option.name)):
            lines.append(f"        takes[{key}]='{'-' if text == 'NOTHING' else text}'")
            if option.optional:
                lines.append(f"        optional[{key}]=1")
    return "\n".join([*lines, "        ;;"])


def bash(usages, _summaries):
    return " ".join(usages), "\n".join(bash_of(name, usage) for name, usage in usages.items())


# ---- zsh -----------------------------------------------------------------------------------------

def zsh_quoted(text):
    return "'" + text.replace("'", "'\\''") + "'"


def zsh_spec(option):
    """One line for _arguments."""
    values, text = takes(option), about(option)
    for mark in "\\[]:":
        text = text.replace(mark, "\\" + mark)
    action = ""
    if values is not None:
        what = {"FILE": "_files", "SITE": "_xferscope_sites", "NOTHING": " "}.get(values) if isinstance(values, str) else None
        action = f":{option.value.split('[')[0].lower().replace(':', ' ') or 'how'}:{what or '(' + ' '.join(values) + ')'}"
        action = ":" + action if option.optional else action
    names = [f"{option.name}{'=' + ('-' if option.optional else '') if values is not None else ''}"]
    if option.short:
        names.append(f"{option.short}{'+' if values is not None else ''}")
    return [zsh_quoted(f"*{name}[{text}]{action}") for name in names]


def zsh_of(name, usage):
    specs = [spec for option in options_of(usage) for spec in zsh_spec(option)]
    operands = {"TRACE": "'*:run:_files'", "PROGRAM": "'*::program:_xferscope_program'", "": ""}[operands_of(usage)]
    if operands.startswith("'*::"):  # what follows a program's name is the program's
        operands = "'(-)1:program:_command_names -e' '*::arguments:_normal'"
    lines = [f"    {name})", "        _arguments -s \\"]
    lines += [f"            {spec} \\" for spec in [*specs, *filter(None, [operands])]]
    lines[-1] = lines[-1].removesuffix(" \\")
    return "\n".join([*lines, "        ;;"])


def zsh(usages, summaries):
    commands = "\n".join(f"        {zsh_quoted(f'{name}:{summary}')}" for name, summary in summaries.items())
    return commands, "\n".join(zsh_of(name, usage) for name, usage in usages.items())


# ---- fish ----------------------------------------------------------------------------------------

def fish_quoted(text):
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def fish_option(name, option):
    values = takes(option)
    parts = [f"complete -c xferscope -n '__xferscope_of {name}' -l {option.name[2:]}"]
    if option.short:
        parts.append(f"-s {option.short[1:]}")
    if values == "FILE":
        parts.append("-rF")
    elif values is not None and not option.optional:
        parts.append("-x")
    if values == "SITE":
        parts.append("-a '(__xferscope_sites)'")
    elif isinstance(values, list):
        parts.append(f"-a {fish_quoted(' '.join(values))}")
    return " ".join([*parts, f"-d {fish_quoted(about(option))}"])


def fish_of(name, usage):
    operands = operands_of(usage)
    lines = [fish_option(name, option) for option in options_of(usage)]
    if operands == "TRACE":
        lines.append(f"complete -c xferscope -n '__xferscope_of {name}' -F")
    if operands == "PROGRAM":
        lines.append(f"complete -c xferscope -n '__xferscope_of {name}; and not __xferscope_program' "
                     "-a '(__fish_complete_command)'")
        lines.append(f"complete -c xferscope -n '__xferscope_of {name}; and __xferscope_program' -F")
    return "\n".join(lines)


def fish(usages, summaries):
    commands = [f"complete -c xferscope -n __xferscope_first -a {name} -d {fish_quoted(summary)}\n"
                f"complete -c xferscope -n '__xferscope_of help' -a {name} -d {fish_quoted(summary)}"
                for name, summary in summaries.items()]
    return "\n".join(commands), "\n".join(fish_of(name, usage) for name, usage in usages.items())


SHELLS = {"bash": (bash, "xferscope.bash"), "zsh": (zsh, "_xferscope"), "fish": (fish, "xferscope.fish")}


def main():
    command, folder = sys.argv[1:]
    summaries = commands_of(usage_of(command))
    usages = {name: usage_of(command, name) for name in summaries}
    for shell, (made, name) in SHELLS.items():
        commands, data = made(usages, summaries)
        text = (HERE / f"completion.{shell}").read_text()
        (Path(folder) / name).write_text(text.replace("@COMMANDS@", commands).replace("@DATA@", data))


if __name__ == "__main__":
    main()
