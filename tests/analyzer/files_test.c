/* Files that users name: what is read is not waited for, what is written appears whole. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <dirent.h>
#include <fcntl.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "analyzer/base/files.h"

static char place[64];

static void put(const char *name, const char *text)
{
    FILE *file = fopen(name, "w");
    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
}

static void holds(const char *name, const char *text)
{
    size_t bytes = 0;
    const char *why;
    char *found = xfa_read_whole(name, 1 << 20, &bytes, &why);
    assert_non_null(found);
    assert_int_equal(bytes, strlen(text));
    assert_string_equal(found, text);
    free(found);
}

static size_t entries(const char *folder)
{
    DIR *directory = opendir(folder);
    size_t count = 0;
    while (readdir(directory))
        count++;
    closedir(directory);
    return count - 2;
}

static void replace(const char *name, const char *text)
{
    struct xfa_replacement r;
    assert_null(xfa_replace_refused(name));
    assert_int_equal(xfa_replace_begin(&r, name), 0);
    fputs(text, r.stream);
    assert_int_equal(xfa_replace_end(&r), 0);
}

static void refused(const char *name, const char *why)
{
    struct xfa_replacement r;
    assert_int_equal(xfa_replace_begin(&r, name), -1);
    assert_string_equal(r.why, why);
    assert_string_equal(xfa_replace_refused(name), why);
}

static mode_t mode_of(const char *name)
{
    struct stat status;
    assert_int_equal(stat(name, &status), 0);
    return status.st_mode & 07777;
}

/* ---- reading ---------------------------------------------------------------------------- */

static void only_regular_files_are_read(void **state)
{
    (void)state;
    const char *why = NULL;
    size_t bytes = 0;
    assert_int_equal(mkfifo("pipe", 0600), 0);
    assert_int_equal(symlink("pipe", "link-to-pipe"), 0);
    assert_int_equal(mkdir("folder", 0700), 0);
    static const char *const names[] = {"pipe", "link-to-pipe", "/dev/zero"};
    alarm(20); /* nobody writes into the pipe */
    for (size_t i = 0; i < 3; i++) {
        assert_null(xfa_read_whole(names[i], 1 << 20, &bytes, &why));
        assert_string_equal(why, "not a regular file");
        assert_int_equal(xfa_open_regular(names[i], &why), -1);
    }
    alarm(0);
    assert_null(xfa_read_whole("folder", 1 << 20, &bytes, &why));
    assert_string_equal(why, "Is a directory");
    assert_null(xfa_read_whole("none", 1 << 20, &bytes, &why));
    assert_string_equal(why, "No such file or directory");
    put("small", "12345678");
    assert_int_equal(symlink("small", "link-to-small"), 0);
    holds("link-to-small", "12345678");
    assert_null(xfa_read_whole("small", 7, &bytes, &why));
    assert_string_equal(why, "File too large");
    int fd = xfa_open_regular("small", &why);
    assert_true(fd >= 0);
    close(fd);
}

/* Files of /proc say that they have no bytes. */
static void sizes_are_hints(void **state)
{
    (void)state;
    size_t bytes = 0;
    const char *why;
    char *text = xfa_read_whole("/proc/self/maps", 1 << 20, &bytes, &why);
    assert_non_null(text);
    assert_true(bytes > 100);
    free(text);
    assert_null(xfa_read_whole("/proc/self/maps", 100, &bytes, &why));
    assert_string_equal(why, "File too large");
}

/* ---- writing ---------------------------------------------------------------------------- */

static void links_stay_links(void **state)
{
    (void)state;
    char at[64];
    assert_int_equal(mkdir("other", 0700), 0);
    put("other/target", "old");
    assert_int_equal(symlink("other/target", "link"), 0);
    assert_int_equal(symlink("link", "link-to-link"), 0);
    replace("link-to-link", "new");
    holds("other/target", "new");
    assert_true(readlink("link", at, sizeof at) > 0);
    assert_int_equal(entries("other"), 1);
    /* to a file that is not there yet, by a path that begins where the link is */
    assert_int_equal(symlink("fresh", "other/dangling"), 0);
    replace("other/dangling", "made");
    holds("other/fresh", "made");
    assert_true(readlink("other/dangling", at, sizeof at) > 0);
    assert_int_equal(symlink("round", "round"), 0);
    refused("round", "Too many levels of symbolic links");
}

static void modes_are_kept(void **state)
{
    (void)state;
    mode_t mask = umask(022);
    put("secret", "old");
    assert_int_equal(chmod("secret", 0620), 0);
    replace("secret", "new");
    assert_int_equal(mode_of("secret"), 0620);
    replace("report", "new");
    assert_int_equal(mode_of("report"), 0644);
    umask(mask);
    assert_int_equal(entries("."), 2);
}

/* For root as well, whom the system would let. */
static void what_is_read_only_stays(void **state)
{
    (void)state;
    put("kept", "old");
    assert_int_equal(chmod("kept", 0444), 0);
    assert_int_equal(symlink("kept", "link"), 0);
    refused("kept", "the file is read-only");
    refused("link", "the file is read-only");
    holds("kept", "old");
    refused(".", "Is a directory");
    refused("none/report", "No such file or directory");
}

static void what_is_no_file_is_written_directly(void **state)
{
    (void)state;
    struct xfa_replacement r;
    struct stat status;
    replace("/dev/null", "gone");
    assert_int_equal(stat("/dev/null", &status), 0);
    assert_true(S_ISCHR(status.st_mode));
    assert_int_equal(xfa_replace_begin(&r, "/dev/full"), 0);
    fputs("text", r.stream);
    assert_int_equal(xfa_replace_end(&r), -1);
    assert_string_equal(r.why, "No space left on device");
}

static void what_is_given_up_leaves_nothing(void **state)
{
    (void)state;
    struct xfa_replacement r;
    put("report", "old");
    assert_int_equal(xfa_replace_begin(&r, "report"), 0);
    fputs("half", r.stream);
    xfa_replace_drop(&r);
    holds("report", "old");
    assert_int_equal(entries("."), 1);
}

/* What a child does to the file: 0 when it ended as it should. */
static int in_child(void (*act)(void))
{
    int status;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        act();
        _exit(1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    return status;
}

static void write_beyond_the_limit(void)
{
    struct xfa_replacement r;
    struct rlimit limit = {100000, 100000};
    static char text[300000];
    signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &limit);
    if (xfa_replace_begin(&r, "report") != 0)
        return;
    fwrite(text, 1, sizeof text, r.stream);
    if (xfa_replace_end(&r) != 0 && strcmp(r.why, "File too large") == 0)
        _exit(0);
}

static void what_does_not_fit_leaves_the_old(void **state)
{
    (void)state;
    put("report", "old");
    assert_int_equal(in_child(write_beyond_the_limit), 0);
    holds("report", "old");
    assert_int_equal(entries("."), 1);
}

static void be_killed_amid(void)
{
    struct xfa_replacement r;
    if (xfa_replace_begin(&r, "report") != 0)
        return;
    fputs("half", r.stream);
    fflush(r.stream);
    raise(SIGKILL);
}

static void who_is_killed_leaves_the_old(void **state)
{
    (void)state;
    int unnamed = open(".", O_WRONLY | O_TMPFILE, 0600);
    put("report", "old");
    int status = in_child(be_killed_amid);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    holds("report", "old");
    if (unnamed >= 0) /* else the new file has a name from the start */
        assert_int_equal(entries("."), 1);
    close(unnamed);
}

static int enter(void **state)
{
    (void)state;
    snprintf(place, sizeof place, "/tmp/xferscope-files-XXXXXX");
    return !mkdtemp(place) || chdir(place);
}

static int leave(void **state)
{
    (void)state;
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s", place);
    return chdir("/") || system(command);
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, enter, leave)

int main(void)
{
    mallopt(M_PERTURB, 0x55); /* new memory has no zeros by chance */
    const struct CMUnitTest tests[] = {
        IN_FOLDER(only_regular_files_are_read),
        IN_FOLDER(sizes_are_hints),
        IN_FOLDER(links_stay_links),
        IN_FOLDER(modes_are_kept),
        IN_FOLDER(what_is_read_only_stays),
        IN_FOLDER(what_is_no_file_is_written_directly),
        IN_FOLDER(what_is_given_up_leaves_nothing),
        IN_FOLDER(what_does_not_fit_leaves_the_old),
        IN_FOLDER(who_is_killed_leaves_the_old),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
