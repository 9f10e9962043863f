/* A plugin of the same size, so that it comes to lie at the same place. */
#define NUMBER 7
#include "tests/hostile/plugins/plugin.h"
