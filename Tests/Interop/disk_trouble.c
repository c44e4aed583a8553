/* Loaded into a program by LD_PRELOAD: what it writes below DISK_TROUBLE_FOLDER fails while the file DISK_TROUBLE says how.
 *
 *   ENOSPC | EROFS | EIO      every write, flush, truncation and new file fails so
 *   ENOSPC grow               only what makes a file longer, or a new one: what a full disk is like in truth
 *   ENOSPC short              a write takes half of its bytes, and the next one fails
 *   EIO fsync                 only flushes fail
 *
 * Looks at the file at each call, so that trouble comes and goes at once. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

enum scope { NONE, ALL, GROW, SHORT, FLUSH };

static _Thread_local int was_short;

static enum scope trouble(int *number) {
    const char *path = getenv("DISK_TROUBLE");
    if (path == NULL) return NONE;
    int file = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0);
    if (file < 0) return NONE;
    char text[64] = {0};
    ssize_t length = syscall(SYS_read, file, text, sizeof text - 1);
    syscall(SYS_close, file);
    if (length <= 0) return NONE;
    *number = strncmp(text, "ENOSPC", 6) == 0 ? ENOSPC : strncmp(text, "EROFS", 5) == 0 ? EROFS : EIO;
    if (strstr(text, "grow")) return GROW;
    if (strstr(text, "short")) return SHORT;
    if (strstr(text, "fsync")) return FLUSH;
    return ALL;
}

static int is_below(const char *path) {
    const char *folder = getenv("DISK_TROUBLE_FOLDER");
    size_t length = folder == NULL ? 0 : strlen(folder);
    return length > 0 && strncmp(path, folder, length) == 0 && path[length] == '/';
}

static int concerns(int file) {
    char name[64], path[PATH_MAX];
    snprintf(name, sizeof name, "/proc/self/fd/%d", file);
    ssize_t length = readlink(name, path, sizeof path - 1);
    if (length <= 0) return 0;
    path[length] = 0;
    return is_below(path);
}

/* How many of `count` bytes at `end - count` may be written; -1 with errno set for none. */
static ssize_t allowed(int file, size_t count, off_t end) {
    int saved = errno, number = 0;
    enum scope scope = trouble(&number);
    if (scope == NONE || scope == FLUSH || !concerns(file)) {
        errno = saved;
        return (ssize_t)count;
    }
    struct stat status;
    if (scope == GROW && fstat(file, &status) == 0 && end >= 0 && end <= status.st_size) {
        errno = saved;
        return (ssize_t)count;
    }
    if (scope == SHORT && count > 1 && !was_short) {
        was_short = 1;
        errno = saved;
        return (ssize_t)(count / 2);
    }
    was_short = 0;
    errno = number;
    return -1;
}

static int may_flush(int file) {
    int saved = errno, number = 0;
    enum scope scope = trouble(&number);
    int is_refused = (scope == ALL || scope == FLUSH) && concerns(file);
    errno = is_refused ? number : saved;
    return !is_refused;
}

static int may_create(int folder, const char *path, int flags) {
    int saved = errno, number = 0;
    enum scope scope = trouble(&number);
    struct stat status;
    int exists = fstatat(folder, path, &status, 0) == 0;
    int changes = ((flags & O_CREAT) && !exists) || (number == EROFS && (flags & O_ACCMODE) != O_RDONLY);
    int is_refused = scope != NONE && scope != FLUSH && changes && is_below(path);
    errno = is_refused ? number : saved;
    return !is_refused;
}

#define NEXT(name)                    \
    static __typeof__(name) *next; \
    if (next == NULL) next = (__typeof__(name) *)dlsym(RTLD_NEXT, #name)

ssize_t write(int file, const void *bytes, size_t count) {
    NEXT(write);
    ssize_t room = allowed(file, count, -1);
    return room < 0 ? -1 : next(file, bytes, (size_t)room);
}

ssize_t pwrite(int file, const void *bytes, size_t count, off_t offset) {
    NEXT(pwrite);
    ssize_t room = allowed(file, count, offset + (off_t)count);
    return room < 0 ? -1 : next(file, bytes, (size_t)room, offset);
}

ssize_t pwrite64(int file, const void *bytes, size_t count, off64_t offset) {
    return pwrite(file, bytes, count, (off_t)offset);
}

ssize_t writev(int file, const struct iovec *parts, int count) {
    NEXT(writev);
    size_t length = 0;
    for (int part = 0; part < count; part++) length += parts[part].iov_len;
    return allowed(file, length, -1) < 0 ? -1 : next(file, parts, count);
}

/* A full disk has nothing free. */
int statvfs(const char *restrict path, struct statvfs *restrict status) {
    NEXT(statvfs);
    const char *folder = getenv("DISK_TROUBLE_FOLDER");
    int number = 0, result = next(path, status);
    int is_there = folder != NULL && strcmp(path, folder) == 0;
    if (result == 0 && is_there && trouble(&number) != NONE && number == ENOSPC) status->f_bavail = 0;
    return result;
}

int fsync(int file) {
    NEXT(fsync);
    return may_flush(file) ? next(file) : -1;
}

int fdatasync(int file) {
    NEXT(fdatasync);
    return may_flush(file) ? next(file) : -1;
}

int ftruncate(int file, off_t length) {
    NEXT(ftruncate);
    return allowed(file, 1, length) < 0 ? -1 : next(file, length);
}

int ftruncate64(int file, off64_t length) { return ftruncate(file, (off_t)length); }

int posix_fallocate(int file, off_t offset, off_t length) {
    NEXT(posix_fallocate);
    return allowed(file, 1, offset + length) < 0 ? errno : next(file, offset, length);
}

int posix_fallocate64(int file, off64_t offset, off64_t length) {
    return posix_fallocate(file, (off_t)offset, (off_t)length);
}

int openat(int folder, const char *path, int flags, ...) {
    NEXT(openat);
    va_list list;
    va_start(list, flags);
    mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(list, mode_t) : 0;
    va_end(list);
    return may_create(folder, path, flags) ? next(folder, path, flags, mode) : -1;
}

int open(const char *path, int flags, ...) {
    va_list list;
    va_start(list, flags);
    mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(list, mode_t) : 0;
    va_end(list);
    return openat(AT_FDCWD, path, flags, mode);
}

int open64(const char *path, int flags, ...) {
    va_list list;
    va_start(list, flags);
    mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(list, mode_t) : 0;
    va_end(list);
    return openat(AT_FDCWD, path, flags | O_LARGEFILE, mode);
}
