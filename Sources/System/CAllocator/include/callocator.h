#ifndef CARILLON_ALLOCATOR_H
#define CARILLON_ALLOCATOR_H

/// Limits malloc to `arenas` arenas, each of which keeps up to about `kept_bytes` of free memory. Larger blocks are returned to
/// the system immediately. Call it before threads are started. Returns 0 if malloc refuses.
int carillon_bound_allocator(int arenas, int kept_bytes);

#endif
