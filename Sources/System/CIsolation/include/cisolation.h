/* For the process that runs plugins: it drops privileges and reports crashes. */
#ifndef CARILLON_ISOLATION_H
#define CARILLON_ISOLATION_H

#include <stddef.h>
#include <stdint.h>

#define CARILLON_CRASH_FRAMES 16
#define CARILLON_CRASH_MAGIC 0x68637263u /* "crch" */

/* The message of a signal handler to the crash pipe, in one write: a hint for people from a broken process. A second one with
 * more frames may follow; the last complete one counts. */
typedef struct carillon_crash_report {
    uint32_t magic;
    int32_t signal;
    uint64_t address;     /* of the fault, or 0 */
    uint64_t counter;     /* program counter */
    uint64_t id;          /* the ticket or request that the crashed thread was processing, or 0 */
    uint32_t kind;        /* of the frame that it was processing, or 0 */
    uint32_t frame_count;
    uint64_t frames[CARILLON_CRASH_FRAMES]; /* return addresses, the innermost first */
} carillon_crash_report;

#define CARILLON_CRASH_MODULES 8
#define CARILLON_CRASH_MODULES_MAGIC 0x6d637263u /* "crcm" */

/* May follow a report, in one write: the addresses of the libraries that its frames are in. Only the process knows which
 * libraries it is about to load. */
typedef struct carillon_crash_module {
    uint64_t start, size;
    char name[64]; /* file name without its directory; 0-terminated */
} carillon_crash_module;

typedef struct carillon_crash_modules {
    uint32_t magic;
    uint32_t count;
    carillon_crash_module modules[CARILLON_CRASH_MODULES];
} carillon_crash_modules;

/* Reports a crash of any thread to `fd` from now on; the crash then ends the process as usual. The sandbox needs this too: the
 * same handler answers some system calls. Returns 0 or errno. Not thread-safe: call it before other threads start. */
int carillon_report_crashes(int fd);
/* Gives the calling thread a stack for signal handlers, so that a stack overflow is reported too. Returns 0 or errno. */
int carillon_report_crashes_of_this_thread(void);
/* Notes what the calling thread is processing: a ticket or request, and the kind of the frame; 0 and 0 for none. */
void carillon_note_call(uint64_t id, uint32_t kind);
/* The last note of the calling thread. */
uint64_t carillon_noted_call(uint32_t *kind);

/* The kernel's id of the calling thread. */
uint32_t carillon_thread_number(void);

/* Returns a descriptor that becomes readable when 8 bytes are written to it, and never blocks (eventfd); -1 with errno on
 * failure. */
int carillon_event(void);

#define CARILLON_OUTBOX_SIZE (128 << 10)

/* Bytes to send to a socket. The first `count` are complete messages; only one thread at a time may change it. */
typedef struct carillon_outbox {
    int fd;
    volatile int is_sending;
    volatile size_t count;
    unsigned char bytes[CARILLON_OUTBOX_SIZE];
} carillon_outbox;

/* Adds a complete message, and first sends pending ones if it does not fit. Returns 0 or errno. */
int carillon_put_into_outbox(carillon_outbox *outbox, const void *message, size_t size);
/* Sends everything, without a timeout. Returns 0 or errno. */
int carillon_send_outbox(carillon_outbox *outbox);
/* Sends the messages in `outbox` even if the process crashes or exits. Only one outbox can be registered. */
void carillon_send_outbox_at_end(carillon_outbox *outbox);

/* A library, or the program, in the memory of the process. */
typedef struct carillon_module {
    const char *name; /* the path; valid until the process ends, unless the library is unloaded */
    uint64_t start;
    uint64_t size;
} carillon_module;

/* Writes up to `capacity` modules, and returns their number. */
size_t carillon_list_modules(carillon_module *modules, size_t capacity);

/* The active parts of the confinement, as bits. */
#define CARILLON_CONFINED_FILES 1 /* Landlock */
#define CARILLON_CONFINED_CALLS 2 /* seccomp */

/* Stage 1, before a library is loaded: no network, no new programs, and only files of the dynamic linker or named `readable`.
 * Returns the bits of the active parts; parts that the kernel does not support are omitted. Applies to the calling thread and to
 * those that it starts: call it on each. */
int carillon_confine_loading(const char *const *readable, size_t count);
/* Stage 2, after loading: no files can be opened, and only the system calls that plugins need are allowed. Applies to all
 * threads. Returns the bits of the active parts: both or none. The calling thread must be in stage 1. */
int carillon_confine_running(void);

/* Sets limits of the process: bytes of data memory (0: none), stacks of 1 MiB for new threads, no core file. Returns 0 or errno. */
int carillon_limit_memory(uint64_t bytes);

#endif
