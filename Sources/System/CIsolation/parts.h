/* Declarations shared by the files of this module. */
#ifndef CARILLON_ISOLATION_PARTS_H
#define CARILLON_ISOLATION_PARTS_H

#include <stdbool.h>
#include <stddef.h>

/* Lets the calling thread read only the dynamic linker's files and `readable`. */
bool carillon_restrict_files(const char *const *readable, size_t count);
/* Restricts all threads to the system calls that loading libraries and the second stage need. */
bool carillon_restrict_calls_while_loading(void);
/* Restricts all threads to the system calls that plugins need. */
bool carillon_restrict_calls_while_running(void);

#endif
