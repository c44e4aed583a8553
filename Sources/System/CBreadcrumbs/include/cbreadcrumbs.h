/* What each thread is inside of, in memory that a file is mapped to: whatever ends the process, the file
 * says what plugins were doing. Writing a note is a few stores; nothing is flushed. */
#ifndef CARILLON_BREADCRUMBS_H
#define CARILLON_BREADCRUMBS_H

#include <stddef.h>
#include <stdint.h>

#define CARILLON_CRUMB_TEXT 64

/* A call to a plugin. The texts are cut to what there is room for. */
typedef struct carillon_crumb {
    uint32_t call;    /* 0: none */
    uint32_t deaths;  /* in the list of those who were inside at a death */
    uint64_t seconds; /* when the last of them was noticed, since 1970 */
    uint32_t plugin_length;
    uint32_t subject_length;
    char plugin[CARILLON_CRUMB_TEXT];
    char subject[CARILLON_CRUMB_TEXT];
} carillon_crumb;

/* From now on threads write into `crumbs`, of which there are `count`; NULL: nowhere. A thread that finds
 * none free writes nothing. The memory stays where it is. */
void carillon_crumbs_open(carillon_crumb *crumbs, size_t count);

/* The calling thread goes into a plugin. `former` receives what it was inside of before. */
void carillon_crumb_enter(carillon_crumb *former, uint32_t call, const char *plugin, size_t plugin_length,
                          const void *subject, size_t subject_length);
/* It has returned. */
void carillon_crumb_leave(const carillon_crumb *former);
/* What the calling thread is inside of; call 0: nothing. */
void carillon_crumb_current(carillon_crumb *crumb);

#endif
