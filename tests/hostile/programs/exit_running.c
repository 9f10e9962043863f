/* Ends by exit() while six threads copy. */
#include <stdlib.h>
#include <unistd.h>

#include "tests/hostile/hostile.h"

static void *work(void *slot)
{
    char out[256] = "text";
    bool on = try_gpu();
    for (;;)
        if (!on || cu.htod(on_device + (uintptr_t)slot * SLOT_BYTES, out, sizeof out) != 0)
            pause(); /* the driver has ended */
    return NULL;
}

int main(void)
{
    pthread_t thread;
    begin();
    round_trips(100, 100);
    for (uintptr_t i = 0; i < 6; i++)
        must(pthread_create(&thread, NULL, work, (void *)i) == 0, "pthread_create");
    usleep(3000);
    moved_at_least();
    exit(21);
}
