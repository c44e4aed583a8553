/* What libcurl's multi interface does of the same: one HTTP/2 connection, 500 requests in flight, a different apns-id each.
 * Usage: curl <url> <certificate file> <requests>
 * Prints: requests a second, CPU seconds per 100,000 requests, largest resident set in KiB, failures */
#include <curl/curl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

enum { IN_FLIGHT = 500, BODY = 214 };

static struct slot { CURL *easy; struct curl_slist *headers; char id[64]; int attempts; } slots[IN_FLIGHT];
static CURLM *multi;
static int epoll = -1;
static long wait_ms = -1;
static char body[BODY];
static long total, started, ended, failed;

static double clock_seconds(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static double cpu_seconds(struct rusage *usage) {
    getrusage(RUSAGE_SELF, usage);
    return (double)(usage->ru_utime.tv_sec + usage->ru_stime.tv_sec)
        + (double)(usage->ru_utime.tv_usec + usage->ru_stime.tv_usec) / 1e6;
}

static int on_socket(CURL *easy, curl_socket_t fd, int what, void *user, void *known) {
    struct epoll_event event = { .data.fd = fd };
    (void)easy; (void)user;
    if (what == CURL_POLL_REMOVE) { epoll_ctl(epoll, EPOLL_CTL_DEL, fd, NULL); return 0; }
    if (what & CURL_POLL_IN) event.events |= EPOLLIN;
    if (what & CURL_POLL_OUT) event.events |= EPOLLOUT;
    epoll_ctl(epoll, known == NULL ? EPOLL_CTL_ADD : EPOLL_CTL_MOD, fd, &event);
    curl_multi_assign(multi, fd, multi);
    return 0;
}

static int on_timer(CURLM *handle, long timeout, void *user) {
    (void)handle; (void)user;
    wait_ms = timeout;
    return 0;
}

static size_t discard(char *bytes, size_t size, size_t count, void *user) {
    (void)bytes; (void)user;
    return size * count;
}

/* The list's text is written over in place: libcurl reads it when the request begins. */
static void start(struct slot *slot) {
    if (started == total) return;
    slot->attempts = 1;
    snprintf(slot->headers->data, sizeof slot->id, "apns-id: 9d4f1c2e-5b7a-4e21-8c3d-%012lx", ++started);
    curl_multi_add_handle(multi, slot->easy);
}

static void prepare(struct slot *slot, const char *url, const char *certificates, const char *authorization) {
    static const char *const fields[] = { "apns-topic: com.example.app", "apns-push-type: alert", "apns-priority: 10",
                                          "apns-expiration: 0", "accept:", "content-type:", "expect:" };
    memset(slot->id, 'x', sizeof slot->id - 1);
    slot->headers = curl_slist_append(NULL, slot->id);
    curl_slist_append(slot->headers, authorization);
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) curl_slist_append(slot->headers, fields[i]);
    slot->easy = curl_easy_init();
    curl_easy_setopt(slot->easy, CURLOPT_URL, url);
    curl_easy_setopt(slot->easy, CURLOPT_CAINFO, certificates);
    curl_easy_setopt(slot->easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_2TLS);
    curl_easy_setopt(slot->easy, CURLOPT_PIPEWAIT, 1L);
    curl_easy_setopt(slot->easy, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(slot->easy, CURLOPT_HTTPHEADER, slot->headers);
    curl_easy_setopt(slot->easy, CURLOPT_POSTFIELDS, body);
    curl_easy_setopt(slot->easy, CURLOPT_POSTFIELDSIZE, (long)BODY);
    curl_easy_setopt(slot->easy, CURLOPT_WRITEFUNCTION, discard);
    curl_easy_setopt(slot->easy, CURLOPT_PRIVATE, slot);
}

static void collect(void) {
    CURLMsg *message;
    int left;
    while ((message = curl_multi_info_read(multi, &left)) != NULL) {
        if (message->msg != CURLMSG_DONE) continue;
        long status = 0;
        struct slot *slot = NULL;
        curl_easy_getinfo(message->easy_handle, CURLINFO_RESPONSE_CODE, &status);
        curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &slot);
        curl_multi_remove_handle(multi, slot->easy);
        /* libcurl 7.88 now and then ends one of many streams with an error of its own making (16 or 55). Where the answer was
         * there already it counts; where there is none whoever uses libcurl sends again, and so does this. */
        if (status == 0 && slot->attempts++ < 4) { curl_multi_add_handle(multi, slot->easy); continue; }
        if (status != 200) failed++;
        ended++;
        start(slot);
    }
}

int main(int count, char **words) {
    char authorization[256] = "authorization: bearer ";
    struct epoll_event events[16];
    struct rusage usage;
    int running = 0;
    if (count != 4 || (total = atol(words[3])) < 1) {
        fprintf(stderr, "usage: curl <url> <certificate file> <requests>\n");
        return 2;
    }
    memset(authorization + strlen(authorization), 't', 200);
    memset(body, 'b', sizeof body);
    curl_global_init(CURL_GLOBAL_DEFAULT);
    multi = curl_multi_init();
    epoll = epoll_create1(0);
    curl_multi_setopt(multi, CURLMOPT_PIPELINING, (long)CURLPIPE_MULTIPLEX);
    curl_multi_setopt(multi, CURLMOPT_MAX_HOST_CONNECTIONS, 1L);
    curl_multi_setopt(multi, CURLMOPT_MAX_CONCURRENT_STREAMS, 1000L);
    curl_multi_setopt(multi, CURLMOPT_SOCKETFUNCTION, on_socket);
    curl_multi_setopt(multi, CURLMOPT_TIMERFUNCTION, on_timer);
    for (int i = 0; i < IN_FLIGHT; i++) prepare(&slots[i], words[1], words[2], authorization);

    double cpu = cpu_seconds(&usage), begin = clock_seconds();
    for (int i = 0; i < IN_FLIGHT; i++) start(&slots[i]);
    while (ended < total) {
        int ready = wait_ms == 0 ? 0 : epoll_wait(epoll, events, 16, (int)wait_ms);
        if (ready == 0) {
            wait_ms = -1;
            curl_multi_socket_action(multi, CURL_SOCKET_TIMEOUT, 0, &running);
        }
        for (int i = 0; i < ready; i++) {
            int what = (events[i].events & EPOLLIN ? CURL_CSELECT_IN : 0) | (events[i].events & EPOLLOUT ? CURL_CSELECT_OUT : 0)
                | (events[i].events & (EPOLLERR | EPOLLHUP) ? CURL_CSELECT_ERR : 0);
            curl_multi_socket_action(multi, events[i].data.fd, what, &running);
        }
        collect();
    }
    double seconds = clock_seconds() - begin;
    cpu = cpu_seconds(&usage) - cpu;
    printf("%.0f %.4f %ld %ld\n", (double)total / seconds, cpu * 100000 / (double)total, usage.ru_maxrss, failed);
    return failed != 0;
}
