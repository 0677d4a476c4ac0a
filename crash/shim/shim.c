/* Between SQLite and the disk: aborts at a chosen write, fails a chosen sync, and records what is written and what is
 * synced, in order, so that a test can rebuild the disk as it is when the power goes. Loaded with LD_PRELOAD.
 *
 * STEADFAST_SHIM_FOLDER   the folder whose files are watched; nothing else is touched
 * STEADFAST_SHIM_ABORT=n  abort at the n-th write or sync of a database file; of a write the first half is made
 * STEADFAST_SHIM_ERROR=n  the n-th sync of a database file gives EIO, once, and syncs nothing
 * STEADFAST_SHIM_LOG      a file for the record; see log.rs for its form
 * STEADFAST_SHIM_LIE=1    syncs are answered with success, and neither made nor recorded
 *
 * One lock is held over each call and its record: their order is that of the calls. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MOST_FILES 1024
#define MOST_NAME 64

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char folder[512];
static size_t folder_length;
static long abort_at, error_at, calls, syncs;
static int log_file = -1, lies;
static char names[MOST_FILES][MOST_NAME]; /* By descriptor; empty for what is not watched. */

static int (*real_open)(const char *, int, ...);
static int (*real_close)(int);
static ssize_t (*real_write)(int, const void *, size_t);
static ssize_t (*real_pwrite)(int, const void *, size_t, off_t);
static int (*real_fsync)(int);
static int (*real_fdatasync)(int);
static int (*real_ftruncate)(int, off_t);
static int (*real_unlink)(const char *);
static int (*real_rename)(const char *, const char *);

static long number(const char *name) {
    const char *text = getenv(name);
    return text ? atol(text) : 0;
}

__attribute__((constructor)) static void begin(void) {
    real_open = dlsym(RTLD_NEXT, "open64");
    real_close = dlsym(RTLD_NEXT, "close");
    real_write = dlsym(RTLD_NEXT, "write");
    real_pwrite = dlsym(RTLD_NEXT, "pwrite64");
    real_fsync = dlsym(RTLD_NEXT, "fsync");
    real_fdatasync = dlsym(RTLD_NEXT, "fdatasync");
    real_ftruncate = dlsym(RTLD_NEXT, "ftruncate64");
    real_unlink = dlsym(RTLD_NEXT, "unlink");
    real_rename = dlsym(RTLD_NEXT, "rename");
    const char *path = getenv("STEADFAST_SHIM_FOLDER");
    if (path && strlen(path) < sizeof folder) {
        strcpy(folder, path);
        folder_length = strlen(path);
    }
    abort_at = number("STEADFAST_SHIM_ABORT");
    error_at = number("STEADFAST_SHIM_ERROR");
    lies = number("STEADFAST_SHIM_LIE") != 0;
    const char *log = getenv("STEADFAST_SHIM_LOG");
    if (log) log_file = real_open(log, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
}

/* The name of a file in the folder; "." for the folder itself; NULL for all else. */
static const char *inside(const char *path) {
    if (!folder_length || strncmp(path, folder, folder_length) != 0) return NULL;
    if (path[folder_length] == 0) return ".";
    if (path[folder_length] != '/') return NULL;
    const char *name = path + folder_length + 1;
    if (*name == 0) return ".";
    /* Shared memory is rebuilt by whoever opens the file; the owner's file has no content. */
    size_t length = strlen(name);
    if (length >= MOST_NAME || strstr(name, "-shm") || strstr(name, ".owner") || !strcmp(name, "stderr")) return NULL;
    return name;
}

static const char *name_of(int fd) {
    return fd >= 0 && fd < MOST_FILES && names[fd][0] ? names[fd] : NULL;
}

static int is_database(const char *name) { return strncmp(name, "db", 2) == 0; }

static void put(const void *bytes, size_t length) {
    const char *from = bytes;
    while (length > 0) {
        ssize_t put = real_write(log_file, from, length);
        if (put <= 0) {
            dprintf(2, "shim: the record cannot be written\n");
            _exit(99);
        }
        from += put, length -= (size_t)put;
    }
}

/* One record: its kind, a number, the name, the bytes. */
static void record(char kind, uint64_t at, const char *name, const void *bytes, size_t length) {
    if (log_file < 0) return;
    uint32_t sizes[2] = {(uint32_t)strlen(name), (uint32_t)length};
    put(&kind, 1);
    put(&at, sizeof at);
    put(sizes, sizeof sizes);
    put(name, sizes[0]);
    put(bytes, length);
}

/* Counts a write or sync of a database file; whether it is the one to die at. */
static int dies(const char *name) { return is_database(name) && abort_at && ++calls == abort_at; }

static void die(const char *what, const char *name) {
    dprintf(2, "shim: abort at call %ld: %s %s\n", calls, what, name);
    abort();
}

static int open_any(const char *path, int flags, mode_t mode) {
    const char *name = inside(path);
    if (!name) return real_open(path, flags, mode);
    pthread_mutex_lock(&lock);
    struct stat before;
    int made = (flags & O_CREAT) && stat(path, &before) != 0;
    int fd = real_open(path, flags, mode);
    int error = errno;
    if (fd >= 0 && fd < MOST_FILES) {
        strcpy(names[fd], name);
        if (made) record('C', 0, name, "", 0);
        if (flags & O_TRUNC) record('T', 0, name, "", 0);
    }
    pthread_mutex_unlock(&lock);
    errno = error;
    return fd;
}

static mode_t mode_of(int flags, va_list more) { return flags & (O_CREAT | O_TMPFILE) ? va_arg(more, mode_t) : 0; }

#define OPEN(symbol)                                  \
    int symbol(const char *path, int flags, ...) {    \
        va_list more;                                 \
        va_start(more, flags);                        \
        mode_t mode = mode_of(flags, more);           \
        va_end(more);                                 \
        return open_any(path, flags, mode);           \
    }
OPEN(open)
OPEN(open64)

int close(int fd) {
    pthread_mutex_lock(&lock);
    if (fd >= 0 && fd < MOST_FILES) names[fd][0] = 0;
    int done = real_close(fd);
    pthread_mutex_unlock(&lock);
    return done;
}

static ssize_t write_any(int fd, const void *bytes, size_t length, off_t at, int here) {
    const char *name = name_of(fd);
    if (!name) return here ? real_write(fd, bytes, length) : real_pwrite(fd, bytes, length, at);
    pthread_mutex_lock(&lock);
    if (here) {
        struct stat now;
        int appends = fcntl(fd, F_GETFL) & O_APPEND;
        at = appends && fstat(fd, &now) == 0 ? now.st_size : lseek(fd, 0, SEEK_CUR);
    }
    int last = dies(name);
    if (last) length /= 2;
    ssize_t done = here ? real_write(fd, bytes, length) : real_pwrite(fd, bytes, length, at);
    int error = errno;
    if (last) die("write of half to", name);
    if (done > 0) record('W', (uint64_t)at, name, bytes, (size_t)done);
    pthread_mutex_unlock(&lock);
    errno = error;
    return done;
}

ssize_t write(int fd, const void *bytes, size_t length) { return write_any(fd, bytes, length, 0, 1); }
ssize_t pwrite(int fd, const void *bytes, size_t length, off_t at) { return write_any(fd, bytes, length, at, 0); }
ssize_t pwrite64(int fd, const void *bytes, size_t length, off_t at) { return write_any(fd, bytes, length, at, 0); }

static int sync_any(int fd, int (*real)(int)) {
    const char *name = name_of(fd);
    if (!name) return real(fd);
    pthread_mutex_lock(&lock);
    if (dies(name)) die("sync of", name);
    int done = 0, error = 0;
    if (is_database(name) && error_at && ++syncs == error_at) {
        dprintf(2, "shim: EIO at sync %ld of %s\n", syncs, name);
        record('E', 0, name, "", 0);
        done = -1, error = EIO;
    } else if (!lies) {
        done = real(fd), error = errno;
        if (done == 0) record('S', 0, name, "", 0);
    }
    pthread_mutex_unlock(&lock);
    errno = error;
    return done;
}

int fsync(int fd) { return sync_any(fd, real_fsync); }
int fdatasync(int fd) { return sync_any(fd, real_fdatasync); }

static int truncate_any(int fd, off_t size) {
    const char *name = name_of(fd);
    if (!name) return real_ftruncate(fd, size);
    pthread_mutex_lock(&lock);
    if (dies(name)) die("truncation of", name);
    int done = real_ftruncate(fd, size), error = errno;
    if (done == 0) record('T', (uint64_t)size, name, "", 0);
    pthread_mutex_unlock(&lock);
    errno = error;
    return done;
}

int ftruncate(int fd, off_t size) { return truncate_any(fd, size); }
int ftruncate64(int fd, off_t size) { return truncate_any(fd, size); }

int unlink(const char *path) {
    const char *name = inside(path);
    if (!name) return real_unlink(path);
    pthread_mutex_lock(&lock);
    if (dies(name)) die("removal of", name);
    int done = real_unlink(path), error = errno;
    if (done == 0) record('U', 0, name, "", 0);
    pthread_mutex_unlock(&lock);
    errno = error;
    return done;
}

int rename(const char *from, const char *to) {
    const char *old = inside(from), *name = inside(to);
    if (!old || !name) return real_rename(from, to);
    pthread_mutex_lock(&lock);
    int done = real_rename(from, to), error = errno;
    if (done == 0) record('R', 0, old, name, strlen(name));
    pthread_mutex_unlock(&lock);
    errno = error;
    return done;
}
