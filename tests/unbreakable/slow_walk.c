/*
 * Preloaded into a program: each walk through its modules stays at the first one for a while, with
 * the loader's lock held, so that a fork falls into it. A child would never get that lock back.
 */
#include <dlfcn.h>
#include <link.h>
#include <stdint.h>
#include <time.h>

enum { STAY_NS = 20000000 };

typedef int visit_function(struct dl_phdr_info *info, size_t size, void *user);
typedef int walk_function(visit_function *visit, void *user);

struct walk {
    visit_function *visit;
    void *user;
    int modules;
};

static int slowly(struct dl_phdr_info *info, size_t size, void *user)
{
    struct walk *walk = user;
    if (walk->modules++ == 0)
        nanosleep(&(struct timespec){0, STAY_NS}, NULL);
    return walk->visit(info, size, walk->user);
}

__attribute__((visibility("default"))) int dl_iterate_phdr(visit_function *visit, void *user)
{
    walk_function *real = (walk_function *)(uintptr_t)dlsym(RTLD_NEXT, "dl_iterate_phdr");
    struct walk walk = {visit, user, 0};
    return real(slowly, &walk);
}
