/* The probe as a program of its own, for tests that need no other part of the command. */
#include "probe/probe.h"

int main(int argc, char **argv)
{
    return xfp_probe_command(argc, argv);
}
