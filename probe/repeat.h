/*
 * Repeating one measurement of a copy: the copy (measure.h) and the rules (sample.h).
 */
#ifndef XFP_REPEAT_H
#define XFP_REPEAT_H

#include "measure.h"
#include "sample.h"

typedef xfp_once *xfp_go;

#endif
