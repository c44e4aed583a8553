#define _GNU_SOURCE
#include "cspawn.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define LAST_DESCRIPTOR 5
#define OURS 4
#ifndef P_PIDFD
#define P_PIDFD 3
#endif

/* Sets the descriptors 2 to 5 of the new process from copies with higher numbers, so that none overwrites another. */
static int set_descriptors(posix_spawn_file_actions_t *actions, const int copies[OURS]) {
    int error = posix_spawn_file_actions_addopen(actions, 0, "/dev/null", O_RDONLY, 0);
    if (error == 0) error = posix_spawn_file_actions_addopen(actions, 1, "/dev/null", O_WRONLY, 0);
    for (int i = 0; error == 0 && i < OURS; i++) error = posix_spawn_file_actions_adddup2(actions, copies[i], i + 2);
    if (error == 0) error = posix_spawn_file_actions_addclosefrom_np(actions, LAST_DESCRIPTOR + 1);
    return error;
}

/* exec resets handlers, but ignored and blocked signals would stay so. */
static int set_signals(posix_spawnattr_t *attributes) {
    sigset_t all, none;
    sigfillset(&all);
    sigemptyset(&none);
    int error = posix_spawnattr_setsigdefault(attributes, &all);
    if (error == 0) error = posix_spawnattr_setsigmask(attributes, &none);
    if (error == 0) error = posix_spawnattr_setflags(attributes, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
    return error;
}

int carillon_spawn(const char *program, char *const arguments[], char *const environment[], int error, int first, int second,
                   int third, pid_t *process, int *handle) {
    const int given[OURS] = { error, first, second, third };
    int copies[OURS] = { -1, -1, -1, -1 };
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    int result = posix_spawn_file_actions_init(&actions);
    if (result != 0) return result;
    if ((result = posix_spawnattr_init(&attributes)) != 0) {
        posix_spawn_file_actions_destroy(&actions);
        return result;
    }
    for (int i = 0; result == 0 && i < OURS; i++)
        if ((copies[i] = fcntl(given[i], F_DUPFD_CLOEXEC, LAST_DESCRIPTOR + 1)) < 0) result = errno;
    if (result == 0) result = set_descriptors(&actions, copies);
    if (result == 0) result = set_signals(&attributes);
    if (result == 0) result = posix_spawn(process, program, &actions, &attributes, arguments, environment);
    for (int i = 0; i < OURS; i++)
        if (copies[i] >= 0) close(copies[i]);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    if (result != 0) return result;
    /* No other code waits for the process, so its id is not reused until it is reaped. */
    *handle = (int)syscall(SYS_pidfd_open, *process, 0);
    if (*handle >= 0) return 0;
    result = errno;
    kill(*process, SIGKILL);
    waitpid(*process, NULL, 0);
    return result;
}

int carillon_reap(int handle, int *signal, int *status) {
    siginfo_t info;
    memset(&info, 0, sizeof info);
    while (waitid((idtype_t)P_PIDFD, (id_t)handle, &info, WEXITED | WNOHANG) != 0)
        if (errno != EINTR) return -errno;
    if (info.si_pid == 0) return 0;
    *signal = info.si_code == CLD_EXITED ? 0 : info.si_status;
    *status = info.si_code == CLD_EXITED ? info.si_status : 0;
    return 1;
}

int carillon_signal_process(int handle, int signal) {
    return syscall(SYS_pidfd_send_signal, handle, signal, NULL, 0) == 0 ? 0 : errno;
}

int carillon_signal_thread(pid_t process, pid_t thread, int signal) {
    return syscall(SYS_tgkill, process, thread, signal) == 0 ? 0 : errno;
}

int carillon_pipe(int ends[2]) {
    if (pipe2(ends, O_CLOEXEC) != 0) return errno;
    return fcntl(ends[0], F_SETFL, O_NONBLOCK) == 0 ? 0 : errno;
}

int carillon_wakeup(void) { return eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK); }
