/* Loaded before the C library: while the file RO_FLAG is there, every *.sqlite* file is on a read-only disk.
   What the kernel itself does at an error of the disk cannot be staged from outside: it needs no writer at that moment. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int read_only(void) {
    const char *flag = getenv("RO_FLAG");
    int kept = errno, found = flag && access(flag, F_OK) == 0;
    errno = kept;
    return found;
}

static int refused(int fd) {
    char link[64], name[4096];
    ssize_t size;
    if (!read_only()) return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    size = readlink(link, name, sizeof name - 1);
    if (size < 0) return 0;
    name[size] = 0;
    if (!strstr(name, ".sqlite")) return 0;
    errno = EROFS;
    return 1;
}

#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

ssize_t pwrite(int fd, const void *data, size_t size, off_t at) {
    return refused(fd) ? -1 : NEXT(pwrite)(fd, data, size, at);
}
ssize_t pwrite64(int fd, const void *data, size_t size, off64_t at) {
    return refused(fd) ? -1 : NEXT(pwrite64)(fd, data, size, at);
}
int ftruncate(int fd, off_t size) { return refused(fd) ? -1 : NEXT(ftruncate)(fd, size); }
int ftruncate64(int fd, off64_t size) { return refused(fd) ? -1 : NEXT(ftruncate64)(fd, size); }
int fsync(int fd) { return refused(fd) ? -1 : NEXT(fsync)(fd); }
int fdatasync(int fd) { return refused(fd) ? -1 : NEXT(fdatasync)(fd); }

static int opened(const char *path, int flags, mode_t mode) {
    if ((flags & (O_WRONLY | O_RDWR | O_CREAT)) && strstr(path, ".sqlite") && read_only()) {
        errno = EROFS;
        return -1;
    }
    return NEXT(open64)(path, flags, mode);
}
#define OPEN(name) \
    int name(const char *path, int flags, ...) { \
        va_list more; \
        va_start(more, flags); \
        mode_t mode = va_arg(more, mode_t); \
        va_end(more); \
        return opened(path, flags, mode); \
    }
OPEN(open)
OPEN(open64)
