/* Signal handlers: crash reports, and system calls that the sandbox simulates. All code in the signal handler is
 * async-signal-safe except for backtrace(), which is tried last, after the report is sent. */
#define _GNU_SOURCE
#include "cisolation.h"

#include <errno.h>
#include <dlfcn.h>
#include <execinfo.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

/* Large enough for the unwinder. */
#define SIGNAL_STACK (64 << 10)
/* The maximum distance to walk up a stack whose end is unknown. */
#define UNKNOWN_STACK (8 << 20)
#define FEW_FRAMES 2

static const int signals[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGTRAP, SIGSYS};

static int report_fd = -1;
/* An internal pipe: writing from an unmapped address fails with EFAULT, but reading from it would crash. */
static int probe[2] = {-1, -1};
static volatile int is_reported;

static __thread volatile uint64_t current_id;
static __thread volatile uint32_t current_kind;
/* The calling thread's stack, if known. */
static __thread uintptr_t stack_low, stack_high;

void carillon_note_call(uint64_t id, uint32_t kind) {
    current_id = id;
    current_kind = kind;
}

uint64_t carillon_noted_call(uint32_t *kind) {
    *kind = current_kind;
    return current_id;
}

uint32_t carillon_thread_number(void) { return (uint32_t)syscall(SYS_gettid); }

/* Copies `count` words from `address`, which may be invalid. */
static bool peek(uintptr_t address, uintptr_t *words, size_t count) {
    size_t size = count * sizeof *words;
    if (write(probe[1], (const void *)address, size) != (ssize_t)size) return false;
    return read(probe[0], words, size) == (ssize_t)size;
}

/* ---- Messages to send even in a crash ------------------------------------------------------ */

static carillon_outbox *last_outbox;

static int send_all(int fd, const void *message, size_t count, int flags) {
    const unsigned char *bytes = message;
    while (count > 0) {
        ssize_t sent = send(fd, bytes, count, MSG_NOSIGNAL | flags);
        if (sent < 0 && errno == EINTR) continue;
        if (sent < 0) return errno;
        bytes += sent;
        count -= (size_t)sent;
    }
    return 0;
}

int carillon_send_outbox(carillon_outbox *outbox) {
    outbox->is_sending = 1;
    int failure = send_all(outbox->fd, outbox->bytes, outbox->count, 0);
    outbox->count = 0;
    outbox->is_sending = 0;
    return failure;
}

int carillon_put_into_outbox(carillon_outbox *outbox, const void *message, size_t size) {
    if (size > sizeof outbox->bytes - outbox->count) {
        int failure = carillon_send_outbox(outbox);
        if (failure != 0) return failure;
    }
    if (size > sizeof outbox->bytes) {
        outbox->is_sending = 1;
        int failure = send_all(outbox->fd, message, size, 0);
        outbox->is_sending = 0;
        return failure;
    }
    memcpy(outbox->bytes + outbox->count, message, size);
    /* After a crash before this line, no part of it is sent. */
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    outbox->count += size;
    return 0;
}

/* If another thread is sending now, wait briefly: half a message would make the rest useless. */
static void send_last(void) {
    if (last_outbox == NULL) return;
    struct timespec pause = {0, 1000000};
    for (int i = 0; i < 50 && last_outbox->is_sending; i++) nanosleep(&pause, NULL);
    if (last_outbox->is_sending) return;
    size_t count = last_outbox->count;
    last_outbox->count = 0;
    send_all(last_outbox->fd, last_outbox->bytes, count, MSG_DONTWAIT);
}

void carillon_send_outbox_at_end(carillon_outbox *outbox) {
    if (last_outbox == NULL) atexit(send_last);
    last_outbox = outbox;
}

typedef struct registers { uintptr_t counter, stack, frame, link; } registers;

static registers registers_of(const ucontext_t *context) {
    registers result = {0, 0, 0, 0};
#if defined(__x86_64__)
    result.counter = (uintptr_t)context->uc_mcontext.gregs[REG_RIP];
    result.stack = (uintptr_t)context->uc_mcontext.gregs[REG_RSP];
    result.frame = (uintptr_t)context->uc_mcontext.gregs[REG_RBP];
#elif defined(__aarch64__)
    result.counter = context->uc_mcontext.pc;
    result.stack = context->uc_mcontext.sp;
    result.frame = context->uc_mcontext.regs[29];
    result.link = context->uc_mcontext.regs[30];
#else
    (void)context;
#endif
    return result;
}

static uint32_t walk(const registers *from, uint64_t *frames) {
    uintptr_t low = from->stack, high = from->stack + UNKNOWN_STACK;
    if (stack_low <= low && low < stack_high) high = stack_high;
    uint32_t count = 0;
    /* A call to NULL, or to an address without code: the return address is where the call has stored it. */
    if (from->link != 0) frames[count++] = from->link;
    if (from->counter < 4096 && from->link == 0) {
        uintptr_t word;
        if (peek(from->stack, &word, 1)) frames[count++] = word;
    }
    uintptr_t frame = from->frame;
    while (count < CARILLON_CRASH_FRAMES && frame >= low && frame <= high - 16 && frame % sizeof(uintptr_t) == 0) {
        uintptr_t words[2];
        if (!peek(frame, words, 2) || words[1] < 4096) break;
        if (count == 0 || frames[count - 1] != words[1]) frames[count++] = words[1];
        if (words[0] <= frame) break;
        frame = words[0];
    }
    return count;
}

/* The frames that the unwinder finds above the signal's. It reads tables that a broken process may have lost. */
static uint32_t unwind(uintptr_t counter, uint64_t *frames) {
    void *addresses[CARILLON_CRASH_FRAMES + 16];
    int count = backtrace(addresses, (int)(sizeof addresses / sizeof *addresses)), start = 0;
    while (start < count && (uintptr_t)addresses[start] != counter) start++;
    uint32_t found = 0;
    for (int i = start + 1; i < count && found < CARILLON_CRASH_FRAMES; i++) frames[found++] = (uintptr_t)addresses[i];
    return found;
}

static void send_report(const carillon_crash_report *report) {
    while (write(report_fd, report, sizeof *report) < 0 && errno == EINTR) {}
}

#if __GLIBC_PREREQ(2, 35)
/* The only async-signal-safe query about libraries. */
static void add_module(uint64_t address, carillon_crash_modules *found) {
    for (uint32_t i = 0; i < found->count; i++) {
        if (address >= found->modules[i].start && address - found->modules[i].start < found->modules[i].size) return;
    }
    struct dl_find_object object;
    if (found->count == CARILLON_CRASH_MODULES || _dl_find_object((void *)(uintptr_t)address, &object) != 0) return;
    uintptr_t start = (uintptr_t)object.dlfo_map_start;
    found->modules[found->count].start = start;
    found->modules[found->count].size = (uintptr_t)object.dlfo_map_end - start;
    const char *path = object.dlfo_link_map->l_name;
    if (path == NULL || *path == 0) path = "carillon-plugin-host";
    const char *name = path;
    for (const char *place = path; *place; place++) {
        if (*place == '/') name = place + 1;
    }
    strncpy(found->modules[found->count].name, name, sizeof found->modules[0].name - 1);
    found->count++;
}
#else
static void add_module(uint64_t address, carillon_crash_modules *found) { (void)address; (void)found; }
#endif

static void send_modules(const carillon_crash_report *report) {
    carillon_crash_modules found;
    memset(&found, 0, sizeof found);
    found.magic = CARILLON_CRASH_MODULES_MAGIC;
    add_module(report->counter, &found);
    for (uint32_t i = 0; i < report->frame_count; i++) add_module(report->frames[i], &found);
    if (found.count == 0) return;
    while (write(report_fd, &found, sizeof found) < 0 && errno == EINTR) {}
}

/* ---- System calls that the sandbox simulates ---------------------------------------------- */

/* An empty file. */
static int empty_fd = -1;

static bool is_of_proc(const char *path) {
    const char *expected = "/proc/";
    while (*expected && *path == *expected) { path++; expected++; }
    return *expected == 0;
}

/* libdispatch queries the state of its threads, and ends the process if a thread seems to be gone. An empty file has no state. */
static long pretend_to_open(uintptr_t path) {
    if (!is_of_proc((const char *)path)) return -ENOENT;
    int fd = dup(empty_fd);
    return fd < 0 ? -EMFILE : fd;
}

/* Whether the signal came from the sandbox, and the call got a result. */
static bool pretend(const siginfo_t *info, ucontext_t *context) {
    if (info->si_code != 1 /* SYS_SECCOMP */ || info->si_syscall != SYS_openat) return false;
    int failure = errno;
#if defined(__x86_64__)
    greg_t *registers = context->uc_mcontext.gregs;
    registers[REG_RAX] = pretend_to_open((uintptr_t)registers[REG_RSI]);
#elif defined(__aarch64__)
    context->uc_mcontext.regs[0] = (unsigned long long)pretend_to_open(context->uc_mcontext.regs[1]);
#else
    (void)context;
#endif
    errno = failure;
    return true;
}

static void on_crash(int number, siginfo_t *info, void *context) {
    if (number == SIGSYS && pretend(info, context)) return;
    if (__sync_lock_test_and_set(&is_reported, 1)) {
        /* Another thread is already reporting and ends the process; this one must not end it before. */
        struct timespec pause = {1, 0};
        nanosleep(&pause, NULL);
    } else {
        carillon_crash_report report;
        memset(&report, 0, sizeof report);
        registers from = registers_of(context);
        report.magic = CARILLON_CRASH_MAGIC;
        report.signal = number;
        /* A positive code comes from the kernel and has an address. */
        report.address = info->si_code > 0 && number != SIGSYS ? (uintptr_t)info->si_addr : 0;
        report.counter = from.counter;
        report.id = current_id;
        report.kind = current_kind;
        report.frame_count = walk(&from, report.frames);
        send_report(&report);
        send_last();
        send_modules(&report);
        bool is_overflow = report.address != 0 && report.address - (from.stack - 65536) < 2 * 65536;
        if (report.frame_count < FEW_FRAMES && !is_overflow) {
            uint64_t frames[CARILLON_CRASH_FRAMES] = {0};
            uint32_t count = unwind(from.counter, frames);
            if (count > report.frame_count) {
                memcpy(report.frames, frames, sizeof frames);
                report.frame_count = count;
                send_report(&report);
                send_modules(&report);
            }
        }
    }
    struct sigaction usual;
    memset(&usual, 0, sizeof usual);
    usual.sa_handler = SIG_DFL;
    sigaction(number, &usual, NULL);
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, number);
    syscall(SYS_tgkill, getpid(), (pid_t)syscall(SYS_gettid), number);
    pthread_sigmask(SIG_UNBLOCK, &set, NULL);
    _exit(128 + number);
}

int carillon_report_crashes(int fd) {
    if (pipe2(probe, O_CLOEXEC | O_NONBLOCK) != 0) return errno;
    empty_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    report_fd = fd;
    /* The unwinder's library is loaded at its first use, which must not be in the handler or the sandbox. */
    void *address;
    (void)backtrace(&address, 1);
    int failure = carillon_report_crashes_of_this_thread();
    if (failure != 0) return failure;
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_sigaction = on_crash;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    /* A signal that the parent process has blocked would stay pending, or end the process without a report. */
    sigset_t reported;
    sigemptyset(&reported);
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) {
        if (sigaction(signals[i], &action, NULL) != 0) return errno;
        sigaddset(&reported, signals[i]);
    }
    return pthread_sigmask(SIG_UNBLOCK, &reported, NULL);
}

int carillon_report_crashes_of_this_thread(void) {
    pthread_attr_t attributes;
    if (pthread_getattr_np(pthread_self(), &attributes) == 0) {
        void *low;
        size_t size;
        if (pthread_attr_getstack(&attributes, &low, &size) == 0) {
            stack_low = (uintptr_t)low;
            stack_high = stack_low + size;
        }
        pthread_attr_destroy(&attributes);
    }
    stack_t own;
    memset(&own, 0, sizeof own);
    own.ss_size = SIGNAL_STACK;
    own.ss_sp = mmap(NULL, SIGNAL_STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (own.ss_sp == MAP_FAILED) return errno;
    return sigaltstack(&own, NULL) == 0 ? 0 : errno;
}
