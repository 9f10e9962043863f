#!/usr/bin/env python3
"""The licence of what others wrote and is compiled into the command and its libraries: xxHash's, which
its header begins with. (That of the scripts in the HTML report comes with the page.)

Usage: licences.py OUT.txt --xxhash xxhash.h
"""
import argparse
import re
import textwrap
from pathlib import Path


def first_comment(header):
    comment = re.search(r"/\*(.*?)\*/", header, re.S)[1]
    return textwrap.dedent(re.sub(r"^ \*", "", comment, flags=re.M)).strip()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("--xxhash", required=True, type=Path)
    args = parser.parse_args()
    text = first_comment(args.xxhash.read_text())
    if "Redistribution" not in text:
        parser.error(f"{args.xxhash} does not begin with its licence")
    args.out.parent.mkdir(parents=True, exist_ok=True)
    args.out.write_text(text + "\n")


if __name__ == "__main__":
    main()
