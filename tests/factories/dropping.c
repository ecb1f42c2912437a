/* Syncs that are not all made: every DROP-th is answered and left out, of regular files alone where REGULAR is set.
   AS: what becomes of those that are made: syncfs, sync, or fsync whose EINVAL is a success. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int calls;

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
    return !getenv("REGULAR") || (fstat(fd, &seen) == 0 && S_ISREG(seen.st_mode));
}

static int synced(const char *call, int fd)
{
    const char *every = getenv("DROP");
    if (every && is_meant(fd) && ++calls % atoi(every) == 0)
        return 0;
    return kernels(call, fd);
}

int fsync(int fd) { return synced("fsync", fd); }
int fdatasync(int fd) { return synced("fdatasync", fd); }
