/*
 * The stand-in for CUPTI as it serves several clients, by the rules of NVIDIA's manual ("Multiple
 * Subscribers", CUDA 13.3): the first client decides whether there may be more, all must say the
 * same; each has its own kinds and buffers; calls of the first kind are refused meanwhile; kernel
 * times from hardware are asked for before the first subscription and cannot be taken back.
 */
#ifndef FAKE_CUPTI_CLIENTS_H
#define FAKE_CUPTI_CLIENTS_H

#include <stdbool.h>
#include <stddef.h>

void fake_clients_record(const void *record, size_t bytes);

/* Hands over all buffers. */
void fake_clients_flush(void);

bool fake_clients_is_one(const void *subscriber);

/* True when it was one. */
bool fake_clients_leave(const void *subscriber);

#endif
