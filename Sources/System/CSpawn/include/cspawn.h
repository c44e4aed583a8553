/* Starts a process that inherits nothing but the descriptors it is given. */
#ifndef CARILLON_SPAWN_H
#define CARILLON_SPAWN_H

#include <stdint.h>
#include <sys/types.h>

/* Starts `program` with `arguments` and `environment` (both end with NULL). Its descriptors 0 and 1 are /dev/null, 2 is `error`,
 * 3, 4 and 5 are `first`, `second` and `third`; no other is open in it. All signals are at their defaults and none is blocked.
 * `process` receives its id, `handle` a pidfd. 0, or an errno. Any thread. */
int carillon_spawn(const char *program, char *const arguments[], char *const environment[], int error, int first, int second,
                   int third, pid_t *process, int *handle);
/* How a process ended, without waiting: 1 when it has (and it is reaped), 0 when it runs, or a negative errno. `signal` is that
 * which ended it, or 0; `status` its exit status. */
int carillon_reap(int handle, int *signal, int *status);
/* Sends `signal` to the process. 0, or an errno. */
int carillon_signal_process(int handle, int signal);
/* Sends `signal` to one thread of a process that is not reaped yet. 0, or an errno. */
int carillon_signal_thread(pid_t process, pid_t thread, int signal);
/* A pipe that exec closes: ends[0] is for reading and never waits. 0, or an errno. */
int carillon_pipe(int ends[2]);
/* A counter that exec closes and that never waits, for waking a thread that polls; -1: there is none. */
int carillon_wakeup(void);

#endif
