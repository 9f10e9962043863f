/* Copies in exit handlers and in a destructor of a thread's memory. */
#include <stdio.h>
#include <stdlib.h>

#include "tests/hostile/hostile.h"

static pthread_key_t key;

static void last(void)
{
    round_trips(2, 10);
    say("handler after the first call");
    moved();
}

static void first(void)
{
    round_trips(3, 10);
    say("handler within a handler");
}

static void middle(void)
{
    atexit(first);
    round_trips(1, 10);
}

static void destroy(void *slot)
{
    round_trips((unsigned)(uintptr_t)slot, 5);
    say("destructor");
}

static void work(unsigned number)
{
    use_gpu();
    round_trips(number, 10);
    pthread_setspecific(key, (void *)(uintptr_t)(7 + number));
}

int main(void)
{
    must(pthread_key_create(&key, destroy) == 0, "pthread_key_create");
    begin();
    atexit(last);
    atexit(middle);
    in_threads(2, 0, work);
    return 13;
}
