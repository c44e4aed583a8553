#pragma once
#include <semaphore.h>
#include <time.h>

/* POSIX.1-2024, and glibc from 2.30 on, whose header hides it from Swift. */
int sem_clockwait(sem_t *semaphore, clockid_t clock, const struct timespec *deadline);
