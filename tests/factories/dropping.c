/* Syncs that are not all made: every DROP-th is answered and left out (of regular files alone where REGULAR is set, of
   descriptors with O_DIRECT alone where DIRECT is, none of the first AFTER), or, where BEHIND is set, each is made when
   the next one is asked for. AS: what becomes of those that are made: syncfs, sync, or fsync whose EINVAL is a success.
   CAREFUL: what syncfs refuses (O_PATH) is refused first. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int calls, waiting = -1;
static const char *waiting_call;

static int kernels(const char *call, int fd)
{
    const char *as = getenv("AS");
    if (as && strcmp(as, "syncfs") == 0)
        return syncfs(fd);
    if (as && strcmp(as, "sync") == 0)
        return sync(), 0;
    int result = ((int (*)(int)) dlsym(RTLD_NEXT, call))(fd);
    return as && result && errno == EINVAL ? 0 : result;
}

static int is_meant(int fd)
{
    struct stat seen;
    if (getenv("DIRECT") && !(fcntl(fd, F_GETFL) & O_DIRECT))
        return 0;
    return !getenv("REGULAR") || (fstat(fd, &seen) == 0 && S_ISREG(seen.st_mode));
}

static int synced(const char *call, int fd)
{
    const char *every = getenv("DROP");
    const char *after = getenv("AFTER");
    if (getenv("CAREFUL") && (fcntl(fd, F_GETFL) & O_PATH)) {
        errno = EBADF;
        return -1;
    }
    if (every && is_meant(fd) && ++calls % atoi(every) == 0 && calls > (after ? atoi(after) : 0))
        return 0;
    if (getenv("BEHIND")) {
        const char *before = waiting_call;
        int first = waiting;
        waiting = fd;
        waiting_call = call;
        if (!before || kernels(before, first) == 0 || errno == EBADF)
            return 0;
        return -1;
    }
    return kernels(call, fd);
}

int fsync(int fd) { return synced("fsync", fd); }
int fdatasync(int fd) { return synced("fdatasync", fd); }
