/* A library that calls itself libunwind.so.8 and claims more frames than there is room for. */
#define EXPORTED __attribute__((visibility("default")))

EXPORTED int unw_backtrace(void **frames, int room);
EXPORTED int unw_backtrace(void **frames, int room)
{
    return 1 << 20;
}
