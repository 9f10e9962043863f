/* Uses up all its descriptors after its first copies, stays so for more than a second, makes
 * streams and page-locked memory meanwhile, and ends so. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "tests/hostile/hostile.h"

static xcu_result (*host_alloc)(void **, size_t, unsigned);
static xcu_result (*host_free)(void *);

static void use_more(void)
{
    xcu_stream stream;
    void *pinned;
    must(cu.stream_create(&stream, 1) == 0, "a stream");
    must(host_alloc(&pinned, SLOT_BYTES, 0) == 0, "page-locked memory");
    must(cu.htod_async(on_device, pinned, 64, stream) == 0, "a copy");
    count_copy(64);
    must(cu.stream_sync(stream) == 0 && host_free(pinned) == 0, "its end");
}

static void work(unsigned number)
{
    use_gpu();
    for (int i = 0; i < 12; i++) {
        round_trips(number, 10);
        usleep(100000);
    }
}

int main(void)
{
    rlim_t most = simulated() ? 64 : 512;
    must(setrlimit(RLIMIT_NOFILE, &(struct rlimit){most, most}) == 0, "setrlimit");
    begin();
    *(void **)&host_alloc = driver_function("cuMemHostAlloc");
    *(void **)&host_free = driver_function("cuMemFreeHost");
    round_trips(0, 100);
    while (open("/dev/null", O_RDONLY) >= 0)
        continue;
    say("then %s", strerror(errno));
    in_threads(3, 0, work);
    use_more();
    moved();
    return 0;
}
