/* xferscope-team of another version: ranks that disagree. */
#include "analyzer/team/mpi_team.h"

int main(int argc, char **argv)
{
    return xfa_mpi_team_main(argc, argv, "0.0.1");
}
