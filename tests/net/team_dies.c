/* xferscope-team, a rank of which is killed when the files are read and its share is to be played.
 */
#include <signal.h>

#include "analyzer/findings/finding.h"
#include "analyzer/team/mpi_team.h"

void __wrap_xfa_findings_find(struct xfa_findings *findings, const struct xfa_analysis *analysis);

void __wrap_xfa_findings_find(struct xfa_findings *findings, const struct xfa_analysis *analysis)
{
    (void)findings;
    (void)analysis;
    raise(SIGKILL);
}

int main(int argc, char **argv)
{
    return xfa_mpi_team_main(argc, argv, XFERSCOPE_VERSION);
}
