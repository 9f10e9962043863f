/* Sets errno before each call, right ones and wrong ones, and tells what it is after. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "tests/hostile/hostile.h"

static int worst;

static void look(int set)
{
    if (errno != set && simulated()) /* a real driver may change it */
        worst = errno;
}

static void *work(void *given)
{
    char bytes[256] = "";
    use_gpu();
    for (int i = 1; i < 130; i++) {
        errno = i;
        must(cu.htod(on_device + 4096, bytes, sizeof bytes) == 0, "up");
        look(i);
        count_copy(sizeof bytes);
        errno = i;
        must(cu.htod(0, bytes, sizeof bytes) != 0, "to nowhere");
        look(i);
        errno = i;
        cu.stream_sync(NULL);
        look(i);
    }
    return given;
}

int main(void)
{
    pthread_t thread;
    errno = 99;
    begin();
    look(99);
    must(pthread_create(&thread, NULL, work, NULL) == 0, "pthread_create");
    pthread_join(thread, NULL);
    work(NULL);
    say("errno %s", worst ? strerror(worst) : "kept");
    moved();
    return 0;
}
