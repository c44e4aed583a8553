/* Loaded before a program (LD_PRELOAD), it says that the machine has as many cores as CORES says, so that a program starts as many threads as
 * it would there. What runs at a time stays as it is, which nothing that counts instructions minds. And it does what valgrind 3.19 cannot. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef P_PIDFD
#define P_PIDFD 3
#endif

static int cores(void) {
    const char *text = getenv("CORES");
    int number = text == NULL ? 1 : atoi(text);
    return number < 1 ? 1 : number > CPU_SETSIZE ? CPU_SETSIZE : number;
}

static int fill(size_t size, cpu_set_t *set) {
    memset(set, 0, size);
    for (int core = 0; core < cores(); core++) CPU_SET_S(core, size, set);
    return 0;
}

int sched_getaffinity(pid_t thread, size_t size, cpu_set_t *set) { return (void)thread, fill(size, set); }
int pthread_getaffinity_np(pthread_t thread, size_t size, cpu_set_t *set) { return (void)thread, fill(size, set); }

int get_nprocs(void) { return cores(); }
int get_nprocs_conf(void) { return cores(); }

long sysconf(int name) {
    if (name == _SC_NPROCESSORS_ONLN || name == _SC_NPROCESSORS_CONF) return cores();
    long (*next)(int) = (long (*)(int))dlsym(RTLD_NEXT, "sysconf");
    return next(name);
}

/* Foundation believes a control group's files more than the calls above. */
int open(const char *path, int flags, ...) {
    va_list list;
    va_start(list, flags);
    mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(list, mode_t) : 0;
    va_end(list);
    if (strncmp(path, "/sys/fs/cgroup/cpu", 18) == 0) return errno = ENOENT, -1;
    int (*next)(const char *, int, ...) = (int (*)(const char *, int, ...))dlsym(RTLD_NEXT, "open");
    return next(path, flags, mode);
}

/* Valgrind writes to the set that it is given. libdispatch's, for the thread that main was, is a constant: valgrind then ends with a SIGSEGV
 * of its own. */
int sigsuspend(const sigset_t *set) {
    sigset_t copy = *set;
    int (*next)(const sigset_t *) = (int (*)(const sigset_t *))dlsym(RTLD_NEXT, "sigsuspend");
    return next(&copy);
}

/* Valgrind knows no pidfd. The folder of a process in /proc takes its place: it names the process, and poll says at once that there is
 * something, so that whoever polls asks waitid again and again. The router has such processes while it loads plugins. */
static pid_t process_of(int folder) {
    char link[32], path[32] = "";
    snprintf(link, sizeof link, "/proc/self/fd/%d", folder);
    if (readlink(link, path, sizeof path - 1) < 0) return 0;
    return strncmp(path, "/proc/", 6) == 0 ? atoi(path + 6) : 0;
}

static int open_process(pid_t process) {
    char path[32];
    snprintf(path, sizeof path, "/proc/%d", process);
    return open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

int waitid(idtype_t kind, id_t id, siginfo_t *info, int options) {
    int (*next)(idtype_t, id_t, siginfo_t *, int) = (int (*)(idtype_t, id_t, siginfo_t *, int))dlsym(RTLD_NEXT, "waitid");
    if ((int)kind != P_PIDFD) return next(kind, id, info, options);
    return next(P_PID, (id_t)process_of((int)id), info, options);
}

long syscall(long number, ...) {
    long given[6];
    va_list list;
    va_start(list, number);
    for (int place = 0; place < 6; place++) given[place] = va_arg(list, long);
    va_end(list);
    if (number == SYS_pidfd_open) return open_process((pid_t)given[0]);
    pid_t process = number == SYS_pidfd_send_signal ? process_of((int)given[0]) : 0;
    if (process != 0) return kill(process, (int)given[1]);
    long (*next)(long, ...) = (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall");
    return next(number, given[0], given[1], given[2], given[3], given[4], given[5]);
}
