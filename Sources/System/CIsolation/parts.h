/* What the files of this module share. */
#ifndef CARILLON_ISOLATION_PARTS_H
#define CARILLON_ISOLATION_PARTS_H

#include <stdbool.h>
#include <stddef.h>

/* Lets the calling thread read the dynamic linker's files and `readable`, and nothing else. */
bool carillon_restrict_files(const char *const *readable, size_t count);
/* Leaves all threads only the system calls that libraries need while they are loaded, and that the second stage needs. */
bool carillon_restrict_calls_while_loading(void);
/* Leaves all threads only the system calls that plugins need. */
bool carillon_restrict_calls_while_running(void);

#endif
