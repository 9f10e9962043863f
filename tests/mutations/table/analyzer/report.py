"""Changes in analyzer/report/; tests/mutations/row.py says how a row reads."""
from row import M

ROWS = [
    M("filter-shows-all-sites", "analyzer/report/filter.c",
      "    return xfa_filter_row(filter, site->row) && has_transfers(filter, site->row->number);",
      "    return has_transfers(filter, site->row->number);",
      "findings of other call sites are shown, whatever --site says",
      "analyzer-view"),
    M("filter-without-ranks", "analyzer/report/filter.c",
      "    if (!has_rank(filter, &transfer->process->rank))",
      "    if (!has_rank(filter, &transfer->process->rank) && filter->phase)",
      "--rank leaves the transfers of all ranks",
      "analyzer-view"),
    M("lack-uncounted", "analyzer/report/per_transfer.c",
      "    list->lacks[lack_of(list->analysis, transfer)]++;",
      "    list->lacks[XFA_LACK_NONE]++;",
      "--per-transfer does not say why what was achievable is not known",
      "analyzer-per_transfer"),
]
