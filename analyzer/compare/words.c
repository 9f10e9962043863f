#include "analyzer/compare/compare.h"

const char *xfa_verdict_word(enum xfa_verdict verdict)
{
    static const char *const words[] = {[XFA_UNSURE] = "not known",
                                        [XFA_ALIKE] = "within noise",
                                        [XFA_LESS] = "faster",
                                        [XFA_MORE] = "slower"};
    return words[verdict];
}

const char *xfa_measure_word(enum xfa_measure measure)
{
    static const char *const words[] = {[XFA_MEASURE_SPAN] = "run",
                                        [XFA_MEASURE_WALL] = "processes",
                                        [XFA_MEASURE_TRANSFERS] = "transfers",
                                        [XFA_MEASURE_KERNELS] = "kernels",
                                        [XFA_MEASURE_WAITS] = "waits"};
    return words[measure];
}

const char *xfa_stands_word(enum xfa_stands stands)
{
    static const char *const words[] = {[XFA_GONE] = "gone",
                                        [XFA_STAYS] = "stays",
                                        [XFA_IDLE_NOW] = "no longer worth it",
                                        [XFA_NEW] = "new"};
    return words[stands];
}

const char *xfa_paid_word(enum xfa_paid paid)
{
    static const char *const words[] = {[XFA_PAID_UNKNOWN] = "not known",
                                        [XFA_PAID_WITHIN] = "within",
                                        [XFA_PAID_LESS] = "less",
                                        [XFA_PAID_MORE] = "more",
                                        [XFA_PAID_UNSURE] = "outside, within noise"};
    return words[paid];
}

const char *xfa_predicted_word(enum xfa_predicted predicted)
{
    static const char *const words[] = {[XFA_PREDICTED_NOTHING] = "nothing",
                                        [XFA_PREDICTED_SET] = "best set",
                                        [XFA_PREDICTED_ONE] = "one finding",
                                        [XFA_PREDICTED_PARTS] = "parts of the best set",
                                        [XFA_PREDICTED_UNKNOWN] = "not known"};
    return words[predicted];
}
