/* System calls of both stages of the sandbox: two allow-lists for libseccomp. contrib/docs/sandbox.md has the same lists as a
 * table, and a test compares the two by trying every call. */
#define _GNU_SOURCE
#include "parts.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <seccomp.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#if defined(__x86_64__) || defined(__aarch64__)

/* In the lower half of argument `place`, the bits of `mask` must equal those of `value`; the kernel reads only that half of an
 * int. */
#define BITS(place, mask, value) SCMP_CMP64(place, SCMP_CMP_MASKED_EQ, (uint32_t)(mask), (uint32_t)(value))
#define WORD(place, value) BITS(place, UINT32_MAX, value)
#define NOTHING(place) SCMP_CMP64(place, SCMP_CMP_EQ, 0)

/* A filter under construction. It keeps the first error. */
typedef struct list { scmp_filter_ctx context; int failure; } list;

/* A call that this architecture lacks is negative. */
static void add(list *list, uint32_t action, int call, unsigned count, const struct scmp_arg_cmp *arguments) {
    if (call < 0 || list->failure != 0) return;
    list->failure = seccomp_rule_add_exact_array(list->context, action, call, count, arguments);
}

#define IF(list, call, ...)                                                                                              \
    do {                                                                                                                 \
        const struct scmp_arg_cmp conditions[] = {__VA_ARGS__};                                                          \
        add(list, SCMP_ACT_ALLOW, SCMP_SYS(call), sizeof conditions / sizeof *conditions, conditions);                   \
    } while (0)
#define FAILS(list, call, failure) add(list, SCMP_ACT_ERRNO(failure), SCMP_SYS(call), 0, NULL)

static void allow(list *list, const int *calls, size_t count) {
    for (size_t i = 0; i < count; i++) add(list, SCMP_ACT_ALLOW, calls[i], 0, NULL);
}

#define OPENS_PROC (O_RDONLY | O_NONBLOCK)
#define WRITES (O_ACCMODE | O_CREAT | O_TRUNC | (O_TMPFILE & ~O_DIRECTORY))
#define NAMESPACES (CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET)

/* Memory, threads, timers, clocks, random numbers, waiting, and open descriptors. */
static void add_common(list *list) {
    static const int calls[] = {
        SCMP_SYS(futex), SCMP_SYS(read), SCMP_SYS(write), SCMP_SYS(sendto), SCMP_SYS(recvfrom), SCMP_SYS(readv),
        SCMP_SYS(writev), SCMP_SYS(close), SCMP_SYS(lseek), SCMP_SYS(dup), SCMP_SYS(poll), SCMP_SYS(ppoll),
        SCMP_SYS(select), SCMP_SYS(pselect6), SCMP_SYS(epoll_create1), SCMP_SYS(epoll_ctl), SCMP_SYS(epoll_wait),
        SCMP_SYS(epoll_pwait), SCMP_SYS(epoll_pwait2), SCMP_SYS(eventfd2), SCMP_SYS(timerfd_create),
        SCMP_SYS(timerfd_settime), SCMP_SYS(timerfd_gettime), SCMP_SYS(madvise), SCMP_SYS(munmap), SCMP_SYS(mremap),
        SCMP_SYS(brk), SCMP_SYS(membarrier), SCMP_SYS(rseq), SCMP_SYS(set_robust_list), SCMP_SYS(sched_yield),
        SCMP_SYS(sched_getaffinity), SCMP_SYS(gettid), SCMP_SYS(getpid), SCMP_SYS(getuid), SCMP_SYS(geteuid),
        SCMP_SYS(getgid), SCMP_SYS(getegid), SCMP_SYS(getrandom), SCMP_SYS(clock_gettime), SCMP_SYS(clock_getres),
        SCMP_SYS(clock_nanosleep), SCMP_SYS(nanosleep), SCMP_SYS(gettimeofday), SCMP_SYS(time), SCMP_SYS(getcpu),
        SCMP_SYS(getrusage), SCMP_SYS(sysinfo), SCMP_SYS(uname), SCMP_SYS(rt_sigaction), SCMP_SYS(rt_sigprocmask),
        SCMP_SYS(rt_sigreturn), SCMP_SYS(sigaltstack), SCMP_SYS(restart_syscall), SCMP_SYS(exit), SCMP_SYS(exit_group),
    };
    allow(list, calls, sizeof calls / sizeof *calls);
    IF(list, clone, BITS(0, CLONE_THREAD | NAMESPACES, CLONE_THREAD));
    /* glibc creates threads with clone if clone3, whose arguments no filter can read, does not exist. */
    FAILS(list, clone3, ENOSYS);
    IF(list, tgkill, WORD(0, getpid()));
    IF(list, prlimit64, WORD(0, 0), NOTHING(2));
    IF(list, prctl, WORD(0, PR_SET_NAME));
    /* Libraries that lower their priority would treat a refusal as an error. */
    FAILS(list, setpriority, 0);
    FAILS(list, ioctl, ENOTTY);
    /* libdispatch opens /proc/<thread>/stat this way once a second if it has its own threads. It ends the process if it cannot,
     * so the call is trapped, and the handler in crash.c simulates it. */
    const struct scmp_arg_cmp monitor[] = {SCMP_CMP64(2, SCMP_CMP_EQ, OPENS_PROC)};
    add(list, SCMP_ACT_TRAP, SCMP_SYS(openat), 1, monitor);
}

/* Reading files (which Landlock limits), code, and the calls that the second stage itself needs. */
static void add_loading(list *list) {
    static const int calls[] = {
        SCMP_SYS(fstat), SCMP_SYS(newfstatat), SCMP_SYS(stat), SCMP_SYS(lstat), SCMP_SYS(statx), SCMP_SYS(access),
        SCMP_SYS(faccessat), SCMP_SYS(faccessat2), SCMP_SYS(readlink), SCMP_SYS(readlinkat), SCMP_SYS(getdents64),
        SCMP_SYS(getcwd), SCMP_SYS(pread64), SCMP_SYS(preadv), SCMP_SYS(fadvise64), SCMP_SYS(mprotect), SCMP_SYS(pipe),
        SCMP_SYS(pipe2), SCMP_SYS(dup2), SCMP_SYS(dup3), SCMP_SYS(landlock_create_ruleset), SCMP_SYS(landlock_add_rule),
        SCMP_SYS(landlock_restrict_self),
    };
    allow(list, calls, sizeof calls / sizeof *calls);
    /* Disjoint from each other and from the trap above, because the precedence of two matching rules is undocumented. */
    IF(list, openat, BITS(2, WRITES | O_NONBLOCK, 0));
    IF(list, openat, BITS(2, WRITES | O_NONBLOCK | O_DIRECTORY, O_NONBLOCK | O_DIRECTORY));
    IF(list, openat, BITS(2, WRITES | O_NONBLOCK | O_DIRECTORY | O_CLOEXEC, O_NONBLOCK | O_CLOEXEC));
    IF(list, open, BITS(1, WRITES, 0));
    /* No memory that RLIMIT_DATA does not count: shared memory, and mappings that grow like a stack. */
    IF(list, mmap, BITS(3, MAP_SHARED | MAP_GROWSDOWN, 0));
    IF(list, mmap, BITS(3, MAP_SHARED | MAP_GROWSDOWN | MAP_ANONYMOUS, MAP_SHARED));
    static const uint32_t commands[] = {F_DUPFD, F_DUPFD_CLOEXEC, F_GETFD, F_SETFD, F_GETFL};
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) IF(list, fcntl, WORD(1, commands[i]));
    IF(list, fcntl, WORD(1, F_SETFL), BITS(2, O_ASYNC, 0));
    IF(list, prctl, WORD(0, PR_SET_NO_NEW_PRIVS));
    /* Flags that libseccomp sets; none of them creates a listener. */
    IF(list, seccomp, WORD(0, SECCOMP_SET_MODE_FILTER),
       BITS(1, ~(SECCOMP_FILTER_FLAG_TSYNC | SECCOMP_FILTER_FLAG_TSYNC_ESRCH), 0));
}

/* Neither files nor code. */
static void add_running(list *list) {
    static const int files[] = {
        SCMP_SYS(open), SCMP_SYS(openat2), SCMP_SYS(access), SCMP_SYS(faccessat), SCMP_SYS(faccessat2), SCMP_SYS(stat),
        SCMP_SYS(lstat), SCMP_SYS(fstat), SCMP_SYS(newfstatat), SCMP_SYS(readlink), SCMP_SYS(readlinkat),
    };
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) add(list, SCMP_ACT_ERRNO(ENOENT), files[i], 0, NULL);
    FAILS(list, statx, ENOSYS);
    const struct scmp_arg_cmp other[] = {SCMP_CMP64(2, SCMP_CMP_NE, OPENS_PROC)};
    add(list, SCMP_ACT_ERRNO(ENOENT), SCMP_SYS(openat), 1, other);
    IF(list, mmap, BITS(2, PROT_EXEC, 0), BITS(3, MAP_SHARED | MAP_GROWSDOWN, 0));
    IF(list, mprotect, BITS(2, PROT_EXEC, 0));
}

static bool install(void (*add_stage)(list *list)) {
    list list = {seccomp_init(SCMP_ACT_ERRNO(EPERM)), 0};
    if (list.context == NULL) return false;
    /* Include the calls of x32, which have the same meaning under other numbers. */
    list.failure = seccomp_attr_set(list.context, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS);
    if (list.failure == 0) list.failure = seccomp_attr_set(list.context, SCMP_FLTATR_CTL_TSYNC, 1);
    /* As a tree: some seven comparisons instead of up to a hundred. */
    if (list.failure == 0) list.failure = seccomp_attr_set(list.context, SCMP_FLTATR_CTL_OPTIMIZE, 2);
    add_common(&list);
    add_stage(&list);
    if (list.failure == 0) list.failure = seccomp_load(list.context);
    seccomp_release(list.context);
    return list.failure == 0;
}

bool carillon_restrict_calls_while_loading(void) { return install(add_loading); }
bool carillon_restrict_calls_while_running(void) { return install(add_running); }

#else

bool carillon_restrict_calls_while_loading(void) { return false; }
bool carillon_restrict_calls_while_running(void) { return false; }

#endif
