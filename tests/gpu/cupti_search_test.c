/*
 * Looking for CUPTI where something else has its name: FIFOs, which would block whoever opens them,
 * and folders. Ends by the test's time limit when one of them is opened.
 */
#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "preload/timing/cupti_load.h"

#define NAME "libcupti.so.13"

static char root[] = "/tmp/cupti_search.XXXXXX";
static char found[4096];

static void make(const char *parents, int (*entry)(const char *, mode_t))
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s/" NAME, root, parents);
    for (char *slash = path + sizeof root; (slash = strchr(slash, '/')) != NULL; slash++) {
        *slash = '\0';
        mkdir(path, 0700);
        *slash = '/';
    }
    assert_int_equal(entry(path, 0700), 0);
}

static int link_fake(const char *path, mode_t mode)
{
    return symlink(FAKE_CUPTI, path);
}

/* Notes all copies below the root; takes none, so that the search goes everywhere. */
static bool note(const struct xcp_library *library, const char *path, void *user)
{
    if (strncmp(path, root, strlen(root)) == 0 || strchr(path, '/') == NULL)
        snprintf(found + strlen(found), sizeof found - strlen(found), "%s\n",
                 strchr(path, '/') ? path + sizeof root : path);
    return false;
}

static struct xfs_cupti_search search = {.symbol = dlsym, .accept = note};

static int set_up(void **state)
{
    assert_non_null(mkdtemp(root));
    return 0;
}

static int tear_down(void **state)
{
    char command[sizeof root + 16];
    snprintf(command, sizeof command, "rm -rf %s", root);
    return system(command);
}

static void test_toolkits(void **state)
{
    make("home/extras/CUPTI/lib64", mkfifo);
    make("home/lib64", mkdir);
    make("home/targets/x86_64-linux/lib", link_fake);
    make("path/lib64", mkfifo);
    make("path/lib", link_fake);
    char home[64], path[64];
    snprintf(home, sizeof home, "%s/home", root);
    snprintf(path, sizeof path, "%s/path", root);
    setenv("CUDA_HOME", home, 1);
    setenv("CUDA_PATH", path, 1);
    assert_false(xfs_cupti_find(&search));
    assert_non_null(strstr(found, "home/targets/x86_64-linux/lib/" NAME "\npath/lib/" NAME "\n"));
    unsetenv("CUDA_HOME");
    unsetenv("CUDA_PATH");
}

static void test_one_folder(void **state)
{
    make("only", mkfifo);
    char only[64];
    snprintf(only, sizeof only, "%s/only", root);
    search.only_in = only;
    assert_false(xfs_cupti_find(&search));
    search.only_in = NULL;
    assert_string_equal(found, "");
}

/* The test is started with LD_LIBRARY_PATH, which the loader reads then only: what lies there
 * stands in the way of a search by name. */
static void test_search_path(void **state)
{
    const char *folder = getenv("LD_LIBRARY_PATH");
    char path[4096];
    assert_non_null(folder);
    snprintf(path, sizeof path, "%s/" NAME, folder);
    mkdir(folder, 0700);
    unlink(path);
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_false(xfs_cupti_find(&search));
    assert_null(strstr(found, NAME));
    unlink(path);
    rmdir(folder);
}

static int forget(void **state)
{
    found[0] = '\0';
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_toolkits, forget),
        cmocka_unit_test_setup(test_one_folder, forget),
        cmocka_unit_test_setup(test_search_path, forget),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
