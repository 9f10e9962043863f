"""Changes in analyzer/timeline/; tests/mutations/row.py says how a row reads."""
from row import M

ROWS = [
    M("timeline-merge-loses-bytes", "analyzer/timeline/tracks.c",
      "    into->bytes = xfa_add(into->bytes, slice->bytes);\n",
      "",
      "the timeline of a long run shows fewer bytes than were moved",
      "analyzer-timeline_test"),
    M("timeline-hidden-is-exposed", "analyzer/timeline/shares.c",
      "kernel ? XFA_SHARE_HIDDEN : XFA_SHARE_EXPOSED",
      "kernel ? XFA_SHARE_EXPOSED : XFA_SHARE_HIDDEN",
      "transfers beside kernels are shown as those that nothing hid",
      "analyzer-timeline_test"),
]
