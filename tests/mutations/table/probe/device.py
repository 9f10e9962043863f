"""Changes in probe/device/; tests/mutations/row.py says how a row reads."""
from row import M

ROWS = [
    M("gate-given-up-used", "probe/device/device.c",
      "    bool held = !d->gate[XFP_GATE_GAVE_UP];",
      "    bool held = true;",
      "a measurement that the host's submission delayed counts",
      "probe.command"),
    M("team-last-part-short", "probe/device/team.c",
      "    *to = index + 1 == count ? bytes : pages * (index + 1) / count * PART;",
      "    *to = pages * (index + 1) / count * PART;",
      "the last bytes are copied by no thread",
      "probe.team"),
    M("team-does-not-wait", "probe/device/team.c",
      """    while (t->busy)
        pthread_cond_wait(&t->end, &t->lock);
""",
      """    if (t->busy > t->count)
        pthread_cond_wait(&t->end, &t->lock);
""",
      "a copy by threads is timed before the slowest has ended",
      "probe.team"),
    M("warm-memory-flushed", "probe/device/buffer.c",
      "    if (sys->warm && b->place.memory",
      "    if (sys->warm && !sys->flush && b->place.memory",
      "figures of warm caches are those of cold ones",
      "probe.flush"),
]
