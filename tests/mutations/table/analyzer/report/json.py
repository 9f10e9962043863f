"""Changes in analyzer/report/json/; tests/mutations/row.py says how a row reads."""
from row import M

ROWS = [
    M("report-unended-as-stray", "analyzer/report/json/tables.c",
      "xfa_json_count(counts->unended)",
      "xfa_json_count(counts->stray_ends)",
      "ranges without an end are counted as ends without a beginning",
      "export.ranges"),
]
