"""Changes in probe/measure/; tests/mutations/row.py says how a row reads."""
from row import M

ROWS = [
    M("median-of-even", "probe/measure/stats.c",
      "(samples[n / 2 - 1] + samples[n / 2]) / 2;",
      "samples[n / 2];",
      "medians of an even number of samples are too large",
      "probe.stats"),
    M("interval-too-wide-by-one", "probe/measure/stats.c",
      """        if (below > 0.025)
            break;
        rank = k;""",
      """        rank = k;
        if (below > 0.025)
            break;""",
      "confidence intervals are too narrow",
      "probe.stats"),
    M("peer-from-and-to", "probe/measure/measure.c",
      "        return cu->cuMemcpyPeerAsync(dst, c->dst->device->context, src, "
      "c->src->device->context,",
      "        return cu->cuMemcpyPeerAsync(src, c->src->device->context, dst, "
      "c->dst->device->context,",
      "copies between GPUs are measured the other way round",
      "probe.command"),
    M("flush-not-the-source", "probe/measure/measure.c",
      """    xfp_flush_buffer(&s->sys, c->src, bytes);
    xfp_flush_buffer(&s->sys, c->dst, bytes);""",
      "    xfp_flush_buffer(&s->sys, c->dst, bytes);",
      "copies from host memory are measured out of the caches",
      "probe.flush"),
    M("flushed-in-batches", "probe/measure/measure.c",
      "        if (!b->gated || flushes(s, b->copy))",
      "        if (!b->gated)",
      "all but the first copy of a batch are measured out of the caches",
      "probe.flush"),
    M("gap-holds-bytes", "probe/measure/measure.c",
      " / (BURST - 1) - (double)bytes * G_ns_per_byte;",
      " / (BURST - 1);",
      "the gap of the model holds the bytes of its copies a second time",
      "probe.recover.made"),
    M("second-stream-ignored", "probe/measure/timed.c",
      "    *ns = second > *ns ? second : *ns;",
      "    *ns = second > 0 ? *ns : second;",
      "two copies at once take as long as the first",
      "probe.families"),
    M("records-add-less-than-nothing", "probe/measure/results.c",
      "    return ns > 0 ? ns : 0;",
      "    return ns;",
      "the probe writes a profile that no reader takes",
      "probe.added"),
    M("rows-from-wrong-offset", "probe/measure/pitched.c",
      "        if (memcmp(got + (p->to_device ? r * p->row : host_offset(p, r)),",
      "        if (r > 0 && memcmp(got + (p->to_device ? r * p->row : host_offset(p, r)),",
      "wrong data in the first row goes unnoticed",
      "probe.families"),
    M("blocking-copy-not-cleared", "probe/measure/measure.c",
      "        if (s->sys.verify && xfp_buffer_clear(&s->sys, c->dst, point->bytes))",
      """        if (s->sys.verify && !synchronous &&
            xfp_buffer_clear(&s->sys, c->dst, point->bytes))""",
      "a blocking copy that copies nothing is verified by what the asynchronous one brought",
      "probe.families"),
]
