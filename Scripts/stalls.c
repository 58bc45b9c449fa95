// SPDX-License-Identifier: Apache-2.0
// Loaded into a test program (LD_PRELOAD) by Scripts/check-stalls: stops one thread after another, at any instruction,
// for milliseconds, as a machine with too much to do would. A signal handler sleeps; system calls are interrupted by it.
//
//   STALLS_SEED       which threads are stopped when, as far as the scheduler lets that be repeated
//   STALLS_MICROSECONDS   the usual longest stop; one in sixteen is up to twelve times as long
//   STALLS_PERCENT    how much of its time each thread is stopped
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static _Atomic uint64_t state;
static long longest = 20000, percent = 30;

// SplitMix64: needs no lock, so that a handler can use it.
static uint64_t draw(void) {
    uint64_t z = atomic_fetch_add(&state, 0x9E3779B97F4A7C15u) + 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

static void pause_for(long microseconds) {
    struct timespec time = {microseconds / 1000000, microseconds % 1000000 * 1000};
    syscall(SYS_nanosleep, &time, NULL);
}

static void stop(int number) {
    (void)number;
    int saved = errno;
    uint64_t chance = draw();
    pause_for((long)((chance >> 8) % (uint64_t)(chance % 16 ? longest : longest * 12)) + 1);
    errno = saved;
}

static void *run(void *unused) {
    (void)unused;
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, NULL);
    pid_t self = (pid_t)syscall(SYS_gettid);
    pid_t threads[4096];
    size_t count = 1;
    // A stop takes 0.85 of the longest on average.
    double mean = 0.85 * (double)longest;
    for (;;) {
        double gap = mean / ((double)percent / 100 * (double)count);
        pause_for((long)(gap * 2 * (double)(draw() % 1000) / 1000) + 20);
        DIR *directory = opendir("/proc/self/task");
        if (directory == NULL) continue;
        size_t found = 0;
        for (struct dirent *entry; found < 4096 && (entry = readdir(directory)) != NULL;) {
            pid_t thread = atoi(entry->d_name);
            if (thread > 0 && thread != self) threads[found++] = thread;
        }
        closedir(directory);
        if (found == 0) continue;
        count = found;
        // Not queued: a thread that is stopped already is stopped once more at most.
        syscall(SYS_tgkill, getpid(), threads[draw() % count], SIGPROF);
    }
    return NULL;
}

static long number(const char *name, long otherwise) {
    const char *text = getenv(name);
    long value = text == NULL ? 0 : atol(text);
    return value > 0 ? value : otherwise;
}

__attribute__((constructor)) static void begin(void) {
    char path[4096];
    ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
    if (length <= 0) return;
    path[length] = 0;
    const char *name = strrchr(path, '/');
    // The programs that tests start are left alone, but for our own.
    if (name == NULL || strncmp(name + 1, "martlet", 7) != 0) return;
    longest = number("STALLS_MICROSECONDS", longest);
    percent = number("STALLS_PERCENT", percent);
    state = (uint64_t)number("STALLS_SEED", 1) * 0x632BE59BD9B4E019u + (uint64_t)getpid();
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = stop;
    action.sa_flags = SA_RESTART;
    sigfillset(&action.sa_mask);
    sigaction(SIGPROF, &action, NULL);
    pthread_t thread;
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    pthread_create(&thread, &attributes, run, NULL);
    pthread_attr_destroy(&attributes);
}
