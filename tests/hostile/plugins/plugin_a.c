/* A plugin. */
#define NUMBER 5
#include "tests/hostile/plugins/plugin.h"
