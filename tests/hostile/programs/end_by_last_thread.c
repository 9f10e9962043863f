/* Its first thread leaves by pthread_exit, before, between or without copies of its own; others
 * copy on, one that never copied is the last. Then the process has ended, with its exit handlers.
 */
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/hostile/hostile.h"

enum { THREADS = 3, LAST_MS = 200 };

static atomic_int ended;
static atomic_bool *last_ended; /* shared with the parent */

static void *work(void *slot)
{
    use_gpu();
    usleep(2000);
    round_trips((unsigned)(uintptr_t)slot, 100);
    ended++;
    return NULL;
}

static void *be_last(void *unused)
{
    while (ended < THREADS)
        usleep(1000);
    usleep(LAST_MS * 1000);
    say("the last thread ends");
    *last_ended = true;
    return unused;
}

static void be_left(void (*leave)(void))
{
    pthread_t thread;
    printf("what was printed before\n");
    atexit(moved);
    begin();
    for (uintptr_t i = 0; i < THREADS; i++)
        must(pthread_create(&thread, NULL, work, (void *)i) == 0, "pthread_create");
    must(pthread_create(&thread, NULL, be_last, NULL) == 0, "pthread_create");
    leave();
}

/* ---- ways to leave ------------------------------------------------------------------------ */

static void leave_now(void)
{
    pthread_exit(NULL);
}

static void leave_after_copies(void)
{
    round_trips(THREADS, 10);
    pthread_exit(NULL);
}

static void leave_cancelled(void)
{
    round_trips(THREADS, 10);
    pthread_cancel(pthread_self());
    pause();
}

static void *be_left_here(void *leave)
{
    be_left((void (*)(void))leave);
    return NULL;
}

/* The first thread has left before CUDA is called. */
static void leave_early(void)
{
    pthread_t thread;
    must(pthread_create(&thread, NULL, be_left_here, (void *)leave_now) == 0, "pthread_create");
    pthread_exit(NULL);
}

/* A real driver's threads may keep it: then it is so alone, too. */
static void look_at(pid_t child, const char *name)
{
    int status = 0, patience_ms = simulated() ? 20000 : 2000;
    for (int i = 0; i < 20000 && !*last_ended; i++)
        usleep(1000);
    for (int i = 0; i < patience_ms; i++) {
        if (waitpid(child, &status, WNOHANG) == child) {
            say("%s: it ended: %x", name, status);
            return;
        }
        usleep(1000);
    }
    kill(child, SIGKILL);
    await(child, name);
    moved_at_least(); /* what it moved it could not say */
}

/* Its last thread says in *last_ended that it ends. */
static pid_t start_child(void)
{
    *last_ended = false;
    return fork();
}

int main(void)
{
    static const struct {
        const char *name;
        void (*leave)(void);
    } ways[] = {{"at once", leave_now},
                {"after copies", leave_after_copies},
                {"cancelled", leave_cancelled}};
    last_ended =
        mmap(NULL, sizeof *last_ended, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    must(last_ended != MAP_FAILED, "mmap");
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        pid_t child = start_child();
        if (child == 0)
            be_left(ways[i].leave);
        look_at(child, ways[i].name);
    }
    pid_t child = start_child();
    if (child == 0)
        leave_early();
    look_at(child, "early");
    return 0;
}
