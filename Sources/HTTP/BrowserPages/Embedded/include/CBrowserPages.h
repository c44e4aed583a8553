#ifndef CARILLON_BROWSER_PAGES_H
#define CARILLON_BROWSER_PAGES_H

#include <stddef.h>

/// A file that is part of the program.
struct browser_page_file {
    const char *_Nonnull name;
    const unsigned char *_Nonnull bytes;
    size_t count;
};

/// The file at `index` of the page /subscribe; null after the last. The other functions do the same for their pages.
const struct browser_page_file *_Nullable subscribe_page_file(size_t index);
const struct browser_page_file *_Nullable me_page_file(size_t index);
const struct browser_page_file *_Nullable console_page_file(size_t index);

#endif
