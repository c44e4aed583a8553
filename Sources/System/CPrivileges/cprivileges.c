#define _GNU_SOURCE
#include "cprivileges.h"

#include <errno.h>
#include <grp.h>
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Only root may be able to read parent directories and credentials. Containers may withhold the capability; then there is none to
 * keep. */
static void keep_reading(void) {
    struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
    struct __user_cap_data_struct rights[_LINUX_CAPABILITY_U32S_3] = {{0}};
    rights[0].effective = rights[0].permitted = rights[0].inheritable = 1U << CAP_DAC_READ_SEARCH;
    if (syscall(SYS_capset, &header, rights) == 0)
        prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, CAP_DAC_READ_SEARCH, 0, 0);
}

int carillon_become(uid_t user, gid_t group, bool reads_as_root) {
    if (prctl(PR_SET_KEEPCAPS, reads_as_root, 0, 0, 0) != 0 || setgroups(0, NULL) != 0 || setresgid(group, group, group) != 0 ||
        setresuid(user, user, user) != 0)
        return errno;
    if (reads_as_root)
        keep_reading();
    return 0;
}
