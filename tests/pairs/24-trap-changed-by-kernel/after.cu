/*
 * The same program: the upload cannot be left out, the results would be others.
 */
#include "before.cu"
