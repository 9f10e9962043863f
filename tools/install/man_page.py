#!/usr/bin/env python3
"""A page of docs/ as a page of the manual, section 1: man(7), gzipped when OUT ends in .gz.

A link says in words where it leads: readers of a manual cannot follow it. The pages keep to a small part of Markdown: headings, paragraphs, lists, blocks of code, tables,
`code`, **bold**, *italic* and links. A table becomes a list of its first column.

Usage: man_page.py PAGE OUT --version VERSION --changes CHANGES.md
"""
import argparse
import gzip
import re
import textwrap
from pathlib import Path

WIDTH = 78  # of the source's lines


def commands(docs):
    """Name of each page of the manual and what it says of itself, by the page in docs/."""
    rows = re.findall(r"^\| `([a-z]+)` \| (.+?) \| \[\S+\]\(([a-z]+)\.md\) \|$", (docs / "xferscope.md").read_text(), re.M)
    pages = {page: (f"xferscope-{name}", summary) for name, summary, page in rows}
    return {"xferscope": ("xferscope", "tells what CUDA transfers achieve, and what to change")} | pages


def escape(text):
    text = text.replace("\\", "\\e").replace("-", "\\-")
    text = text.replace("^", "\\(ha").replace("~", "\\(ti").replace("`", "\\(ga").replace("'", "\\(aq")
    return "".join(c if ord(c) < 128 else f"\\[u{ord(c):04X}]" for c in text)


def slug(title):
    """A heading as links name it."""
    return re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")


def headings(page):
    text = re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.M | re.S)
    return {slug(title): re.sub(r"[`*]", "", title) for title in re.findall(r"^#+ (.+)$", text, re.M)}


def place(target, pages):
    """Where an internal link leads, for readers who cannot follow it: a page of the manual, a heading of this
    one, a page in docs/; "" for what is none of these."""
    found = re.fullmatch(r"([\w/-]*)(\.md)?(?:#(.+))?", target)
    if not found or not (found[2] or found[3]):
        return ""
    page = pages["docs"] / f"{found[1] or pages['this']}.md"
    title = headings(page).get(found[3]) if found[3] and page.exists() else None
    named = f', "{escape(title)}"' if title else ""
    if not found[1] or found[1] == pages["this"]:
        return named[2:]
    name = pages["pages"].get(found[1])
    return (f"\\fB{escape(name[0])}\\fR(1)" if name else f"\\fI{escape(found[1])}.md\\fR") + named


def says_where(text, target):
    """The text names the page or the heading by itself: "[analyze.md](analyze.md#files)", "[finding](#findings)"."""
    words = slug(re.sub(r"[`*]", "", text))
    page, _, anchor = target.partition("#")
    return text.endswith(".md") or words in anchor.replace("--", "-") or text.startswith("`") or slug(page.removesuffix(".md")) == words


def link(text, target, pages, within):
    """within: it stands in parentheses."""
    page = re.fullmatch(r"([a-z]+)\.md(#.*)?", target)
    if page and page[1] in pages["pages"] and text == f"{page[1]}.md":
        return f"\\fB{escape(pages['pages'][page[1]][0])}\\fR(1)"
    if "://" in target:
        return f"{inline(text, pages)} <{escape(target)}>"
    where = "" if says_where(text, target) else place(target, pages)
    if not where:
        return inline(text, pages)
    return inline(text, pages) + (f": {where}" if within else f" ({where})")


SPANS = re.compile(
    r"(?P<ticks>`+)(?P<code>.+?)(?P=ticks)"
    r"|!\[[^\]]*\]\([^)]*\)"
    r"|\[(?P<text>(?:[^\[\]]|`[^`]*`)+)\]\((?P<target>[^)\s]+)\)"
    r"|\*\*(?P<bold>.+?)\*\*"
    r"|(?<![\w*])\*(?P<italic>[^*\s](?:[^*]*[^*\s])?)\*(?![\w*])",
    re.S,
)


def inline(text, pages):
    out, at = [], 0
    for span in SPANS.finditer(text):
        out.append(escape(text[at:span.start()]))
        at = span.end()
        if span["code"]:
            out.append(f"\\fB{escape(span['code'].strip())}\\fR")
        elif span["target"]:
            opened = text.rfind("(", 0, span.start()) > text.rfind(")", 0, span.start())
            out.append(link(span["text"], span["target"], pages, opened))
        elif span["bold"]:
            out.append(f"\\fB{escape(re.sub('[`*]', '', span['bold']))}\\fR")
        elif span["italic"]:
            out.append(f"\\fI{escape(re.sub('[`*]', '', span['italic']))}\\fR")
    return "".join(out) + escape(text[at:])


def filled(text, pages):
    """A paragraph's lines, none of which is taken for a request."""
    words = " ".join(inline(text, pages).split())
    lines = textwrap.wrap(words, WIDTH, break_long_words=False, break_on_hyphens=False)
    return ["\\&" + line if line.startswith((".", "'")) else line for line in lines]


def literal(lines):
    body = [escape(line.rstrip()) for line in lines]
    return [".PP", ".RS 4", ".nf", *("\\&" + line if line.startswith(".") else line for line in body), ".fi", ".RE"]


def cells(row):
    """Of a row of a table; what is between backticks may hold bars that are escaped."""
    parts = re.split(r"(?<!\\)\|", row.strip().strip("|"))
    return [part.strip().replace("\\|", "|") for part in parts]


def table(rows, pages):
    heads, out = cells(rows[0]), []
    for row in rows[2:]:
        first, *others = cells(row)
        out += [".TP", inline(first, pages) or "\\&"]
        for i, text in enumerate(filter(None, others)):
            named = len(others) > 1 and i > 0 and heads[1 + i]
            out += ([".br"] if i else []) + filled((f"*{heads[1 + i]}:* " if named else "") + text, pages)
        if not any(others):
            out.append("\\&")
    return out


ITEM = re.compile(r"(\s*)([-*]|\d+\.)\s+(.*)")


def listing(lines, pages):
    items = []
    for line in lines:
        item = ITEM.match(line)
        if item:
            items.append([len(item[1]), "\\(bu" if item[2] in "-*" else item[2], item[3]])
        else:
            items[-1][2] += " " + line.strip()
    named = [re.fullmatch(r"(`[^`]+`(?:, `[^`]+`)*): (.*)", text, re.S) for _, _, text in items]
    if all(named):
        return [line for item in named for line in (".TP", inline(item[1], pages), *filled(item[2], pages))]
    out = []
    for depth, mark, text in items:
        body = [f".IP {mark} 4", *filled(text, pages)]
        out += [".RS 4", *body, ".RE"] if depth else body
    return out


def blocks(text):
    """The page in pieces: (kind, lines)."""
    lines, i = re.sub(r"<!--.*?-->", "", text, flags=re.S).splitlines(), 0

    def take(wanted):
        nonlocal i
        start = i
        while i < len(lines) and wanted(lines[i], i - start):
            i += 1
        return lines[start:i]

    while i < len(lines):
        line = lines[i]
        if not line.strip():
            i += 1
        elif line.startswith("```"):
            i += 1
            yield "code", take(lambda l, n: not l.startswith("```"))
            i += 1
        elif line.startswith("#"):
            yield "heading", take(lambda l, n: n == 0)
        elif line.startswith("|"):
            yield "table", take(lambda l, n: l.startswith("|"))
        elif line.startswith("    "):
            code = take(lambda l, n: l.startswith("    ") or not l.strip())
            yield "code", textwrap.dedent("\n".join(code)).rstrip().split("\n")
        elif ITEM.match(line):
            yield "list", take(lambda l, n: l.strip() != "" and (n == 0 or ITEM.match(l) or l.startswith(" ")))
        else:
            yield "text", take(lambda l, n: l.strip() != "" and not l.startswith(("|", "```", "#")))


def render(kind, lines, pages):
    if kind == "heading":
        marks, title = lines[0].split(" ", 1)
        title = re.sub(r"[`*]", "", title).replace('"', "'")
        return [f'.SH "{escape(title.upper())}"' if len(marks) == 2 else f'.SS "{escape(title)}"']
    if kind == "code":
        return literal(lines)
    if kind == "table":
        return table(lines, pages)
    if kind == "list":
        return listing(lines, pages)
    return [".PP", *filled(" ".join(lines), pages)]


def tidy(lines):
    """Without the .PP that does nothing: behind a heading."""
    return [line for i, line in enumerate(lines) if not (line == ".PP" and i and lines[i - 1].startswith((".SH", ".SS")))]


def without_first_sections(pieces):
    """Of a page that has NAME, SYNOPSIS and DESCRIPTION itself: the first's text is ours, headings too."""
    section = ""
    for kind, lines in pieces:
        if kind == "heading":
            section = lines[0].lstrip("# ")
        if section != "Name" and not (kind == "heading" and section in ("Synopsis", "Description")):
            yield kind, lines


def man_page(page, version, date):
    of_commands = commands(page.parent)
    name, summary = of_commands[page.stem]
    pages = {"pages": of_commands, "this": page.stem, "docs": page.parent}
    _, *rest = without_first_sections(blocks(page.read_text()))
    synopsis = next(i for i, (kind, _) in enumerate(rest) if kind == "code")
    usage = rest.pop(synopsis)[1]
    out = [f'.TH {escape(name.upper())} 1 "{date}" "xferscope {version}" "xferscope"', ".nh", ".ad l"]
    out += [".SH NAME", f"{escape(name)} \\- {escape(summary)}", ".SH SYNOPSIS", *literal(usage), ".SH DESCRIPTION"]
    for kind, lines in rest:
        out += render(kind, lines, pages)
    others = [f"\\fB{escape(other)}\\fR(1)" for other, _ in of_commands.values() if other != name]
    out += ['.SH "SEE ALSO"', *(f"{other}," for other in others[:-1]), others[-1]]
    out += [".PP", "The other pages that this one names are installed in", "\\fIshare/doc/xferscope/docs\\fR."]
    return "\n".join(tidy(out)) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("page", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--version", required=True)
    parser.add_argument("--changes", required=True, type=Path)
    args = parser.parse_args()
    date = re.search(r"^## \S+ \((\d{4}-\d\d-\d\d)\)$", args.changes.read_text(), re.M)[1]
    text = man_page(args.page, args.version, date).encode()
    args.out.write_bytes(gzip.compress(text, 9, mtime=0) if args.out.suffix == ".gz" else text)


if __name__ == "__main__":
    main()
