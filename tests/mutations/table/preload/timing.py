"""Changes in preload/timing/; tests/mutations/row.py says how a row reads."""
from row import M

ROWS = [
    M("copy-beside-a-capture-uncounted", "preload/timing/event_pairs.c",
      "    if (left_out && has_moved(copy))",
      "    if (0)",
      "copies beside a capture lack their times in silence",
      "e2e.timing"),
    M("device-direction", "preload/timing/convert.c",
      "[XCP_COPY_ATOH] = XFT_DIR_D2H",
      "[XCP_COPY_ATOH] = XFT_DIR_H2D",
      "copies from arrays join the wrong direction's figures",
      "gpu.timing.directions"),
    M("kernel-third-dimension", "preload/timing/convert.c",
      """    for (int i = 0; i < 3; i++)
        threads""",
      """    for (int i = 0; i < 2; i++)
        threads""",
      "kernels launched in three dimensions have too few threads",
      "gpu.timing.kernel"),
    M("peer-copy-not-async", "preload/timing/convert.c",
      """    e->flags = r->flags & XCP_MEMCPY_ASYNC ? XFT_ASYNC : 0;
    e->count = 1;
    e->correlation = r->correlation;
    e->device = (int16_t)r->device;
    e->aux = r->stream;
    e->src_place = (int16_t)r->src_device;""",
      """    e->flags = 0;
    e->count = 1;
    e->correlation = r->correlation;
    e->device = (int16_t)r->device;
    e->aux = r->stream;
    e->src_place = (int16_t)r->src_device;""",
      "device copies between GPUs lose the mark that they are asynchronous",
      "gpu.timing.peer_and_memset"),
    M("migration-device-of-source", "preload/timing/convert.c",
      "    e->device = (int16_t)(e->direction == XFT_DIR_D2H ? e->src_place : e->dst_place);",
      "    e->device = (int16_t)(e->direction == XFT_DIR_H2D ? e->dst_place : e->src_place);",
      "migrations between GPUs are booked on the one that pages leave",
      "gpu.timing.migrations"),
    M("fault-groups-are-one", "preload/timing/convert.c",
      "    e->count = host ? 1 : (uint32_t)r->value;",
      "    e->count = 1;",
      "a group of page faults counts as one",
      "gpu.timing.faults"),
    M("time-backwards-kept", "preload/timing/convert.c",
      "(!moment && common->end < common->start)",
      "(moment && common->end < common->start)",
      "a copy that ends before it starts gets an absurd time",
      "gpu.timing.losses"),
    M("dropped-records-hidden", "preload/timing/records.c",
      """XCP_SUCCESS && dropped > 0)
        xfs_count_device_lost(dropped);""",
      """XCP_SUCCESS && dropped > 1000)
        xfs_count_device_lost(dropped);""",
      "device times that CUPTI dropped are missing in silence",
      "gpu.timing.losses"),
    M("buffer-not-cleared", "preload/timing/records.c",
      """        memset(memory, 0, filled);
    else""",
      """        memset(memory, 0, filled / 2);
    else""",
      "CUPTI finds old records in a buffer that was promised to be empty",
      "gpu.timing.part_filled"),
    M("queue-end-lost", "preload/timing/records.c",
      """        if (queue_first == NULL)
            queue_end = &queue_first;
""",
      "",
      "after the first buffer all device times are lost",
      "gpu.timing.many"),
    M("inner-calls-number", "preload/timing/timing.c",
      "    if (d->site == XCP_SITE_ENTER && xfs_timing_seen == 0)",
      "    if (d->site == XCP_SITE_ENTER)",
      "copies are given the times of other copies",
      "gpu.timing.correlation"),
    M("counters-all-or-none", "preload/timing/cupti_load.c",
      """    if (result != XCP_SUCCESS)
        result = configure(cupti, COUNTERS - 1);
""",
      "",
      "platforms without one counter have no managed memory in the report",
      "gpu.timing.managed_fewer"),
    M("records-end-untold", "preload/timing/timing.c",
      """    say_records(0);
""",
      "",
      "the trace says that device records come where another profiler has taken CUPTI over",
      "gpu.timing.yield"),
    M("records-of-kernels-claimed", "preload/timing/timing.c",
      "    say_records(XFT_RECORDS_COPIES | (kernels ? XFT_RECORDS_KERNELS : 0));",
      "    say_records(XFT_RECORDS_COPIES | XFT_RECORDS_KERNELS);",
      "the trace says that records of kernels come when CUPTI has refused them",
      "gpu.timing.kernels_refused"),
    M("records-of-memsets-left-on", "preload/timing/timing.c",
      "{XCP_ACTIVITY_MEMCPY, XCP_ACTIVITY_MEMCPY2, XCP_ACTIVITY_MEMSET,",
      "{XCP_ACTIVITY_MEMCPY, XCP_ACTIVITY_MEMCPY2,",
      "another profiler that takes CUPTI over is sent memsets that it did not ask for",
      "gpu.timing.yield"),
    M("wait-for-managed-not-told", "preload/timing/timing.c",
      "        xfs_cost_unusual(XFT_OVERHEAD_DEVICE);",
      "        (void)xfs_cost_unusual;",
      "a call that had to wait for records of managed memory is taken to have left the program so long",
      "gpu.timing.own_thread"),
    M("long-rest-before-managed", "preload/timing/collector.c",
      "        collector.soon = SOON_RESTS;",
      "        collector.soon = 0;",
      "the first call that allocates managed memory waits for a tenth of a second",
      "gpu.timing.own_thread"),
    M("refused-buffer-missed", "preload/timing/records.c",
      """    made--;
""",
      """    made -= 0;
""",
      "when memory was short for a while, device times are lost for the whole run",
      "preload.records"),
    M("pairs-duration-unit", "preload/timing/event_pairs.c",
      "    e.end_ns = e.start_ns + (uint64_t)((double)took * 1e6);",
      "    e.end_ns = e.start_ns + (uint64_t)((double)took * 1e3);",
      "event timing gives a thousandth of the copies' times",
      "e2e.timing"),
    M("pairs-call-without-number", "preload/timing/event_pairs.c",
      "        at_work->copy.correlation = xfs_timing_seen = numbers;",
      "        at_work->copy.correlation = numbers;",
      "event timing's times find no call",
      "e2e.timing"),
    M("collector-keeps-the-process", "preload/timing/collector.c",
      "    xfs_last_thread_own();\n",
      "",
      "a process whose first thread has left never ends where device times are taken",
      "hostile.end_by_last_thread"),
    M("pairs-without-device", "preload/timing/event_pairs.c",
      "    e->device = copy->device;\n",
      "",
      "event timing has all copies on the first GPU",
      "e2e.timing"),
    M("pairs-failed-copies-too", "preload/timing/event_pairs.c",
      "    return copy->kind == XFT_EVENT_TRANSFER && copy->status == 0 && copy->bytes > 0 &&",
      "    return copy->kind == XFT_EVENT_TRANSFER &&",
      "event timing gives a copy that failed a time",
      "e2e.timing"),
]
