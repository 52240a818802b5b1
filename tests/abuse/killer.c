/* Runs a command and kills it where the Nth of its calls would change a file: renames, links, removals,
 * folders, writes, lengths and syncs, by whatever library they come, of all its threads and children.
 *
 *   killer N TRACE COMMAND [ARGUMENTS...]    N from 1; 0 kills nothing
 *
 * TRACE gets the name of each such call. Exit code: the command's own; 137 where it was killed.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static const struct {
    long number;
    const char *name;
    int has_file; /* The first argument is a file that must be a regular one. */
} STEPS[] = {
#ifdef SYS_rename
    {SYS_rename, "rename", 0},       {SYS_link, "link", 0},         {SYS_unlink, "unlink", 0},
    {SYS_rmdir, "rmdir", 0},         {SYS_mkdir, "mkdir", 0},       {SYS_symlink, "symlink", 0},
#endif
#ifdef SYS_renameat
    {SYS_renameat, "renameat", 0},
#endif
    {SYS_renameat2, "renameat2", 0}, {SYS_linkat, "linkat", 0},     {SYS_unlinkat, "unlinkat", 0},
    {SYS_mkdirat, "mkdirat", 0},     {SYS_symlinkat, "symlinkat", 0}, {SYS_syncfs, "syncfs", 0},
    {SYS_fsync, "fsync", 0},         {SYS_fdatasync, "fdatasync", 0}, {SYS_ftruncate, "ftruncate", 1},
    {SYS_write, "write", 1},         {SYS_writev, "writev", 1},     {SYS_pwrite64, "pwrite64", 1},
    {SYS_pwritev, "pwritev", 1},     {SYS_copy_file_range, "copy_file_range", 0},
};
#define COUNT (sizeof STEPS / sizeof *STEPS)

static void die(const char *what) {
    perror(what);
    exit(125);
}

/* Asks the kernel to stop at these calls and at no others. */
static void watch(void) {
    struct sock_filter filter[COUNT + 3];
    size_t at = 0;
    filter[at++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
    for (size_t i = 0; i < COUNT; i++)
        filter[at++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, STEPS[i].number, COUNT - i, 0);
    filter[at++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    filter[at++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRACE);
    struct sock_fprog program = {at, filter};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
        die("seccomp");
}

/* The name of the step that a stopped thread is about to take, or NULL. */
static const char *step_of(pid_t thread) {
    struct __ptrace_syscall_info info;
    memset(&info, 0, sizeof info);
    if (ptrace(PTRACE_GET_SYSCALL_INFO, thread, sizeof info, &info) <= 0) return NULL;
    if (info.op != PTRACE_SYSCALL_INFO_SECCOMP) return NULL;
    for (size_t i = 0; i < COUNT; i++) {
        if (STEPS[i].number != (long)info.seccomp.nr) continue;
        if (STEPS[i].has_file) {
            char path[64];
            struct stat found;
            snprintf(path, sizeof path, "/proc/%d/fd/%d", thread, (int)info.seccomp.args[0]);
            if (stat(path, &found) || !S_ISREG(found.st_mode)) return NULL;
        }
        return STEPS[i].name;
    }
    return NULL;
}

int main(int count, char **words) {
    if (count < 4) return 125;
    long at = atol(words[1]), steps = 0;
    FILE *trace = fopen(words[2], "w");
    if (!trace) die(words[2]);
    pid_t child = fork();
    if (child < 0) die("fork");
    if (child == 0) {
        if (ptrace(PTRACE_TRACEME, 0, 0, 0)) die("ptrace");
        raise(SIGSTOP);
        watch();
        execvp(words[3], words + 3);
        die(words[3]);
    }
    int status;
    if (waitpid(child, &status, 0) < 0 || !WIFSTOPPED(status)) die("wait");
    long options = PTRACE_O_TRACESECCOMP | PTRACE_O_TRACECLONE | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK
                   | PTRACE_O_EXITKILL;
    if (ptrace(PTRACE_SETOPTIONS, child, 0, options)) die("ptrace");
    ptrace(PTRACE_CONT, child, 0, 0);
    int code = 125;
    for (;;) {
        pid_t thread = waitpid(-1, &status, __WALL);
        if (thread < 0) {
            if (errno == EINTR) continue;
            break;
        }
        if (WIFEXITED(status) || WIFSIGNALED(status)) {
            if (thread == child) code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
            continue;
        }
        int told = WSTOPSIG(status), event = status >> 16;
        if (event == PTRACE_EVENT_SECCOMP) {
            const char *step = step_of(thread);
            if (step) {
                fprintf(trace, "%s\n", step);
                if (++steps == at) kill(child, SIGKILL);
            }
        }
        /* A new thread's first stop is ours, every other signal its own. */
        int passed = event || told == SIGSTOP || told == SIGTRAP ? 0 : told;
        ptrace(PTRACE_CONT, thread, 0, passed);
    }
    fclose(trace);
    return code;
}
