/*
 * analyzer_driver, with what goes wrong for processes that it forks (analyzer/base/forked_team.h):
 * of these XFERSCOPE_TEST_FORKS can be made (without it all), and with XFERSCOPE_TEST_DIES each is
 * killed once it has read its files. A line "forked" on standard error for each that is made.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "analyzer/analyzer.h"
#include "analyzer/findings/finding.h"

pid_t __real_fork(void);
pid_t __wrap_fork(void);
void __real_xfa_findings_find(struct xfa_findings *findings, const struct xfa_analysis *analysis);
void __wrap_xfa_findings_find(struct xfa_findings *findings, const struct xfa_analysis *analysis);

static pid_t first;

pid_t __wrap_fork(void)
{
    static int made;
    const char *most = getenv("XFERSCOPE_TEST_FORKS");
    if (most && made >= atoi(most)) {
        errno = EAGAIN;
        return -1;
    }
    made++;
    fputs("forked\n", stderr);
    return __real_fork();
}

void __wrap_xfa_findings_find(struct xfa_findings *findings, const struct xfa_analysis *analysis)
{
    if (getenv("XFERSCOPE_TEST_DIES") && getpid() != first)
        raise(SIGKILL);
    __real_xfa_findings_find(findings, analysis);
}

int main(int argc, char **argv)
{
    first = getpid();
    return argc > 1 ? xfa_analyze_command(argc - 1, argv + 1) : XFA_USAGE;
}
