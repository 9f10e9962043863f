/*
 * The checks of `xferscope doctor`. Each checks one thing, reports in one line what it found and
 * what follows from it, and changes nothing on the machine.
 */
#ifndef XFERSCOPE_DOCTOR_H
#define XFERSCOPE_DOCTOR_H

#include <stdbool.h>
#include <stddef.h>

enum doctor_verdict { DOCTOR_OK, DOCTOR_WARN, DOCTOR_FAIL };

struct doctor_finding {
    enum doctor_verdict verdict;
    char text[1024];
};

/* Writes a finding as one line, whatever the arguments contain. */
void doctor_say(struct doctor_finding *finding, enum doctor_verdict verdict, const char *format,
                ...) __attribute__((format(printf, 3, 4)));

struct doctor_check {
    const char *name;
    void (*look)(struct doctor_finding *finding);
};

/* doctor_cuda.c: the driver, the GPUs and CUPTI. */
extern const struct doctor_check doctor_cuda_checks[];
extern const size_t doctor_cuda_count;

/* doctor_program.c: interpreters, libraries of programs, and other tools. */
extern const struct doctor_check doctor_program_checks[];
extern const size_t doctor_program_count;

/* doctor_system.c: the recorder itself, and the system around it. */
extern const struct doctor_check doctor_system_checks[];
extern const size_t doctor_system_count;

/* First line of a file without its newline; false when it cannot be read or is empty. */
bool doctor_read_line(const char *path, char *line, size_t bytes);

#endif
