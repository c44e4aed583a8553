/* Files in stage 1 of the sandbox: Landlock. glibc has no functions for its system calls. */
#define _GNU_SOURCE
#include "parts.h"

#include <fcntl.h>
#include <link.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(SYS_landlock_create_ruleset) && defined(SYS_landlock_add_rule) && defined(SYS_landlock_restrict_self)

/* The same as in <linux/landlock.h>, so that the build does not depend on its version. */
struct ruleset { uint64_t files, network, scopes; };
struct path_rule { uint64_t allowed; int32_t parent; } __attribute__((packed));
enum { VERSION = 1, PATH_RULE = 1 };
enum { READ_FILE = 1 << 2, READ_DIR = 1 << 3 };

/* The file rights that a version of Landlock supports. Rights that are not handled are kept. */
static uint64_t file_rights(long version) {
    uint64_t rights = (1 << 13) - 1;
    if (version >= 2) rights |= 1 << 13; /* linking and renaming across directories */
    if (version >= 3) rights |= 1 << 14; /* truncating */
    if (version >= 5) rights |= 1 << 15; /* ioctl on devices */
    return rights;
}

static void allow(int rules, const char *path) {
    int fd = open(path, O_PATH | O_CLOEXEC);
    if (fd < 0) return;
    struct stat status;
    if (fstat(fd, &status) == 0) {
        struct path_rule rule = {S_ISDIR(status.st_mode) ? READ_FILE | READ_DIR : READ_FILE, fd};
        syscall(SYS_landlock_add_rule, rules, PATH_RULE, &rule, 0);
    }
    close(fd);
}

/* The directory of a library in memory, because its dependencies are there too. */
static int allow_folder_of(struct dl_phdr_info *library, size_t size, void *rules) {
    (void)size;
    char folder[4096];
    const char *slash = library->dlpi_name[0] == '/' ? strrchr(library->dlpi_name, '/') : NULL;
    size_t length = slash ? (size_t)(slash - library->dlpi_name) : 0;
    if (length == 0 || length >= sizeof folder) return 0;
    memcpy(folder, library->dlpi_name, length);
    folder[length] = 0;
    allow(*(int *)rules, folder);
    return 0;
}

static void allow_listed(int rules, const char *folders) {
    while (folders && *folders) {
        const char *end = strchrnul(folders, ':');
        size_t length = (size_t)(end - folders);
        char folder[4096];
        if (length > 0 && length < sizeof folder && folders[0] == '/') {
            memcpy(folder, folders, length);
            folder[length] = 0;
            allow(rules, folder);
        }
        folders = *end ? end + 1 : end;
    }
}

bool carillon_restrict_files(const char *const *readable, size_t count) {
    static const char *const usual[] = {
        "/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/local/lib", "/etc/ld.so.cache", "/etc/localtime",
        "/usr/share/zoneinfo", "/dev/null", "/dev/urandom",
    };
    long version = syscall(SYS_landlock_create_ruleset, NULL, 0, VERSION);
    if (version < 1) return false;
    struct ruleset handled = {file_rights(version), 0, 0};
    size_t size = sizeof handled.files;
    if (version >= 4) {
        handled.network = 3; /* binding and connecting TCP */
        size = 2 * sizeof(uint64_t);
    }
    if (version >= 6) {
        handled.scopes = 3; /* abstract sockets and signals beyond this process and its children */
        size = 3 * sizeof(uint64_t);
    }
    int rules = (int)syscall(SYS_landlock_create_ruleset, &handled, size, 0);
    if (rules < 0) return false;
    for (size_t i = 0; i < sizeof usual / sizeof *usual; i++) allow(rules, usual[i]);
    dl_iterate_phdr(allow_folder_of, &rules);
    allow_listed(rules, getenv("LD_LIBRARY_PATH"));
    for (size_t i = 0; i < count; i++) allow(rules, readable[i]);
    bool holds = syscall(SYS_landlock_restrict_self, rules, 0) == 0;
    close(rules);
    return holds;
}

#else

bool carillon_restrict_files(const char *const *readable, size_t count) {
    (void)readable;
    (void)count;
    return false;
}

#endif
