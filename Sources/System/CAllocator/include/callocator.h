#ifndef CARILLON_ALLOCATOR_H
#define CARILLON_ALLOCATOR_H

/// Has malloc use so many arenas at most from now on, of which each keeps about so much that is free; larger blocks are
/// the system's and go back to it at once. Call it before there are threads. Returns 0 where malloc refuses.
int carillon_bound_allocator(int arenas, int kept_bytes);

#endif
