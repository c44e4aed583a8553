#include "callocator.h"

#include <malloc.h>
#include <stdlib.h>

/* glibc gives threads up to eight arenas per core, and each keeps the memory of its peak: after a large block (of up to 32 MiB)
 * is freed, glibc raises its thresholds and returns no memory. After 1.3 million pushes on two cores, 16 arenas kept 135 MiB and
 * used 18. */
int carillon_bound_allocator(int arenas, int kept_bytes) {
    /* The operator's setting has precedence. */
    if (getenv("MALLOC_ARENA_MAX") != NULL) return 1;
    return mallopt(M_ARENA_MAX, arenas) && mallopt(M_MMAP_THRESHOLD, kept_bytes) && mallopt(M_TRIM_THRESHOLD, kept_bytes);
}
