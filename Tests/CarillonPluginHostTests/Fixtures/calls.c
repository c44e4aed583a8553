/* Tries system calls in a stage of the sandbox, `loading` or `running`, without making them: a filter that is older than the
 * sandbox's answers those that come through. A row of the input is a name and up to five arguments; the output is the row,
 * a tab, and the result. `numbers` then tries each number with zeros, and prints what does not fail with EPERM. */
#define _GNU_SOURCE
#include "cisolation.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <seccomp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MARK 0x6361726eu
#define COMES_THROUGH ECANCELED
#define LAST_NUMBER 1023
/* Those of uprobes pass by each filter, and end a process that no debugger has prepared. */
#define PASSES_FILTERS(number) (ON_X86 && ((number) == 335 || (number) == 336))
#ifdef __x86_64__
#define ON_X86 1
#else
#define ON_X86 0
#endif

/* Of two filters that answer with an errno, the newer one counts; so this errno is seen only where the sandbox allows. */
static void answer_marked_calls(void) {
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args) + 8 * 5),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, MARK, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | COMES_THROUGH),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = { sizeof code / sizeof *code, code };
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) exit(3);
}

static const char *result_of(long number, const long arguments[5]) {
    /* The sandbox answers this one by a handler, whose own calls would have the mark still. It only reads. */
    bool is_trapped = number == SYS_openat && arguments[2] == (O_RDONLY | O_NONBLOCK);
    errno = 0;
    long mark = is_trapped ? 0 : (long)MARK;
    long result = syscall(number, arguments[0], arguments[1], arguments[2], arguments[3], arguments[4], mark);
    static char other[32];
    if (result >= 0) return result == 0 ? "pretended" : "a descriptor";
    switch (errno) {
    case COMES_THROUGH: return "allowed";
    case EPERM: return "EPERM";
    case ENOSYS: return "ENOSYS";
    case ENOENT: return "ENOENT";
    case ENOTTY: return "ENOTTY";
    }
    snprintf(other, sizeof other, "errno %d", errno);
    return other;
}

typedef struct word { const char *name; long value; } word;

#define IS(name) {#name, name}
static const word words[] = {
    IS(PROT_READ), IS(PROT_WRITE), IS(PROT_EXEC), IS(MAP_PRIVATE), IS(MAP_SHARED), IS(MAP_ANONYMOUS), IS(MAP_GROWSDOWN),
    IS(O_RDONLY), IS(O_WRONLY), IS(O_RDWR), IS(O_CREAT), IS(O_TRUNC), IS(O_TMPFILE), IS(O_NONBLOCK), IS(O_CLOEXEC),
    IS(O_DIRECTORY), IS(O_ASYNC), IS(O_PATH), IS(F_DUPFD), IS(F_DUPFD_CLOEXEC), IS(F_GETFD), IS(F_SETFD), IS(F_GETFL), IS(F_SETFL),
    IS(F_SETOWN), IS(F_SETSIG), IS(F_SETOWN_EX), IS(F_SETLK), IS(F_SETLEASE), IS(F_NOTIFY), IS(F_SETPIPE_SZ), IS(F_ADD_SEALS),
    IS(CLONE_VM), IS(CLONE_THREAD), IS(CLONE_NEWNET), IS(CLONE_NEWUSER), IS(PR_SET_NAME), IS(PR_SET_NO_NEW_PRIVS),
    IS(PR_SET_DUMPABLE), IS(PR_SET_PDEATHSIG), IS(PR_SET_PTRACER), IS(RLIMIT_CPU), IS(RLIMIT_DATA), IS(RLIMIT_NOFILE),
    IS(SECCOMP_SET_MODE_STRICT), IS(SECCOMP_SET_MODE_FILTER), IS(SECCOMP_FILTER_FLAG_TSYNC), IS(SECCOMP_FILTER_FLAG_NEW_LISTENER),
};

static pid_t own, parent;
static char limits[64];

/* Numbers and words, joined by `|`. */
static long value_of(char *text) {
    long value = 0;
    char *rest;
    for (char *part = strtok_r(text, "|", &rest); part; part = strtok_r(NULL, "|", &rest)) {
        size_t i = 0;
        while (i < sizeof words / sizeof *words && strcmp(words[i].name, part) != 0) i++;
        if (i < sizeof words / sizeof *words) value |= words[i].value;
        else if (strcmp(part, "self") == 0) value |= own;
        else if (strcmp(part, "parent") == 0) value |= parent;
        else if (strcmp(part, "pointer") == 0) value |= (long)limits;
        else if (strcmp(part, "path") == 0) value |= (long)"/etc/passwd";
        else if (strcmp(part, "proc") == 0) value |= (long)"/proc/1/stat";
        else value |= strtol(part, NULL, 0);
    }
    return value;
}

static void try_row(char *row) {
    row[strcspn(row, "\n")] = 0;
    char copy[512], *rest;
    snprintf(copy, sizeof copy, "%s", row);
    char *name = strtok_r(copy, " ", &rest), *text;
    if (name == NULL) return;
    long arguments[5] = { 0 };
    for (int i = 0; i < 5 && (text = strtok_r(NULL, " ", &rest)) != NULL; i++) arguments[i] = value_of(text);
    int number = seccomp_syscall_resolve_name(name);
    printf("%s\t%s\n", row, number == __NR_SCMP_ERROR ? "unknown" : number < 0 ? "absent" : result_of(number, arguments));
}

static void try_numbers(void) {
    const long zeros[5] = { 0 };
    for (int number = 0; number <= LAST_NUMBER; number++) {
        if (PASSES_FILTERS(number)) continue;
        const char *result = result_of(number, zeros);
        if (strcmp(result, "EPERM") == 0) continue;
        char *name = seccomp_syscall_resolve_num_arch(SCMP_ARCH_NATIVE, number);
        printf("%s\t%s\n", name ? name : "?", result);
        free(name);
    }
}

int main(int count, char **arguments) {
    if (count != 2) return 2;
    own = getpid();
    parent = getppid();
    answer_marked_calls();
    if (carillon_report_crashes(2) != 0) return 4;
    if (!(carillon_confine_loading(NULL, 0) & CARILLON_CONFINED_CALLS)) return 5;
    if (strcmp(arguments[1], "running") == 0 && !(carillon_confine_running() & CARILLON_CONFINED_CALLS)) return 6;
    char row[512];
    while (fgets(row, sizeof row, stdin) != NULL) {
        if (strcmp(row, "numbers\n") == 0) try_numbers();
        else if (strcmp(row, "x32\n") == 0) {
            fflush(stdout);
            syscall(0x40000000 | SYS_getpid);
        } else try_row(row);
    }
    return 0;
}
