/*
 * How a drawn program waits: for functions of the host, or its own thread's work, for a lock, for
 * what another thread does, for a time, and by queries.
 */
#ifndef XFERSCOPE_DRAWN_WAITS_H
#define XFERSCOPE_DRAWN_WAITS_H

#include "form.h"

#include <thread>

/* ---- functions of the host ---- */

static void do_job(const struct job *job)
{
    const struct statement work = {'R', 0, {job->ns, job->read}};

    host_work(&work, false);
}

static void work_in_stream(void *job)
{
    do_job((const struct job *)job);
}

/* The thread of the program's own, which does one job after the other until the process ends. The
 * simulated clock does not know it: there it is a time from which on it is idle. */
struct worker {
    std::mutex lock;
    std::condition_variable changed;
    std::deque<struct job *> jobs;
    bool begun;
    unsigned long long idle_ns;
};
static struct worker &worker = *new struct worker(); /* never freed: the thread waits there */

static void work_in_thread(void)
{
    std::unique_lock<std::mutex> held(worker.lock);

    for (;;) {
        worker.changed.wait(held, [] { return !worker.jobs.empty(); });
        struct job *job = worker.jobs.front();
        worker.jobs.pop_front();
        held.unlock();
        do_job(job);
        held.lock();
        job->done = true;
        worker.changed.notify_all();
    }
}

static void hand_over(void *data)
{
    struct job *job = (struct job *)data, rest = {0, job->read, false, 0};

    if (pair_simulated("xferscope_simgpu_now_ns")) {
        do_job(&rest); /* it is done when it may be */
        worker.idle_ns = std::max(worker.idle_ns, pair_now_ns()) + job->ns;
        job->end_ns = worker.idle_ns;
        return;
    }
    std::lock_guard<std::mutex> held(worker.lock);
    if (!worker.begun)
        std::thread(work_in_thread).detach();
    worker.begun = true;
    worker.jobs.push_back(job);
    worker.changed.notify_all();
}

/* job, ns, buffer + 1, stream, a thread of the program's own does it */
INLINE void call_in_stream(const struct statement *s)
{
    struct job *job = &now->jobs[N(0)];

    *job = {N(1), N(2), false, 0};
    PAIR_CHECK(cudaLaunchHostFunc(now->streams[N(3)], N(4) ? hand_over : work_in_stream, job));
}

/* A job of that thread. */
INLINE void wait_for_job(const struct statement *s)
{
    const struct job *job = &now->jobs[N(0)];
    unsigned long long at = pair_now_ns();

    if (pair_simulated("xferscope_simgpu_now_ns")) {
        if (job->end_ns > at)
            pair_host_work(job->end_ns - at);
        return;
    }
    std::unique_lock<std::mutex> held(worker.lock);
    worker.changed.wait(held, [job] { return job->done; });
}

/* The host does nothing for ns, on the simulated GPU too. (Threads have their clocks already.) */
static void sleep_ns(unsigned long long ns)
{
    static void (*simulated)(unsigned long long) =
        (void (*)(unsigned long long))pair_simulated("xferscope_simgpu_sleep_ns");
    struct timespec t = {(time_t)(ns / 1000000000), (long)(ns % 1000000000)};

    if (simulated)
        simulated(ns);
    else
        nanosleep(&t, NULL);
}

/* The lock of all threads. On the simulated GPU those with clocks of their own wait for it by
 * these, and a thread that has waited is woken up. */
enum { WAKE_NS = 5000 }; /* what that takes: a guess */
static std::mutex &threads_lock = *new std::mutex();

INLINE void lock(bool take)
{
    typedef void lock_function(const void *);
    static lock_function *taken = (lock_function *)pair_simulated("xferscope_simgpu_lock"),
                         *given = (lock_function *)pair_simulated("xferscope_simgpu_unlock");

    if (take && taken) {
        unsigned long long came = pair_now_ns();
        taken(&threads_lock);
        if (pair_now_ns() > came)
            pair_host_work(WAKE_NS);
    }
    if (take) {
        threads_lock.lock();
        return;
    }
    threads_lock.unlock();
    if (given)
        given(&threads_lock);
}

/* One that another thread has added, or will. It wakes up in the same time, in which the processor
 * has nothing to do. */
INLINE void take_one(struct semaphore *semaphore)
{
    static void (*simulated)(unsigned *) =
        (void (*)(unsigned *))pair_simulated("xferscope_simgpu_take");
    unsigned long long came = pair_now_ns();

    if (simulated) {
        simulated(&semaphore->simulated);
        if (pair_now_ns() > came)
            sleep_ns(WAKE_NS);
    }
    std::unique_lock<std::mutex> held(semaphore->lock);
    semaphore->changed.wait(held, [semaphore] { return semaphore->count > 0; });
    semaphore->count--;
}

INLINE void post(struct semaphore *semaphore, unsigned times)
{
    static void (*simulated)(unsigned *) =
        (void (*)(unsigned *))pair_simulated("xferscope_simgpu_post");

    for (unsigned i = 0; i < times; i++) {
        {
            std::lock_guard<std::mutex> held(semaphore->lock);
            semaphore->count++;
        }
        semaphore->changed.notify_one();
        if (simulated)
            simulated(&semaphore->simulated);
    }
}

/* ns, 1: since the last such pause of the thread was over, and not at all if that is longer ago. */
INLINE void rest(const struct statement *s)
{
    static thread_local unsigned long long due_ns;
    unsigned long long at = pair_now_ns();

    due_ns = N(1) && due_ns ? std::max(due_ns + N(0), at) : N(1) ? at : at + N(0);
    if (due_ns > at)
        sleep_ns(due_ns - at);
}

/* ---- queries ---- */

/* of an event, which stream or event, ns between queries (0: none), work of the host: 0: it sleeps
 * meanwhile; else it does this work meanwhile, in parts of so many ns, and behind that the rest. */
INLINE void poll(const struct statement *s)
{
    unsigned long long work = N(3);
    cudaError_t error;

    while ((error = N(0) ? cudaEventQuery(now->events[N(1)])
                         : cudaStreamQuery(now->streams[N(1)])) == cudaErrorNotReady) {
        unsigned long long part = std::min(N(2), work);
        if (part)
            pair_host_work(part);
        else if (N(2) && !N(3))
            sleep_ns(N(2));
        work -= part;
    }
    PAIR_CHECK(error);
    cudaGetLastError(); /* else a later check finds that it was not ready */
    if (work)
        pair_host_work(work);
}

#endif
