"""What a command's --help says, read: its options and what stands beside them."""
import re
import subprocess
from dataclasses import dataclass, field

WORD = r"[a-z][a-z0-9-]*(?: \([^)]*\))?"


@dataclass
class Option:
    name: str  # --output
    short: str  # -o, or empty
    value: str  # FILE; empty when it takes none
    optional: bool  # --content[=HOW]
    text: str = ""
    forms: list = field(default_factory=list)  # other values that have a line of their own: --replay=run

    def words(self):
        """The values that its help lists; none when it describes them."""
        if re.fullmatch(r"[a-z0-9-]+(\|[a-z0-9-]+)+", self.value):
            return self.value.split("|")
        if self.forms or not self.value or self.value in ("FILE", "NAME", "N", "S", "PERCENT"):
            return list(self.forms)
        examples = re.findall(r"\(([^()]+) \.\.\.\)", self.text)
        if examples:  # "such transfers (H2D, peer ...) or findings (small-transfers ...)"
            return ", ".join(examples).split(", ")
        found = re.search(rf"(?:\b{WORD}, )*\b{WORD},? or {WORD}", self.text)
        found = found or re.search(rf"(?<=: ){WORD}(?:, {WORD}){{2,}}", self.text)
        return re.split(r", or |, | or ", re.sub(r" \([^)]*\)", "", found[0])) if found else []

    def is_file(self):
        return self.value.startswith("FILE") or (self.value == "NAME" and self.name == "--output") or self.value == "A B"


LINE = re.compile(r"^ {2,8}(?:(-[a-zA-Z0-9]), | {2,6})?(--[a-z][a-z0-9-]*)(\[=[^\]]+\]|=\S+|(?: [^\s].*?)?)(?: {2,}(.*)|)$")


def usage_of(command, name=None):
    arguments = [name, "--help"] if name else ["--help"]
    done = subprocess.run([command, *arguments], stdout=subprocess.PIPE, text=True, check=True)
    return done.stdout


def commands_of(usage):
    """The subcommands that xferscope --help lists, with what it says of each."""
    return dict(re.findall(r"^  ([a-z]+) +(\S.*)$", usage, re.M))


def options_of(usage):
    options, last = {}, None
    for line in usage.splitlines():
        found = LINE.match(line)
        if found:
            short, name, value, text = found[1] or "", found[2], (found[3] or "").strip(), found[4] or ""
            last = options.get(name)
            if last and value.startswith("="):
                last.forms.append(value[1:])
                last.optional = not last.value
                continue
            optional = value.startswith("[=")
            last = Option(name, short, value.strip("[]= "), optional, text)
            options[name] = last
        elif last and line.startswith("          "):
            last.text += " " + line.strip()
        else:
            last = None
    return list(options.values())
