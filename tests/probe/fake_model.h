/*
 * The transfer model of the fake driver's paths: ns and ns per byte. What the probe must find.
 */
#ifndef FAKE_MODEL_H
#define FAKE_MODEL_H

enum { FAKE_REMOTE_NS = 640 }; /* what the other NUMA node adds */

struct fake_path {
    double Lo, g, G;
};

static const struct fake_path fake_h2d = {2000, 400, 0.020}, fake_d2h = {3000, 500, 0.018},
                              fake_d2d = {1500, 300, 0.0008}, fake_peer = {1800, 350, 0.0025},
                              fake_no_peer = {9000, 4000, 0.027};

#endif
