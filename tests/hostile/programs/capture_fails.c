/* Captures streams in ways that fail: a forbidden call meanwhile, an unjoined stream, an end
 * without a beginning. */
#include "tests/hostile/hostile.h"

static xcu_result (*begin_capture)(xcu_stream, int);
static xcu_result (*end_capture)(xcu_stream, xcu_graph *);
static xcu_result (*instantiate)(xcu_graph_exec *, xcu_graph, unsigned long long);
static xcu_result (*launch)(xcu_graph_exec, xcu_stream);
static xcu_result (*host_alloc)(void **, size_t, unsigned);

static void find(void *slot, const char *name)
{
    must((*(void **)slot = driver_function(name)) != NULL, name);
}

static void capture(xcu_stream stream, void *pinned, int how)
{
    xcu_graph graph = NULL;
    xcu_graph_exec exec;
    int results[4] = {-1, -1, -1, -1};
    results[0] = begin_capture(stream, how == 2 ? 0 : 2);
    cu.htod_async(on_device, pinned, 4096, stream);
    if (how == 1)
        results[1] = cu.stream_sync(stream); /* ends it */
    if (how == 2 && (results[1] = cu.htod(on_device, pinned, 64)) == 0)
        count_copy(64); /* else this ends it, too: the driver decides */
    results[2] = end_capture(stream, &graph);
    results[3] = end_capture(stream, &graph);
    say("capture %d: %d %d %d %d", how, results[0], results[1], results[2], results[3]);
    if (results[2] == 0 && instantiate(&exec, graph, 0) == 0 && launch(exec, stream) == 0)
        count_copy(4096);
    cu.stream_sync(stream);
}

int main(void)
{
    xcu_stream stream;
    void *pinned;
    begin();
    find(&begin_capture, "cuStreamBeginCapture_v2");
    find(&end_capture, "cuStreamEndCapture");
    find(&instantiate, "cuGraphInstantiateWithFlags");
    find(&launch, "cuGraphLaunch");
    find(&host_alloc, "cuMemHostAlloc");
    must(cu.stream_create(&stream, 1) == 0 && host_alloc(&pinned, 4096, 0) == 0, "a stream");
    for (int i = 0; i < 30; i++) {
        capture(stream, pinned, i % 3);
        must(cu.htod_async(on_device, pinned, 2048, stream) == 0 && cu.stream_sync(stream) == 0,
             "a copy after it");
        count_copy(2048);
        round_trip(0, 100);
    }
    moved();
    return 0;
}
