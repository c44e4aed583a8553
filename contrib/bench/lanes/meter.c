/* Runs a command and writes what it used to a file: CPU seconds and largest resident set in KiB.
 * Usage: meter <file> <command> [argument ...]; exits as the command does. */
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int count, char **words) {
    int status = 0;
    struct rusage usage;
    if (count < 3) return 2;
    pid_t child = fork();
    if (child < 0) return 2;
    if (child == 0) { execvp(words[2], words + 2); _exit(127); }
    if (wait4(child, &status, 0, &usage) != child) return 2;
    FILE *file = fopen(words[1], "w");
    if (file == NULL) return 2;
    fprintf(file, "%.4f %ld\n",
            (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) + (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6,
            usage.ru_maxrss);
    fclose(file);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
