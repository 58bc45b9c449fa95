// SPDX-License-Identifier: Apache-2.0
// Preloaded into martletd by Scripts/check-queue: while the file named by FAILING_WRITES exists, every write and sync of the
// queue's database fails with EIO, as on a broken disk.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int fails(int descriptor) {
    char link[64], path[4096];
    const char *flag = getenv("FAILING_WRITES");
    if (!flag || access(flag, F_OK) != 0) return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length < 0) return 0;
    path[length] = 0;
    if (!strstr(path, "queue.sqlite")) return 0;
    errno = EIO;
    return 1;
}

#define NEXT(name, ...) ((ssize_t(*)(__VA_ARGS__))dlsym(RTLD_NEXT, name))
ssize_t pwrite(int d, const void *b, size_t n, off_t o) {
    return fails(d) ? -1 : NEXT("pwrite", int, const void *, size_t, off_t)(d, b, n, o);
}
ssize_t pwrite64(int d, const void *b, size_t n, off64_t o) {
    return fails(d) ? -1 : NEXT("pwrite64", int, const void *, size_t, off64_t)(d, b, n, o);
}
int fdatasync(int d) { return fails(d) ? -1 : (int)NEXT("fdatasync", int)(d); }
int fsync(int d) { return fails(d) ? -1 : (int)NEXT("fsync", int)(d); }
