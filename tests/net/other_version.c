/* xferscope-net of another version: ranks that disagree. */
#include "probe/net/net.h"

int main(int argc, char **argv)
{
    return xfp_net_main(argc, argv, "0.0.1");
}
