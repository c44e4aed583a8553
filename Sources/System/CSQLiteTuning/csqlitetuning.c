#include "csqlitetuning.h"

#include <sqlite3.h>

/* Variadic, so Swift cannot call it. Debian's SQLite is built without memory of its own for small pieces, so each cursor and each bound text
 * goes to malloc, some thirty times for a push, and each time through one mutex around the count. */
int carillon_sqlite_leave_memory_uncounted(void) { return sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0); }
