#pragma once

/* POSIX.1-2024 and glibc 2.30 or later, whose header hides it from Swift. Takes a `sem_t *`, a `clockid_t` and a `const struct
 * timespec *`. Declared without glibc's headers, because Swift would look for their types in this module. */
int sem_clockwait(void *semaphore, int clock, const void *deadline);
