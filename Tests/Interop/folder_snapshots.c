/* Loaded into a program by LD_PRELOAD: copies the folder SNAPSHOTS_OF to SNAPSHOTS_TO/<number> before each call that changes a file
 * in it. Each copy is what the folder holds if the program is killed at that
 * moment: what a process wrote outlives it. Calls of several threads take turns. */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;
static int snapshots;

static void copy_file(int from, int to, const char *name) {
    int source = (int)syscall(SYS_openat, from, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW, 0);
    if (source < 0) return;
    struct stat status;
    if (fstat(source, &status) == 0 && S_ISREG(status.st_mode)) {
        int target = (int)syscall(SYS_openat, to, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, status.st_mode & 0777);
        char bytes[65536];
        for (long count; target >= 0 && (count = syscall(SYS_read, source, bytes, sizeof bytes)) > 0;)
            if (syscall(SYS_write, target, bytes, count) != count) abort();
        if (target >= 0) syscall(SYS_close, target);
    }
    syscall(SYS_close, source);
}

static void snapshot(void) {
    int saved = errno;
    char name[PATH_MAX];
    snprintf(name, sizeof name, "%s/%05d", getenv("SNAPSHOTS_TO"), ++snapshots);
    DIR *folder = opendir(getenv("SNAPSHOTS_OF"));
    if (folder == NULL || syscall(SYS_mkdirat, AT_FDCWD, name, 0755) != 0) abort();
    int to = (int)syscall(SYS_openat, AT_FDCWD, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
    for (struct dirent *entry; (entry = readdir(folder)) != NULL;)
        if (entry->d_name[0] != '.') copy_file(dirfd(folder), to, entry->d_name);
    syscall(SYS_close, to);
    closedir(folder);
    errno = saved;
}

static int is_below(const char *path) {
    const char *folder = getenv("SNAPSHOTS_OF");
    size_t length = folder == NULL ? 0 : strlen(folder);
    char absolute[PATH_MAX];
    if (path[0] != '/') {
        char here[PATH_MAX];
        if (getcwd(here, sizeof here) == NULL) return 0;
        if (snprintf(absolute, sizeof absolute, "%s/%s", here, path) >= (int)sizeof absolute) return 0;
        path = absolute;
    }
    return length > 0 && strncmp(path, folder, length) == 0 && path[length] == '/';
}

static int concerns(int file) {
    char name[64], path[PATH_MAX];
    int saved = errno;
    snprintf(name, sizeof name, "/proc/self/fd/%d", file);
    ssize_t length = readlink(name, path, sizeof path - 1);
    errno = saved;
    if (length <= 0) return 0;
    path[length] = 0;
    return is_below(path);
}

#define NEXT(name)                    \
    static __typeof__(name) *next; \
    if (next == NULL) next = (__typeof__(name) *)dlsym(RTLD_NEXT, #name)

#define TURN(is_counted, call)                  \
    if (!(is_counted)) return call;             \
    pthread_mutex_lock(&turn);                  \
    snapshot();                                 \
    __typeof__(call) result = call;             \
    pthread_mutex_unlock(&turn);                \
    return result

ssize_t write(int file, const void *bytes, size_t count) {
    NEXT(write);
    TURN(concerns(file), next(file, bytes, count));
}

ssize_t pwrite(int file, const void *bytes, size_t count, off_t offset) {
    NEXT(pwrite);
    TURN(concerns(file), next(file, bytes, count, offset));
}

ssize_t pwrite64(int file, const void *bytes, size_t count, off64_t offset) {
    return pwrite(file, bytes, count, (off_t)offset);
}

ssize_t writev(int file, const struct iovec *parts, int count) {
    NEXT(writev);
    TURN(concerns(file), next(file, parts, count));
}

int fsync(int file) {
    NEXT(fsync);
    TURN(concerns(file), next(file));
}

int fdatasync(int file) {
    NEXT(fdatasync);
    TURN(concerns(file), next(file));
}

int ftruncate(int file, off_t length) {
    NEXT(ftruncate);
    TURN(concerns(file), next(file, length));
}

int ftruncate64(int file, off64_t length) { return ftruncate(file, (off_t)length); }

int posix_fallocate(int file, off_t offset, off_t length) {
    NEXT(posix_fallocate);
    TURN(concerns(file), next(file, offset, length));
}

int posix_fallocate64(int file, off64_t offset, off64_t length) {
    return posix_fallocate(file, (off_t)offset, (off_t)length);
}

int unlink(const char *path) {
    NEXT(unlink);
    TURN(is_below(path), next(path));
}

int rename(const char *from, const char *to) {
    NEXT(rename);
    TURN(is_below(from) || is_below(to), next(from, to));
}

int link(const char *from, const char *to) {
    NEXT(link);
    TURN(is_below(to), next(from, to));
}

int linkat(int from_folder, const char *from, int to_folder, const char *to, int flags) {
    NEXT(linkat);
    TURN(is_below(to), next(from_folder, from, to_folder, to, flags));
}

int fchmod(int file, mode_t mode) {
    NEXT(fchmod);
    TURN(concerns(file), next(file, mode));
}

int openat(int folder, const char *path, int flags, ...) {
    NEXT(openat);
    va_list list;
    va_start(list, flags);
    mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(list, mode_t) : 0;
    va_end(list);
    TURN((flags & (O_CREAT | O_TRUNC)) && is_below(path), next(folder, path, flags, mode));
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
