/* xferscope-net. */
#include "probe/net/net.h"

int main(int argc, char **argv)
{
    return xfp_net_main(argc, argv, XFERSCOPE_VERSION);
}
