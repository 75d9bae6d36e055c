/* SPDX-License-Identifier: Apache-2.0 */
/* Observes which files and which network a thread and its later threads and processes use, and lets each call continue
 * (seccomp_unotify(2)). The kernel reports every way to make a call, also without the C library. */
#ifndef PORTOLAN_CPLUGINOBSERVATION_OBSERVE_H
#define PORTOLAN_CPLUGINOBSERVATION_OBSERVE_H

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#if defined(__x86_64__)
#define PORTOLAN_AUDIT_ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define PORTOLAN_AUDIT_ARCH AUDIT_ARCH_AARCH64
#else
#error "define the audit architecture of this processor"
#endif

enum portolan_use_kind {
    PORTOLAN_USE_READ = 1, /* a file is opened for reading */
    PORTOLAN_USE_WRITE,    /* a file is opened for writing, or created */
    PORTOLAN_USE_CHANGE,   /* a file or folder is made, renamed, linked or removed, or its attributes change */
    PORTOLAN_USE_EXECUTE,  /* a program replaces the process */
    PORTOLAN_USE_CONNECT,
    PORTOLAN_USE_BIND,
    PORTOLAN_USE_LISTEN,   /* the address is the socket's; empty if it is unknown */
    PORTOLAN_USE_SEND,
    PORTOLAN_USE_SOCKET,   /* a socket that needs no address to receive: struct portolan_socket */
    PORTOLAN_USE_HIDDEN,   /* a call whose effect can't be seen: io_uring, a file handle, or a call of another architecture */
};

enum { PORTOLAN_USE_SIZE = 4096, PORTOLAN_USE_COUNT = 512, PORTOLAN_MESSAGE_COUNT = 64 };

/* One use: the path, or the socket address. */
struct portolan_use {
    uint32_t kind;
    uint32_t length;
    unsigned char bytes[]; /* PORTOLAN_USE_SIZE */
};
enum { PORTOLAN_USE_STRIDE = sizeof(struct portolan_use) + PORTOLAN_USE_SIZE };

/* The arguments of socket(2), without the flags of the type. */
struct portolan_socket {
    int32_t family, type, protocol;
};

/* The different uses so far. Only the observing thread writes. */
struct portolan_uses {
    uint32_t count; /* written with release order after the use itself */
    uint32_t lost;  /* uses for which there was no room, or whose arguments could not be read */
    uint32_t ended; /* whether the observation ended early */
    uint32_t reserved;
    unsigned char all[]; /* PORTOLAN_USE_COUNT times PORTOLAN_USE_STRIDE */
};

/* Returns NULL without memory. Lives as long as the process. */
static inline struct portolan_uses *portolan_new_uses(void) {
    return (struct portolan_uses *)calloc(1, sizeof(struct portolan_uses) + (size_t)PORTOLAN_USE_COUNT * PORTOLAN_USE_STRIDE);
}

static inline uint32_t portolan_use_count(const struct portolan_uses *uses) { return __atomic_load_n(&uses->count, __ATOMIC_ACQUIRE); }
static inline uint32_t portolan_lost_uses(const struct portolan_uses *uses) {
    return __atomic_load_n(&uses->lost, __ATOMIC_ACQUIRE) + __atomic_load_n(&uses->ended, __ATOMIC_ACQUIRE);
}

static inline const struct portolan_use *portolan_use_at(const struct portolan_uses *uses, uint32_t index) {
    return index < PORTOLAN_USE_COUNT ? (const struct portolan_use *)(uses->all + (size_t)index * PORTOLAN_USE_STRIDE) : NULL;
}
static inline const unsigned char *portolan_bytes_of_use(const struct portolan_use *use) { return use->bytes; }

/* Calls that are newer than the headers of some systems. Their numbers are the same on all processors. */
enum { PORTOLAN_SYS_FCHMODAT2 = 452, PORTOLAN_SYS_SETXATTRAT = 463, PORTOLAN_SYS_REMOVEXATTRAT = 466 };

/* The observed calls. Not all processors have the older ones. */
static const int portolan_observed_calls[] = {
#ifdef SYS_open
    SYS_open, SYS_creat, SYS_unlink, SYS_rename, SYS_mkdir, SYS_rmdir, SYS_link, SYS_symlink, SYS_mknod,
    SYS_chmod, SYS_chown, SYS_lchown, SYS_utime, SYS_utimes, SYS_futimesat,
#endif
    SYS_openat, SYS_openat2, SYS_unlinkat, SYS_renameat2, SYS_mkdirat, SYS_linkat, SYS_symlinkat, SYS_mknodat, SYS_truncate,
#ifdef SYS_renameat
    SYS_renameat,
#endif
    SYS_fchmod, SYS_fchmodat, PORTOLAN_SYS_FCHMODAT2, SYS_fchown, SYS_fchownat, SYS_utimensat,
    SYS_setxattr, SYS_lsetxattr, SYS_fsetxattr, PORTOLAN_SYS_SETXATTRAT,
    SYS_removexattr, SYS_lremovexattr, SYS_fremovexattr, PORTOLAN_SYS_REMOVEXATTRAT,
    SYS_execve, SYS_execveat,
    SYS_mount, SYS_umount2, SYS_chroot, SYS_inotify_add_watch,
    SYS_socket, SYS_connect, SYS_bind, SYS_listen, SYS_sendmsg, SYS_sendmmsg,
    SYS_io_uring_setup, SYS_open_by_handle_at,
};

/* Begins the observation of the calling thread and of all threads and processes that it starts from now on. It can't
 * be undone. Returns the descriptor for portolan_observe, or -1 with errno. */
static inline int portolan_begin_observation(void) {
    enum { CALLS = sizeof portolan_observed_calls / sizeof *portolan_observed_calls };
    struct sock_filter filter[2 * CALLS + 16];
    unsigned short count = 0;
    const struct sock_filter notify = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF), allow = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
#define PORTOLAN_ADD(...) filter[count++] = (struct sock_filter)__VA_ARGS__
    PORTOLAN_ADD(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)));
    PORTOLAN_ADD(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, PORTOLAN_AUDIT_ARCH, 1, 0));
    filter[count++] = notify;
    PORTOLAN_ADD(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)));
#if defined(__x86_64__)
    /* The numbers of x32. */
    PORTOLAN_ADD(BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, 0x40000000U, 0, 1));
    filter[count++] = notify;
#endif
    for (int i = 0; i < CALLS; i++) {
        PORTOLAN_ADD(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)portolan_observed_calls[i], 0, 1));
        filter[count++] = notify;
    }
    /* sendto(2) without an address is send(2) on a socket that is connected already. */
    PORTOLAN_ADD(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)SYS_sendto, 0, 5));
    PORTOLAN_ADD(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[4])));
    PORTOLAN_ADD(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 2));
    PORTOLAN_ADD(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[4]) + 4));
    PORTOLAN_ADD(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 1, 0));
    filter[count++] = notify;
    filter[count++] = allow;
#undef PORTOLAN_ADD
    struct sock_fprog program = { .len = count, .filter = filter };
    /* Needed without CAP_SYS_ADMIN. */
    if (prctl(PR_SET_NO_NEW_PRIVS, 1UL, 0UL, 0UL, 0UL) != 0) return -1;
    /* With the second flag of Linux 5.19, a signal does not interrupt a call that waits for the observer. */
    long listener = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER | (1UL << 5), &program);
    if (listener < 0 && errno == EINVAL) listener = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &program);
    return (int)listener;
}

/* Copies bytes of another thread or process. Returns 0 if all could be read. */
static inline int portolan_peek(uint32_t thread, uint64_t place, void *bytes, size_t size) {
    struct iovec local = { bytes, size }, remote = { (void *)(uintptr_t)place, size };
    return syscall(SYS_process_vm_readv, (pid_t)thread, &local, 1UL, &remote, 1UL, 0UL) == (long)size ? 0 : -1;
}

/* Copies a text. Returns its length, or -1 if it can't be read or does not fit. */
static inline int portolan_peek_text(uint32_t thread, uint64_t place, unsigned char *bytes, size_t size) {
    size_t length = 0;
    while (length < size) {
        /* Not beyond the end of a page, because the next one may be missing. */
        size_t part = 4096 - (size_t)((place + length) & 4095);
        if (part > size - length) part = size - length;
        if (portolan_peek(thread, place + length, bytes + length, part) != 0) return -1;
        const unsigned char *end = memchr(bytes + length, 0, part);
        if (end) return (int)(end - bytes);
        length += part;
    }
    return -1;
}

/* Adds a use, unless an equal one is there. */
static inline void portolan_add_use(struct portolan_uses *uses, const struct portolan_use *use) {
    uint32_t count = uses->count;
    for (uint32_t i = 0; i < count; i++) {
        const struct portolan_use *other = portolan_use_at(uses, i);
        if (other->kind == use->kind && other->length == use->length && memcmp(other->bytes, use->bytes, use->length) == 0) return;
    }
    if (count >= PORTOLAN_USE_COUNT) {
        __atomic_add_fetch(&uses->lost, 1, __ATOMIC_RELEASE);
        return;
    }
    memcpy(uses->all + (size_t)count * PORTOLAN_USE_STRIDE, use, sizeof *use + use->length);
    __atomic_store_n(&uses->count, count + 1, __ATOMIC_RELEASE);
}

/* Notes the file of a descriptor. A file that has no name (any more), such as a pipe, counts only if it is executed. */
static inline void portolan_note_descriptor(struct portolan_uses *uses, struct portolan_use *use, uint32_t kind, uint32_t thread,
                                            uint64_t descriptor) {
    char link[64];
    struct stat status;
    snprintf(link, sizeof link, "/proc/%u/fd/%d", thread, (int)descriptor);
    ssize_t count = readlink(link, (char *)use->bytes, PORTOLAN_USE_SIZE);
    /* The call fails by itself for a descriptor that is not open. */
    if (count <= 0 || use->bytes[0] != '/') return;
    if (kind != PORTOLAN_USE_EXECUTE && (stat(link, &status) != 0 || status.st_nlink == 0)) return;
    use->kind = kind;
    use->length = (uint32_t)count;
    portolan_add_use(uses, use);
}

/* Notes the path at `place`, relative to `folder` (openat(2)). */
static inline void portolan_note_path(struct portolan_uses *uses, struct portolan_use *use, uint32_t kind, uint32_t thread, uint64_t folder,
                                      uint64_t place) {
    unsigned char path[PORTOLAN_USE_SIZE];
    int length = portolan_peek_text(thread, place, path, sizeof path);
    /* The call fails by itself for a bad pointer, an empty path, and one that is too long. */
    if (length <= 0) return;
    use->kind = kind;
    use->length = 0;
    if (path[0] != '/') {
        char link[64];
        if ((int)folder == AT_FDCWD) snprintf(link, sizeof link, "/proc/%u/cwd", thread);
        else snprintf(link, sizeof link, "/proc/%u/fd/%d", thread, (int)folder);
        ssize_t count = readlink(link, (char *)use->bytes, PORTOLAN_USE_SIZE);
        if (count <= 0 || use->bytes[0] != '/' || count + 1 + length > PORTOLAN_USE_SIZE) {
            __atomic_add_fetch(&uses->lost, 1, __ATOMIC_RELEASE);
            return;
        }
        use->length = (uint32_t)count;
        use->bytes[use->length++] = '/';
    }
    memcpy(use->bytes + use->length, path, (size_t)length);
    use->length += (uint32_t)length;
    portolan_add_use(uses, use);
}

/* Notes the same for a call in which an empty path stands for the descriptor `folder`, if `flags` has AT_EMPTY_PATH. Without
 * a path, the descriptor is meant, too (utimensat(2)). */
static inline void portolan_note_path_or_descriptor(struct portolan_uses *uses, struct portolan_use *use, uint32_t kind, uint32_t thread,
                                                    uint64_t folder, uint64_t place, uint64_t flags) {
    unsigned char first = 1;
    int is_empty = place == 0 || ((flags & 0x1000 /* AT_EMPTY_PATH */) != 0 && portolan_peek(thread, place, &first, 1) == 0 && first == 0);
    if (!is_empty) return portolan_note_path(uses, use, kind, thread, folder, place);
    portolan_note_descriptor(uses, use, kind, thread, folder);
}

/* Notes the socket address at `place`. */
static inline void portolan_note_address(struct portolan_uses *uses, struct portolan_use *use, uint32_t kind, uint32_t thread, uint64_t place,
                                         uint64_t length) {
    if (place == 0 || length < sizeof(sa_family_t)) return;
    if (length > 128) length = 128;
    if (portolan_peek(thread, place, use->bytes, (size_t)length) != 0) return;
    use->kind = kind;
    use->length = (uint32_t)length;
    portolan_add_use(uses, use);
}

/* Notes that a socket listens. Without bind(2), it gets a port by itself. A local socket has an address from bind(2), which
 * was noted. */
static inline void portolan_note_listen(struct portolan_uses *uses, struct portolan_use *use, uint32_t thread, int descriptor) {
    char path[64];
    union {
        sa_family_t family;
        unsigned char bytes[128];
    } address;
    socklen_t length = sizeof address;
    snprintf(path, sizeof path, "/proc/self/task/%u", thread);
    int is_own = access(path, F_OK) == 0, copy = descriptor;
    if (!is_own) {
        int process = (int)syscall(SYS_pidfd_open, (pid_t)thread, 0U);
        copy = process < 0 ? -1 : (int)syscall(SYS_pidfd_getfd, process, descriptor, 0U);
        if (process >= 0) close(process);
    }
    int is_known = copy >= 0 && getsockname(copy, (struct sockaddr *)&address, &length) == 0 && length >= sizeof address.family;
    if (!is_own && copy >= 0) close(copy);
    if (is_known && address.family == AF_UNIX) return;
    use->kind = PORTOLAN_USE_LISTEN;
    use->length = !is_known ? 0 : length < sizeof address ? length : sizeof address;
    memcpy(use->bytes, &address, use->length);
    portolan_add_use(uses, use);
}

/* Notes a socket that can receive without connect(2) and bind(2). The C library lists the network interfaces through a
 * netlink socket of the protocol 0 (NETLINK_ROUTE). */
static inline void portolan_note_socket(struct portolan_uses *uses, struct portolan_use *use, const uint64_t *arguments) {
    struct portolan_socket opened = { (int32_t)arguments[0], (int32_t)arguments[1] & 15, (int32_t)arguments[2] };
    switch (opened.family) {
    case AF_UNIX: return;
    case AF_NETLINK:
        if (opened.protocol == 0) return;
        break;
    case AF_PACKET: break;
    default:
        if (opened.type != SOCK_RAW && opened.type != 10 /* SOCK_PACKET */) return;
    }
    use->kind = PORTOLAN_USE_SOCKET;
    use->length = sizeof opened;
    memcpy(use->bytes, &opened, sizeof opened);
    portolan_add_use(uses, use);
}

static inline uint32_t portolan_kind_of_open(uint64_t flags) {
    return (flags & O_ACCMODE) != O_RDONLY || (flags & (O_CREAT | O_TRUNC)) != 0 ? PORTOLAN_USE_WRITE : PORTOLAN_USE_READ;
}

static inline void portolan_note_call(struct portolan_uses *uses, struct portolan_use *use, const struct seccomp_notif *call) {
    const uint32_t thread = call->pid;
    const uint64_t *a = (const uint64_t *)call->data.args, here = (uint64_t)(int64_t)AT_FDCWD;
    if (call->data.arch != PORTOLAN_AUDIT_ARCH) {
        use->kind = PORTOLAN_USE_HIDDEN;
        use->length = 0;
        return portolan_add_use(uses, use);
    }
    switch (call->data.nr) {
#ifdef SYS_open
    case SYS_open: return portolan_note_path(uses, use, portolan_kind_of_open(a[1]), thread, here, a[0]);
    case SYS_creat: return portolan_note_path(uses, use, PORTOLAN_USE_WRITE, thread, here, a[0]);
    case SYS_unlink:
    case SYS_mkdir:
    case SYS_rmdir:
    case SYS_mknod:
    case SYS_chmod:
    case SYS_chown:
    case SYS_lchown:
    case SYS_utime:
    case SYS_utimes: return portolan_note_path(uses, use, PORTOLAN_USE_CHANGE, thread, here, a[0]);
    case SYS_futimesat: return portolan_note_path_or_descriptor(uses, use, PORTOLAN_USE_CHANGE, thread, a[0], a[1], 0);
    case SYS_symlink: return portolan_note_path(uses, use, PORTOLAN_USE_CHANGE, thread, here, a[1]);
    case SYS_rename:
    case SYS_link:
        portolan_note_path(uses, use, PORTOLAN_USE_CHANGE, thread, here, a[0]);
        return portolan_note_path(uses, use, PORTOLAN_USE_CHANGE, thread, here, a[1]);
#endif
    case SYS_mount: return portolan_note_path(uses, use, PORTOLAN_USE_CHANGE, thread, here, a[1]);
    case SYS_umount2: return portolan_note_path(uses, use, PORTOLAN_USE_CHANGE, thread, here, a[0]);
    case SYS_chroot: return portolan_note_path(uses, use, PORTOLAN_USE_READ, thread, here, a[0]);
    case SYS_inotify_add_watch: return portolan_note_path(uses, use, PORTOLAN_USE_READ, thread, here, a[1]);
    case SYS_truncate: return portolan_note_path(uses, use, PORTOLAN_USE_WRITE, thread, here, a[0]);
    case SYS_openat: return portolan_note_path(uses, use, portolan_kind_of_open(a[2]), thread, a[0], a[1]);
    case SYS_openat2: {
        uint64_t flags = 0;
        if (portolan_peek(thread, a[2], &flags, sizeof flags) != 0) return;
        return portolan_note_path(uses, use, portolan_kind_of_open(flags), thread, a[0], a[1]);
    }
    case SYS_setxattr:
    case SYS_lsetxattr:
    case SYS_removexattr:
    case SYS_lremovexattr: return portolan_note_path(uses, use, PORTOLAN_USE_CHANGE, thread, here, a[0]);
    case SYS_fchmod:
    case SYS_fchown:
    case SYS_fsetxattr:
    case SYS_fremovexattr: return portolan_note_descriptor(uses, use, PORTOLAN_USE_CHANGE, thread, a[0]);
    case SYS_utimensat:
    case PORTOLAN_SYS_FCHMODAT2: return portolan_note_path_or_descriptor(uses, use, PORTOLAN_USE_CHANGE, thread, a[0], a[1], a[3]);
    case SYS_fchownat: return portolan_note_path_or_descriptor(uses, use, PORTOLAN_USE_CHANGE, thread, a[0], a[1], a[4]);
    case PORTOLAN_SYS_SETXATTRAT:
    case PORTOLAN_SYS_REMOVEXATTRAT:
        return portolan_note_path_or_descriptor(uses, use, PORTOLAN_USE_CHANGE, thread, a[0], a[1], a[2]);
    case SYS_execve: return portolan_note_path(uses, use, PORTOLAN_USE_EXECUTE, thread, here, a[0]);
    case SYS_execveat: return portolan_note_path_or_descriptor(uses, use, PORTOLAN_USE_EXECUTE, thread, a[0], a[1], a[4]);
    case SYS_unlinkat:
    case SYS_mkdirat:
    case SYS_fchmodat:
    case SYS_mknodat: return portolan_note_path(uses, use, PORTOLAN_USE_CHANGE, thread, a[0], a[1]);
    case SYS_symlinkat: return portolan_note_path(uses, use, PORTOLAN_USE_CHANGE, thread, a[1], a[2]);
#ifdef SYS_renameat
    case SYS_renameat:
#endif
    case SYS_renameat2:
        portolan_note_path(uses, use, PORTOLAN_USE_CHANGE, thread, a[0], a[1]);
        return portolan_note_path(uses, use, PORTOLAN_USE_CHANGE, thread, a[2], a[3]);
    case SYS_linkat:
        portolan_note_path_or_descriptor(uses, use, PORTOLAN_USE_CHANGE, thread, a[0], a[1], a[4]);
        return portolan_note_path(uses, use, PORTOLAN_USE_CHANGE, thread, a[2], a[3]);
    case SYS_connect: return portolan_note_address(uses, use, PORTOLAN_USE_CONNECT, thread, a[1], (uint32_t)a[2]);
    case SYS_bind: return portolan_note_address(uses, use, PORTOLAN_USE_BIND, thread, a[1], (uint32_t)a[2]);
    case SYS_listen: return portolan_note_listen(uses, use, thread, (int)a[0]);
    case SYS_socket: return portolan_note_socket(uses, use, a);
    case SYS_sendto: return portolan_note_address(uses, use, PORTOLAN_USE_SEND, thread, a[4], (uint32_t)a[5]);
    case SYS_sendmsg:
    case SYS_sendmmsg: {
        /* A struct mmsghdr begins with a struct msghdr, and has the size of one more pointer. */
        uint64_t count = call->data.nr == SYS_sendmsg ? 1 : (uint32_t)a[2];
        for (uint64_t i = 0; i < count && i < PORTOLAN_MESSAGE_COUNT; i++) {
            struct msghdr message;
            if (portolan_peek(thread, a[1] + i * (sizeof message + sizeof(void *)), &message, sizeof message) != 0) return;
            portolan_note_address(uses, use, PORTOLAN_USE_SEND, thread, (uint64_t)(uintptr_t)message.msg_name, message.msg_namelen);
        }
        return;
    }
    default:
        use->kind = PORTOLAN_USE_HIDDEN;
        use->length = 0;
        return portolan_add_use(uses, use);
    }
}

/* Notes each observed call, and lets it continue. Returns when nothing is observed any more. The calling thread must
 * not be observed itself. It allocates nothing and takes no lock, because the observed thread can hold any lock. */
static inline void portolan_observe(int listener, struct portolan_uses *uses) {
    union {
        struct portolan_use use;
        unsigned char room[PORTOLAN_USE_STRIDE];
    } next;
    for (;;) {
        struct seccomp_notif call;
        struct seccomp_notif_resp answer;
        memset(&call, 0, sizeof call);
        memset(&answer, 0, sizeof answer);
        if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &call) != 0) {
            /* ENOENT: the thread has ended, or a signal interrupted its call. */
            if (errno == EINTR || errno == ENOENT) continue;
            break;
        }
        portolan_note_call(uses, &next.use, &call);
        answer.id = call.id;
        answer.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
        if (ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &answer) != 0 && errno != ENOENT && errno != EINTR) break;
    }
    __atomic_store_n(&uses->ended, 1, __ATOMIC_RELEASE);
    close(listener);
}

#endif
