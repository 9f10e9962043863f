/* xferscope-team. */
#include "analyzer/team/mpi_team.h"

int main(int argc, char **argv)
{
    return xfa_mpi_team_main(argc, argv, XFERSCOPE_VERSION);
}
