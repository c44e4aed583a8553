/* Both stages of the sandbox, the part about system calls: seccomp with filters made by hand. A filter is a flat table,
 * because a check of an argument takes five instructions: the kernel's jumps reach 255 of them. */
#define _GNU_SOURCE
#include "parts.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/prctl.h>
#include <linux/seccomp.h>
#include <linux/sched.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/prctl.h>
#include <unistd.h>

#if defined(__x86_64__)
#define MACHINE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define MACHINE AUDIT_ARCH_AARCH64
#endif

/* What becomes of a call. Where an argument decides, the call is allowed if it is as said and fails with `failure` if not.
 * Arguments are compared in their lower half; NULL in both. With TRAP_IF_EQUAL the calling thread gets SIGSYS if the argument
 * is as said; if not, the rules below decide. */
typedef enum rule_kind { ALLOW, FAIL, IF_EQUAL, UNLESS_SET, IF_SET, IF_NULL, TRAP_IF_EQUAL } rule_kind;

typedef struct rule {
    uint32_t call;
    rule_kind kind;
    uint32_t failure; /* errno; 0 pretends */
    uint32_t argument;
    uint32_t value;
} rule;

#if defined(MACHINE) && defined(SYS_seccomp)

enum { ROWS = 160, INSTRUCTIONS = 8 + ROWS * 7 };

typedef struct program {
    struct sock_filter code[INSTRUCTIONS];
    unsigned short count;
} program;

static void add(program *program, uint16_t code, uint32_t k, uint8_t yes, uint8_t no) {
    program->code[program->count++] = (struct sock_filter){code, yes, no, k};
}

static void load(program *program, size_t offset) { add(program, BPF_LD | BPF_W | BPF_ABS, (uint32_t)offset, 0, 0); }
static void give(program *program, uint32_t result) { add(program, BPF_RET | BPF_K, result, 0, 0); }

static size_t lower_half(uint32_t argument) { return offsetof(struct seccomp_data, args) + 8 * argument; }

static void add_rule(program *program, const rule *rule) {
    const uint32_t fail = SECCOMP_RET_ERRNO | (rule->failure & SECCOMP_RET_DATA);
    const uint16_t equal = BPF_JMP | BPF_JEQ | BPF_K, set = BPF_JMP | BPF_JSET | BPF_K;
    switch (rule->kind) {
    case ALLOW:
    case FAIL:
        add(program, equal, rule->call, 0, 1);
        give(program, rule->kind == ALLOW ? SECCOMP_RET_ALLOW : fail);
        break;
    case IF_EQUAL:
    case IF_SET:
    case UNLESS_SET:
        add(program, equal, rule->call, 0, 4);
        load(program, lower_half(rule->argument));
        if (rule->kind == UNLESS_SET) add(program, set, rule->value, 0, 1);
        else add(program, rule->kind == IF_EQUAL ? equal : set, rule->value, 1, 0);
        give(program, fail);
        give(program, SECCOMP_RET_ALLOW);
        break;
    case TRAP_IF_EQUAL:
        add(program, equal, rule->call, 0, 4);
        load(program, lower_half(rule->argument));
        add(program, equal, rule->value, 0, 1);
        give(program, SECCOMP_RET_TRAP);
        load(program, offsetof(struct seccomp_data, nr));
        break;
    case IF_NULL:
        add(program, equal, rule->call, 0, 6);
        load(program, lower_half(rule->argument));
        add(program, equal, 0, 0, 2);
        load(program, lower_half(rule->argument) + 4);
        add(program, equal, 0, 1, 0);
        give(program, fail);
        give(program, SECCOMP_RET_ALLOW);
        break;
    }
}

static bool install(const rule *rules, size_t count, uint32_t otherwise) {
    program program = {.count = 0};
    if (count > ROWS) return false;
    load(&program, offsetof(struct seccomp_data, arch));
    add(&program, BPF_JMP | BPF_JEQ | BPF_K, MACHINE, 1, 0);
    give(&program, SECCOMP_RET_KILL_PROCESS);
    load(&program, offsetof(struct seccomp_data, nr));
#if defined(__x86_64__)
    /* The x32 calls, which mean the same under other numbers. */
    add(&program, BPF_JMP | BPF_JGE | BPF_K, 0x40000000, 0, 1);
    give(&program, SECCOMP_RET_KILL_PROCESS);
#endif
    for (size_t i = 0; i < count; i++) add_rule(&program, &rules[i]);
    give(&program, otherwise);
    struct sock_fprog code = {program.count, program.code};
    return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &code) == 0;
}

/* glibc makes threads by clone where clone3, whose arguments no filter can see, does not exist. */
#define NO_CLONE3 {SYS_clone3, FAIL, ENOSYS, 0, 0}
/* How libdispatch opens /proc/<thread>/stat, once a second where it has threads of its own. It ends the process if it cannot,
 * so the call is trapped, and the handler in crash.c pretends. */
#define DISPATCH_MONITOR {SYS_openat, TRAP_IF_EQUAL, 0, 2, O_RDONLY | O_NONBLOCK}
#define THREADS_ONLY {SYS_clone, IF_SET, EPERM, 0, CLONE_THREAD}

bool carillon_restrict_calls_while_loading(void) {
    const rule rules[] = {
        DISPATCH_MONITOR, {SYS_socket, FAIL, EPERM, 0, 0}, {SYS_socketpair, FAIL, EPERM, 0, 0},
        {SYS_execve, FAIL, EPERM, 0, 0}, {SYS_execveat, FAIL, EPERM, 0, 0},
#ifdef SYS_fork
        {SYS_fork, FAIL, EPERM, 0, 0},
#endif
#ifdef SYS_vfork
        {SYS_vfork, FAIL, EPERM, 0, 0},
#endif
        NO_CLONE3, THREADS_ONLY,
        {SYS_ptrace, FAIL, EPERM, 0, 0}, {SYS_process_vm_readv, FAIL, EPERM, 0, 0},
        {SYS_process_vm_writev, FAIL, EPERM, 0, 0}, {SYS_kill, FAIL, EPERM, 0, 0},
        {SYS_tkill, FAIL, EPERM, 0, 0}, {SYS_tgkill, IF_EQUAL, EPERM, 0, (uint32_t)getpid()},
        {SYS_rt_sigqueueinfo, FAIL, EPERM, 0, 0}, {SYS_rt_tgsigqueueinfo, FAIL, EPERM, 0, 0},
#ifdef SYS_pidfd_send_signal
        {SYS_pidfd_send_signal, FAIL, EPERM, 0, 0},
#endif
#ifdef SYS_pidfd_getfd
        {SYS_pidfd_getfd, FAIL, EPERM, 0, 0},
#endif
#ifdef SYS_io_uring_setup
        {SYS_io_uring_setup, FAIL, EPERM, 0, 0},
#endif
        {SYS_bpf, FAIL, EPERM, 0, 0}, {SYS_unshare, FAIL, EPERM, 0, 0}, {SYS_setns, FAIL, EPERM, 0, 0},
        {SYS_perf_event_open, FAIL, EPERM, 0, 0}, {SYS_userfaultfd, FAIL, EPERM, 0, 0},
        {SYS_keyctl, FAIL, EPERM, 0, 0}, {SYS_add_key, FAIL, EPERM, 0, 0}, {SYS_request_key, FAIL, EPERM, 0, 0},
        {SYS_mount, FAIL, EPERM, 0, 0}, {SYS_open_by_handle_at, FAIL, EPERM, 0, 0},
        {SYS_recvmsg, FAIL, EPERM, 0, 0}, {SYS_recvmmsg, FAIL, EPERM, 0, 0},
        {SYS_sendmsg, FAIL, EPERM, 0, 0}, {SYS_sendmmsg, FAIL, EPERM, 0, 0},
    };
    return install(rules, sizeof rules / sizeof *rules, SECCOMP_RET_ALLOW);
}

#define ALLOWED(name) {SYS_##name, ALLOW, 0, 0, 0}
#define ABSENT(name) {SYS_##name, FAIL, ENOENT, 0, 0}

bool carillon_restrict_calls_while_running(void) {
    /* The frequent ones first. */
    const rule rules[] = {
        ALLOWED(futex), ALLOWED(read), ALLOWED(write), ALLOWED(sendto), ALLOWED(recvfrom), ALLOWED(clock_gettime),
        ALLOWED(getpid), ALLOWED(getrandom), ALLOWED(madvise), ALLOWED(munmap),
        {SYS_mmap, UNLESS_SET, EPERM, 2, PROT_EXEC}, {SYS_mprotect, UNLESS_SET, EPERM, 2, PROT_EXEC},
        ALLOWED(brk), ALLOWED(readv), ALLOWED(writev), ALLOWED(ppoll), ALLOWED(close), ALLOWED(lseek),
        ALLOWED(mremap), ALLOWED(sched_yield), ALLOWED(sched_getaffinity), ALLOWED(membarrier),
        THREADS_ONLY, NO_CLONE3, {SYS_tgkill, IF_EQUAL, EPERM, 0, (uint32_t)getpid()},
        ALLOWED(set_robust_list), ALLOWED(exit), ALLOWED(exit_group), ALLOWED(gettid),
        ALLOWED(getuid), ALLOWED(geteuid), ALLOWED(getgid), ALLOWED(getegid),
        ALLOWED(rt_sigaction), ALLOWED(rt_sigprocmask), ALLOWED(rt_sigreturn), ALLOWED(sigaltstack),
        ALLOWED(restart_syscall), ALLOWED(clock_getres), ALLOWED(gettimeofday), ALLOWED(clock_nanosleep),
        ALLOWED(nanosleep), ALLOWED(getcpu), ALLOWED(getrusage), ALLOWED(sysinfo), ALLOWED(uname),
        {SYS_prlimit64, IF_NULL, EPERM, 2, 0}, {SYS_prctl, IF_EQUAL, EPERM, 0, PR_SET_NAME},
        ALLOWED(epoll_create1), ALLOWED(epoll_ctl), ALLOWED(epoll_pwait), ALLOWED(eventfd2),
        ALLOWED(timerfd_create), ALLOWED(timerfd_settime), ALLOWED(timerfd_gettime),
        {SYS_setpriority, FAIL, 0, 0, 0},
        DISPATCH_MONITOR, ALLOWED(dup), ABSENT(openat), ABSENT(newfstatat), ABSENT(fstat), ABSENT(readlinkat), ABSENT(faccessat),
        {SYS_statx, FAIL, ENOSYS, 0, 0}, {SYS_ioctl, FAIL, ENOTTY, 0, 0},
#ifdef SYS_rseq
        ALLOWED(rseq),
#endif
#ifdef SYS_epoll_pwait2
        ALLOWED(epoll_pwait2),
#endif
#ifdef SYS_faccessat2
        ABSENT(faccessat2),
#endif
#ifdef SYS_openat2
        ABSENT(openat2),
#endif
#ifdef SYS_poll
        ALLOWED(poll),
#endif
#ifdef SYS_epoll_wait
        ALLOWED(epoll_wait),
#endif
#ifdef SYS_time
        ALLOWED(time),
#endif
#ifdef SYS_open
        ABSENT(open),
#endif
#ifdef SYS_access
        ABSENT(access),
#endif
#ifdef SYS_stat
        ABSENT(stat),
#endif
#ifdef SYS_lstat
        ABSENT(lstat),
#endif
#ifdef SYS_readlink
        ABSENT(readlink),
#endif
    };
    return install(rules, sizeof rules / sizeof *rules, SECCOMP_RET_ERRNO | EPERM);
}

#else

bool carillon_restrict_calls_while_loading(void) { return false; }
bool carillon_restrict_calls_while_running(void) { return false; }

#endif
