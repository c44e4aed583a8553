/* What the process that runs plugins does to itself: it gives up rights, and it says where it crashed. */
#ifndef CARILLON_ISOLATION_H
#define CARILLON_ISOLATION_H

#include <stddef.h>
#include <stdint.h>

#define CARILLON_CRASH_FRAMES 16
#define CARILLON_CRASH_MAGIC 0x68637263u /* "crch" */

/* What a signal handler writes to the pipe of crashes, in one write: a hint for people, sent by a process that is broken. A
 * second one may follow with more frames; the last that is whole counts. */
typedef struct carillon_crash_report {
    uint32_t magic;
    int32_t signal;
    uint64_t address;     /* that the signal is about, or 0 */
    uint64_t counter;     /* program counter */
    uint64_t id;          /* the ticket or question that the crashed thread was working for, or 0 */
    uint32_t kind;        /* of the frame that it was handling, or 0 */
    uint32_t frame_count;
    uint64_t frames[CARILLON_CRASH_FRAMES]; /* return addresses, the innermost first */
} carillon_crash_report;

#define CARILLON_CRASH_MODULES 8
#define CARILLON_CRASH_MODULES_MAGIC 0x6d637263u /* "crcm" */

/* What may follow a report, in one write: where the libraries are that its addresses lie in. Only the process knows of those that
 * it is about to load. */
typedef struct carillon_crash_module {
    uint64_t start, size;
    char name[64]; /* of the file, without its folder; it ends with 0 */
} carillon_crash_module;

typedef struct carillon_crash_modules {
    uint32_t magic;
    uint32_t count;
    carillon_crash_module modules[CARILLON_CRASH_MODULES];
} carillon_crash_modules;

/* From now on a crash of any thread is reported to `fd`, and then ends the process as it would have. The sandbox needs it too:
 * it answers some system calls by the same handler. 0, or an errno.
 * Not safe on more than one thread; call it before others start. */
int carillon_report_crashes(int fd);
/* Gives the calling thread a stack for signal handlers, so that a stack overflow is reported too. 0, or an errno. */
int carillon_report_crashes_of_this_thread(void);
/* What the calling thread works for from now on: a ticket or a question, and the kind of the frame; 0 and 0 for nothing. */
void carillon_note_call(uint64_t id, uint32_t kind);
/* What it noted last. */
uint64_t carillon_noted_call(uint32_t *kind);

/* The calling thread by the kernel's number. */
uint32_t carillon_thread_number(void);

/* A descriptor that becomes readable when 8 bytes are written to it, and never blocks (eventfd); -1 and errno. */
int carillon_event(void);

#define CARILLON_OUTBOX_SIZE (128 << 10)

/* Bytes that are to be sent to a socket. `count` of them are whole messages; one thread at a time changes it. */
typedef struct carillon_outbox {
    int fd;
    volatile int is_sending;
    volatile size_t count;
    unsigned char bytes[CARILLON_OUTBOX_SIZE];
} carillon_outbox;

/* Adds a whole message, and sends what does not fit. 0, or an errno. */
int carillon_put_into_outbox(carillon_outbox *outbox, const void *message, size_t size);
/* Sends everything, and waits as long as that takes. 0, or an errno. */
int carillon_send_outbox(carillon_outbox *outbox);
/* What lies in `outbox` is sent even when the process crashes or exits. One outbox can be so. */
void carillon_send_outbox_at_end(carillon_outbox *outbox);

/* A library, or the program, in the memory of the process. */
typedef struct carillon_module {
    const char *name; /* the path; valid until the process ends, unless the library is unloaded */
    uint64_t start;
    uint64_t size;
} carillon_module;

/* Writes at most `capacity` modules, and returns how many. */
size_t carillon_list_modules(carillon_module *modules, size_t capacity);

/* What confinement holds, as bits. */
#define CARILLON_CONFINED_FILES 1 /* Landlock */
#define CARILLON_CONFINED_CALLS 2 /* seccomp */

/* Stage 1, before a library is loaded: no network, no program started, no file but those of the dynamic linker or named
 * `readable`. The bits of what the kernel did; what it cannot do is left out. It holds for the calling thread and those that
 * it starts: call it on each. */
int carillon_confine_loading(const char *const *readable, size_t count);
/* Stage 2, once all is loaded: no file is opened any more, and only the system calls that plugins need are left. It holds
 * for all threads. The bits of what the kernel did: both or none. The calling thread must be in stage 1. */
int carillon_confine_running(void);

/* Limits of the process: bytes of data memory (0: none), stacks of 1 MiB for threads to come, no core file. 0, or an errno. */
int carillon_limit_memory(uint64_t bytes);

#endif
