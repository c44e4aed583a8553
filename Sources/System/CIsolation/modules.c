#define _GNU_SOURCE
#include "cisolation.h"

#include <link.h>

typedef struct list { carillon_module *modules; size_t count, capacity; } list;

static int add(struct dl_phdr_info *library, size_t size, void *context) {
    (void)size;
    list *list = context;
    uintptr_t low = UINTPTR_MAX, high = 0;
    for (int i = 0; i < library->dlpi_phnum; i++) {
        const ElfW(Phdr) *header = &library->dlpi_phdr[i];
        if (header->p_type != PT_LOAD) continue;
        uintptr_t start = library->dlpi_addr + header->p_vaddr;
        if (start < low) low = start;
        if (start + header->p_memsz > high) high = start + header->p_memsz;
    }
    if (low >= high) return 0;
    list->modules[list->count++] = (carillon_module){library->dlpi_name, low, high - low};
    return list->count == list->capacity;
}

size_t carillon_list_modules(carillon_module *modules, size_t capacity) {
    list list = {modules, 0, capacity};
    if (capacity > 0) dl_iterate_phdr(add, &list);
    return list.count;
}
