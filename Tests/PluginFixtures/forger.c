/* SPDX-License-Identifier: Apache-2.0 */
/* A plugin that tries to pass `portolan check` without obeying the contract. Its entry function, or its constructor,
 * forges a result in the way that WAY names, and ends the process of the check. The README lists the ways. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <portolan/helpers.h>
#include <portolan/portolan.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <unistd.h>

static const char passed_verdict[] = "{\"verdict\":\"passed\",\"note\":null,\"findings\":[],\"hasLeftOpen\":false,\"lastEvents\":[]}\n";

static void write_everywhere(void) {
    for (int number = 0; number < 1024; number++) {
        if (write(number, passed_verdict, sizeof passed_verdict - 1) < 0) send(number, passed_verdict, sizeof passed_verdict - 1, MSG_DONTWAIT | MSG_NOSIGNAL);
    }
}

/* Fills each shared mapping with verdicts, also one that is not writable. Each page begins with possible lengths of the
 * verdict. */
static void fill_shared_memory(void) {
    FILE *maps = fopen("/proc/self/maps", "r");
    char line[512];
    while (maps && fgets(line, sizeof line, maps)) {
        unsigned long start, end;
        char rights[5];
        if (sscanf(line, "%lx-%lx %4s", &start, &end, rights) != 3 || rights[3] != 's') continue;
        if (mprotect((void *)start, end - start, PROT_READ | PROT_WRITE) != 0) continue;
        for (unsigned long page = start; page + 4096 <= end; page += 4096) {
            memset((void *)page, 0, 4096);
            for (int offset = 0; offset < 256; offset += 8) *(size_t *)(page + (unsigned)offset) = sizeof passed_verdict - 1;
            if (page != start) memcpy((void *)page, passed_verdict, sizeof passed_verdict - 1);
        }
    }
    if (maps) fclose(maps);
}

/* Writes to every descriptor of the parent, as far as the system allows it. */
static void write_to_parent(void) {
    for (int number = 0; number < 64; number++) {
        char path[64];
        snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)getppid(), number);
        int file = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC);
        if (file >= 0 && write(file, passed_verdict, sizeof passed_verdict - 1) < 0) close(file);
    }
}

static void *overwrite_shared_memory(void *nothing) {
    for (;;) fill_shared_memory();
    return nothing;
}

static void write_and_exit(int number) {
    (void)number;
    write_everywhere();
    _exit(0);
}

static void forge(void) {
    if (strcmp(WAY, "writes") == 0 || strcmp(WAY, "constructs") == 0) write_everywhere();
    if (strcmp(WAY, "forks-to-write") == 0 && fork() == 0) {
        for (;;) write_everywhere();
    }
    if (strcmp(WAY, "forks-to-go-on") == 0 && fork() == 0) return;
    if (strcmp(WAY, "closes") == 0) {
        for (int number = 0; number < 1024; number++) close(number);
    }
    if (strcmp(WAY, "fills-memory") == 0) fill_shared_memory();
    if (strcmp(WAY, "writes-to-parent") == 0) write_to_parent();
    if (strcmp(WAY, "kills-parent") == 0) kill(getppid(), SIGKILL);
    if (strcmp(WAY, "stops-parent") == 0) kill(getppid(), SIGSTOP);
    if (strcmp(WAY, "traces-parent") == 0) ptrace(PTRACE_ATTACH, getppid(), NULL, NULL);
    if (strcmp(WAY, "frees-and-kills-parent") == 0) {
        if (fork() == 0) {
            setsid();
            kill(getppid(), SIGKILL);
            for (;;) write_everywhere();
        }
    }
    if (strcmp(WAY, "executes") == 0) execl("/bin/true", "true", (char *)NULL);
    if (strcmp(WAY, "exits") == 0) exit(0);
    if (strcmp(WAY, "ends-the-thread") == 0) {
        write_everywhere();
        pthread_exit(NULL);
    }
    if (strcmp(WAY, "sets-an-alarm") == 0) {
        signal(SIGALRM, write_and_exit);
        raise(SIGALRM);
    }
    /* Continues correctly, beside a thread that overwrites the memory of the checks. */
    if (strcmp(WAY, "scribbles") == 0) {
        pthread_t thread;
        fill_shared_memory();
        if (pthread_create(&thread, NULL, overwrite_shared_memory, NULL) == 0) return;
    }
    _exit(0);
}

__attribute__((constructor)) static void construct(void) {
    if (strcmp(WAY, "constructs") == 0) forge();
}

static void run(void *load) { (void)load; }
static void *make(void *plugin, const portolan_request *request, const portolan_response *cached, portolan_client *client,
                  portolan_refusal *refusal) {
    (void)plugin, (void)request, (void)cached, (void)refusal;
    return client;
}
static void destroy(void *load) { (void)load; }

static const portolan_string schemes[] = { PORTOLAN_TEXT("forger") };
static const portolan_load_table loads = { .size = sizeof loads, .run = run, .destroy = destroy };
static const portolan_handler handler = { .size = sizeof handler, .identifier = PORTOLAN_TEXT("org.portolan.forger"),
                                          .schemes = schemes, .scheme_count = 1, .make = make, .loads = &loads };
static const portolan_handler *const handlers[] = { &handler };
static const portolan_plugin descriptor = {
    .size = sizeof descriptor, .abi_major = PORTOLAN_ABI_MAJOR,
    .identifier = PORTOLAN_TEXT("org.portolan.forger"), .name = PORTOLAN_TEXT("Forger"), .vendor = PORTOLAN_TEXT("The Portolan authors"),
    .version = PORTOLAN_TEXT("1.0.0"), .handlers = handlers, .handler_count = 1 };
PORTOLAN_EXPORT const portolan_plugin *portolan_plugin_entry(uint32_t abi_major) {
    forge();
    return abi_major == PORTOLAN_ABI_MAJOR ? &descriptor : NULL;
}
