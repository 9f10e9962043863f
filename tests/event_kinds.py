"""The kinds of events of a trace, by what they are of, as include/xferscope/trace_events.h lists them."""
import re
from pathlib import Path

HEADER = Path(__file__).resolve().parents[1] / "include" / "xferscope" / "trace_events.h"
ROW = re.compile(r'X\(XFT_EVENT_\w+, "([\w-]+)", XFT_OF_(\w+), with\)')


def words_of(*classes):
    """The words of the kinds that are of one of these: "CALL", "DEVICE" and so on."""
    rows = ROW.findall(HEADER.read_text())
    unknown = set(classes) - {of for _, of in rows}
    if unknown:
        raise ValueError(f"{HEADER.name} has no {', '.join(sorted(unknown))}")
    return frozenset(word for word, of in rows if of in classes)
