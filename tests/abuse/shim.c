/* Loaded before libc (LD_PRELOAD): a process that dies at its Nth change of a name or sync, or whose
 * disk fails there; a disk without room; a clock that is wrong. Settings come from the environment:
 *
 *   SHIM_ARMED=FILE  steps count while FILE is there
 *   SHIM_TRACE=FILE  a line for each step
 *   SHIM_KILL=N      SIGKILL instead of the Nth step, from 1
 *   SHIM_FAIL=N      EIO from the Nth step
 *   SHIM_FULL=FILE   while FILE is there, a memory takes no more bytes (ENOSPC)
 *   SHIM_CLOCK=S     the time of day is S seconds off
 *   SHIM_LATER=FILE  ... once FILE is there
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

static int steps;

/* Whether the step is to fail. */
static int step(const char *what, const char *path) {
    const char *armed = getenv("SHIM_ARMED");
    if (armed && access(armed, F_OK) != 0) return 0;
    int now = __atomic_add_fetch(&steps, 1, __ATOMIC_SEQ_CST);
    const char *trace = getenv("SHIM_TRACE"), *dies = getenv("SHIM_KILL"), *fails = getenv("SHIM_FAIL");
    if (trace) {
        FILE *file = fopen(trace, "a");
        if (file) {
            fprintf(file, "%s %s\n", what, path);
            fclose(file);
        }
    }
    if (dies && atoi(dies) == now) kill(getpid(), SIGKILL);
    if (!fails || atoi(fails) != now) return 0;
    errno = EIO;
    return 1;
}

static void name_of(int fd, char *path, size_t size) {
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, size - 1);
    path[length > 0 ? length : 0] = 0;
}

static int step_of(const char *what, int fd) {
    char path[4096];
    name_of(fd, path, sizeof path);
    return step(what, path);
}

int rename(const char *from, const char *to) {
    return step("rename", to) ? -1 : REAL(rename)(from, to);
}

int linkat(int olddir, const char *from, int newdir, const char *to, int flags) {
    return step("link", to) ? -1 : REAL(linkat)(olddir, from, newdir, to, flags);
}

int link(const char *from, const char *to) {
    return step("link", to) ? -1 : REAL(link)(from, to);
}

int unlink(const char *path) {
    return step("unlink", path) ? -1 : REAL(unlink)(path);
}

int fsync(int fd) {
    return step_of("fsync", fd) ? -1 : REAL(fsync)(fd);
}

int fdatasync(int fd) {
    return step_of("fdatasync", fd) ? -1 : REAL(fdatasync)(fd);
}

static int is_full(int fd) {
    const char *flag = getenv("SHIM_FULL");
    char path[4096];
    if (!flag || access(flag, F_OK) != 0) return 0;
    name_of(fd, path, sizeof path);
    if (!strstr(path, ".rvf")) return 0;
    errno = ENOSPC;
    return 1;
}

ssize_t write(int fd, const void *bytes, size_t count) {
    return is_full(fd) ? -1 : REAL(write)(fd, bytes, count);
}

ssize_t pwrite64(int fd, const void *bytes, size_t count, off64_t offset) {
    return is_full(fd) ? -1 : REAL(pwrite64)(fd, bytes, count, offset);
}

int clock_gettime(clockid_t clock, struct timespec *now) {
    int got = REAL(clock_gettime)(clock, now);
    const char *off = getenv("SHIM_CLOCK"), *later = getenv("SHIM_LATER");
    if (later && access(later, F_OK) != 0) off = NULL;
    if (got == 0 && off && clock == CLOCK_REALTIME) now->tv_sec += atoll(off);
    return got;
}
