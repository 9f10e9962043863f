#!/usr/bin/env python3
"""The completion for bash, from what the command's --help says. Usage: completion.py XFERSCOPE OUT"""
import sys
from pathlib import Path

sys.dont_write_bytecode = True  # nothing is left in the source folder
from usage import commands_of, options_of, usage_of  # noqa: E402


def operands_of(usage):
    first = usage.split("\n\n")[0]
    return next((word for word in ("TRACE", "PROGRAM") if word in first), "")


def data_of(name, usage):
    options = options_of(usage)
    names = " ".join(name for option in options for name in (option.short, option.name) if name)
    lines = [f"    {name})", f"        options='{names}'", f"        operands='{operands_of(usage)}'"]
    for option in options:
        if not option.value and not option.forms:
            continue
        values = " ".join(option.words()) or ("FILE" if option.is_file() else "-")
        for key in filter(None, (option.short, option.name)):
            lines.append(f"        takes[{key}]='{values}'")
            if option.optional:
                lines.append(f"        optional[{key}]=1")
    return "\n".join([*lines, "        ;;"])


def main():
    command, out = sys.argv[1:]
    commands = commands_of(usage_of(command))
    template = (Path(__file__).parent / "completion.bash").read_text()
    text = template.replace("@COMMANDS@", " ".join(commands))
    text = text.replace("@DATA@", "\n".join(data_of(name, usage_of(command, name)) for name in commands))
    Path(out).write_text(text)


if __name__ == "__main__":
    main()
