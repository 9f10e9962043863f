"""Changes in probe/; tests/mutations/row.py says how a row reads."""
from row import M

ROWS = [
    M("resume-other-gpu", "probe/resume.c",
      "        if (!same_text(now->gpus[i].uuid, then->gpus[i].uuid))",
      "        if (!same_text(now->gpus[0].uuid, then->gpus[0].uuid))",
      "--resume mixes figures of two GPUs in one profile",
      "probe.profiles"),
    M("resume-missing-sizes", "probe/resume.c",
      """    return at == count;
}""",
      """    return at > 0 || count == 0;
}""",
      "--resume leaves sizes out that were asked for",
      "probe.profiles"),
    M("transfer-with-peers-as-they-are", "probe/measure_transfers.c",
      "    bad = xfp_set_peer_access(s, from, to, spec->peer_access);",
      "    bad = xfp_set_peer_access(s, from, to, false);",
      "copies between GPUs with peer access are measured without",
      "probe.transfers"),
    M("checkpoint-interrupted-stays", "probe/probe_run.c",
      """    if (p->warning_count > warnings)
        free(p->warnings[--p->warning_count]);""",
      "    (void)warnings;",
      "a profile that is whole says that it was interrupted",
      "probe.profiles"),
    M("resume-half-measured", "probe/resume.c",
      "        size_t sure = *lists[i].count - (interrupted && *lists[i].count);",
      "        size_t sure = *lists[i].count;",
      "a benchmark that was interrupted counts as measured",
      "probe.profiles"),
    M("resume-time-of-second", "probe/probe_run.c",
      "    double before = s->options->resume ? s->options->resume->rules.seconds : 0;",
      "    double before = 0;",
      "a resumed profile says that it took as long as its last run",
      "probe.profiles"),
]
