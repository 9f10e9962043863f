"""What golden files hold of a report, short enough to be read: the JSON with several values on a line
and each frame of the stacks written once; of a report that is like another one, how it differs.
Nothing is left out: other bytes of the report are other bytes here, or are refused."""

import difflib
import re

WIDTH = 110
TOKEN = re.compile(r'\s*("(?:[^"\\]|\\.)*"|[][{}:,]|[^][{}:,\s"]+)')


def parse(text):
    """Objects and arrays; all else stays as it is written, numbers and escapes too."""
    tokens = iter(TOKEN.findall(text))

    def items(end):
        for token in tokens:
            if token == end:
                return
            if token not in ",:":
                yield value(token)

    def value(token):
        if token == "{":
            flat = list(items("}"))
            return dict(zip(flat[::2], flat[1::2]))
        return list(items("]")) if token == "[" else token

    return value(next(tokens))


def one_line(value):
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {one_line(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(one_line, value)) + "]"
    return value


def layout(value, width, indent=0, before=0):
    """As the reports have it, indented by two, but what fits into the width is on one line."""
    short = one_line(value)
    if isinstance(value, str) or not value or indent + before + len(short) < width:
        return short
    pairs = isinstance(value, dict)
    lines = []
    for item in value:
        key = f"{item}: " if pairs else ""
        item = value[item] if pairs else item
        lines.append(" " * (indent + 2) + key + layout(item, width, indent + 2, len(key)))
    return ("{\n" if pairs else "[\n") + ",\n".join(lines) + "\n" + " " * indent + ("}" if pairs else "]")


class Frames:
    """The frames of all stacks of a file, by number."""

    def __init__(self):
        self.numbers = {}

    def replace(self, value):
        if isinstance(value, list):
            return [self.replace(item) for item in value]
        if not isinstance(value, dict):
            return value
        return {key: [str(self.number(frame)) for frame in item] if key == '"stack"' else self.replace(item)
                for key, item in value.items()}

    def number(self, frame):
        return self.numbers.setdefault(one_line(frame), len(self.numbers))

    def text(self):
        return "".join(f"frame {number}: {frame}\n" for frame, number in self.numbers.items())


def difference(before, after):
    """Lines that are gone and lines that came, without those around them."""
    lines = list(difflib.unified_diff(before.splitlines(), after.splitlines(), n=0, lineterm=""))[2:]
    return "".join(line + "\n" for line in lines) or "the same\n"


def shorter(before, after):
    """What differs, or where that is more than the whole, the whole."""
    return min(difference(before, after), after, key=len)


def reordered(before, after):
    """The rows of the second report in the numbers of the first one's, and the first in that order."""
    rows = {one_line(row): i for i, row in enumerate(before['"transfers"'])}
    order = [rows.get(one_line(row)) for row in after['"transfers"']]
    if len(rows) != len(before['"transfers"']) or sorted(map(str, order)) != sorted(map(str, rows.values())):
        return None, before
    return order, dict(before, **{'"transfers"': [before['"transfers"'][i] for i in order]})
