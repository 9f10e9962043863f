/* 200 threads that begin, copy twice and end, 20 at a time; some leave by pthread_exit or are
 * cancelled. */
#include <unistd.h>

#include "tests/hostile/hostile.h"

enum { ROUNDS = 10, THREADS = 20 };

static void *work(void *given)
{
    unsigned number = (unsigned)(uintptr_t)given;
    use_gpu();
    round_trips(number, 1);
    if (number % 3 == 0)
        pthread_exit(NULL);
    if (number % 3 == 1)
        for (;;)
            pause();
    return NULL;
}

int main(void)
{
    pthread_t threads[THREADS];
    begin();
    for (int round = 0; round < ROUNDS; round++) {
        for (uintptr_t i = 0; i < THREADS; i++)
            must(pthread_create(&threads[i], NULL, work, (void *)i) == 0, "pthread_create");
        for (unsigned i = 0; i < THREADS; i++) {
            if (i % 3 == 1) {
                usleep(100);
                pthread_cancel(threads[i]);
            }
            pthread_join(threads[i], NULL);
        }
    }
    say("all joined");
    moved();
    return 0;
}
