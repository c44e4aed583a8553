/* A transport and a filter that do what they are told: the transport by the notification's title, the filter by the signal.
 * Its constructor tries what a hostile one would, and its version says what came of it. */
#include <carillon/plugin.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#ifndef SECRET
#define SECRET "/etc/passwd"
#endif

typedef struct { const carillon_host *host; } guest;
typedef struct { guest *guest; uint64_t ticket; } job;

static char version[65] = "not tried";

static bool is(carillon_str text, const char *word) { return text.len == strlen(word) && memcmp(text.ptr, word, text.len) == 0; }
static carillon_str str(const char *text) { return (carillon_str){ text, strlen(text) }; }
static int failure(int result) { return result < 0 ? errno : 0; }

/* What of the outside world can be reached: errno of opening a file, of opening it for writing, of a socket, of a program. */
static void try_everything(char *result, size_t size) {
    char *arguments[] = { "true", NULL };
    pid_t process;
    int read_secret = failure(open(SECRET, O_RDONLY)), write_file = failure(open("/tmp/hostile", O_WRONLY | O_CREAT, 0600));
    int network = failure(socket(AF_INET, SOCK_STREAM, 0)), program = posix_spawn(&process, "/bin/true", NULL, NULL, arguments, NULL);
    int parent = failure(kill(getppid(), 0));
    snprintf(result, size, "read %d write %d socket %d exec %d kill %d", read_secret, write_file, network, program, parent);
}

#ifdef HOSTILE
__attribute__((constructor)) static void begin(void) { try_everything(version, sizeof version); }
#endif

static void end(guest *self, uint64_t ticket, const char *reason) {
    carillon_outcome outcome = { .struct_size = sizeof outcome, .provider_status = 200, .reason = { reason, strlen(reason) } };
    self->host->complete(self->host, ticket, &outcome);
}

static void answered(void *context, const carillon_http_response *response) {
    job *job = context;
    char reason[41];
    snprintf(reason, sizeof reason, "status-%u-%zu-%zu", response->status, response->header_count, response->body.len);
    if (response->failure.len > 0 && response->failure.len <= 40) {
        memcpy(reason, response->failure.ptr, response->failure.len);
        reason[response->failure.len] = 0;
    }
    end(job->guest, job->ticket, reason);
    free(job);
}

static carillon_status send_request(guest *self, uint64_t ticket) {
    const carillon_field headers[] = { { CARILLON_STR("content-type"), CARILLON_STR("text/plain") } };
    const carillon_http_request request = { .struct_size = sizeof request, .method = CARILLON_STR("POST"),
                                            .url = CARILLON_STR("https://example.com/"), .headers = headers,
                                            .header_count = 1, .body = CARILLON_STR("hello") };
    job *task = malloc(sizeof *task);
    *task = (job){ self, ticket };
    carillon_status status = self->host->http_request(self->host, &request, answered, task);
    if (status != CARILLON_OK) free(task);
    return status;
}

static carillon_status present(guest *self, carillon_error *error) {
    const carillon_client_certificates *service = self->host->query(self->host, str("carillon.client-certificate/1"));
    if (service == NULL) return CARILLON_UNSUPPORTED;
    return service->present(self->host, str("word"), str("CERTIFICATES"), str("KEY"), error);
}

static carillon_status create(const carillon_host *host, carillon_str config, void **instance, carillon_error *error) {
    if (is(config, "refuse")) {
        error->len = (size_t)snprintf(error->buf, error->capacity, "expected something else");
        return CARILLON_INVALID;
    }
    if (is(config, "refuse-at-length")) { memset(error->buf, 'x', error->capacity); error->len = SIZE_MAX; return CARILLON_FAILED; }
    guest *self = calloc(1, sizeof *self);
    self->host = host;
    *instance = self;
    if (is(config, "present")) return present(self, error);
    return CARILLON_OK;
}

static void destroy(void *instance) {
    guest *self = instance;
    self->host->log(self->host, CARILLON_INFO, str("destroyed"));
}

static carillon_status validate(void *instance, const carillon_registration *registration, carillon_error *error) {
    (void)instance;
    if (registration->token.len == 5) return CARILLON_OK;
    error->len = (size_t)snprintf(error->buf, error->capacity, "%zu fields", registration->field_count);
    return CARILLON_INVALID;
}

static void *on_thread(void *context) {
    job *job = context;
    end(job->guest, job->ticket, "thread");
    return NULL;
}

static void *on_timer(void *context) {
    job *job = context;
    int timer = timerfd_create(CLOCK_MONOTONIC, 0);
    struct itimerspec soon = { .it_value = { .tv_nsec = 2000000 } };
    uint64_t count = 0;
    timerfd_settime(timer, 0, &soon, NULL);
    bool fired = read(timer, &count, sizeof count) == sizeof count;
    end(job->guest, job->ticket, fired ? "timer" : "no-timer");
    return NULL;
}

#ifdef DISPATCH
uint64_t dispatch_time(uint64_t when, int64_t delta);
void *dispatch_get_global_queue(intptr_t identifier, uintptr_t flags);
void dispatch_after_f(uint64_t when, void *queue, void *context, void (*work)(void *));

static void on_queue(void *context) {
    job *job = context;
    end(job->guest, job->ticket, "dispatch");
}

static void start_dispatch(guest *self, uint64_t ticket) {
    job *task = malloc(sizeof *task);
    *task = (job){ self, ticket };
    dispatch_after_f(dispatch_time(0, 2000000), dispatch_get_global_queue(0, 0), task, on_queue);
}
#endif

static void start(guest *self, uint64_t ticket, void *(*body)(void *)) {
    job *task = malloc(sizeof *task);
    *task = (job){ self, ticket };
    pthread_t thread;
    if (pthread_create(&thread, NULL, body, task) != 0) return end(self, ticket, "no-thread");
    pthread_detach(thread);
}

#pragma GCC diagnostic ignored "-Winfinite-recursion"
__attribute__((noinline)) static int overflow(volatile char *above) {
    volatile char here[4096];
    here[0] = above[0];
    return overflow(here) + here[1];
}

__attribute__((noinline)) static void crash_here(void) { *(volatile int *)16 = 1; }
__attribute__((noinline)) static void hang_here(void) { for (volatile int i = 0;; i++) {} }

static void take(void *context, carillon_bytes value) {
    snprintf(context, 41, "%.*s", (int)value.len, (const char *)value.ptr);
}

/* Keeps "own" under "key", or says what is kept there. */
static void keep(guest *self, uint64_t ticket, bool sets) {
    const carillon_states *states = self->host->query(self->host, str("carillon.state/1"));
    char reason[41] = "none";
    if (sets) states->set(self->host, str("key"), str("own"));
    states->get(self->host, str("key"), take, reason);
    end(self, ticket, reason);
}

static void timer_fired(void *context) { end(((job *)context)->guest, ((job *)context)->ticket, "host-timer"); }

static void start_timer(guest *self, uint64_t ticket) {
    const carillon_timers *timers = self->host->query(self->host, str("carillon.timer/1"));
    job *task = malloc(sizeof *task);
    uint64_t timer;
    *task = (job){ self, ticket };
    if (timers->start(self->host, 5, 0, timer_fired, task, &timer) != CARILLON_OK) end(self, ticket, "no-timer");
}

static carillon_status deliver(void *instance, uint64_t ticket, const carillon_registration *registration,
                               const carillon_notification *notification) {
    guest *self = instance;
    (void)registration;
    const carillon_str what = notification->title;
    if (is(what, "request")) return send_request(self, ticket);
    if (is(what, "refuse")) return CARILLON_UNSUPPORTED;
    if (is(what, "complete")) end(self, ticket, "complete");
    if (is(what, "twice")) { end(self, ticket, "first"); end(self, ticket, "second"); }
    if (is(what, "unknown")) { for (int i = 0; i < 1000; i++) end(self, 999, "unknown"); end(self, ticket, "known"); }
    if (is(what, "no-outcome")) self->host->complete(self->host, ticket, NULL);
    if (is(what, "long-reason")) end(self, ticket, "this-reason-is-longer-than-a-reason-may-ever-be");
    if (is(what, "actions")) end(self, ticket, notification->action_count == 2 && is(notification->actions[1]->label, "Two") ? "two" : "none");
    if (is(what, "thread")) start(self, ticket, on_thread);
    if (is(what, "timer")) start(self, ticket, on_timer);
#ifdef DISPATCH
    if (is(what, "dispatch")) start_dispatch(self, ticket);
#endif
    if (is(what, "host-timer")) start_timer(self, ticket);
    if (is(what, "get") || is(what, "set")) keep(self, ticket, is(what, "set"));
    if (is(what, "silent")) {}
    if (is(what, "memory")) {
        void *memory = malloc((size_t)300 << 20);
        end(self, ticket, memory == NULL ? "no-memory" : "memory");
    }
    if (is(what, "chatter")) { for (int i = 0; i < 1000; i++) self->host->log(self->host, CARILLON_INFO, str("line")); end(self, ticket, "chatter"); }
    if (is(what, "requests")) {
        int taken = 0;
        while (taken < 10000 && send_request(self, ticket) == CARILLON_OK) taken++;
        char reason[16];
        snprintf(reason, sizeof reason, "taken-%d", taken);
        end(self, ticket, reason);
    }
    if (is(what, "bad-request")) {
        const carillon_http_request request = { .struct_size = sizeof request, .method = CARILLON_STR("GET"), .url = CARILLON_STR("file:///") };
        end(self, ticket, self->host->http_request(self->host, &request, answered, NULL) == CARILLON_INVALID ? "invalid" : "taken");
    }
    if (is(what, "present")) {
        char room[64];
        carillon_error error = { room, sizeof room, 0 };
        carillon_status status = present(self, &error);
        char reason[41];
        snprintf(reason, sizeof reason, "%d-%.*s", (int)status, (int)error.len, room);
        end(self, ticket, reason);
    }
    if (is(what, "outside")) {
        char result[65];
        try_everything(result, sizeof result);
        self->host->log(self->host, CARILLON_INFO, str(result));
        void *memory = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        end(self, ticket, memory == MAP_FAILED ? "no-code" : "code");
    }
    if (is(what, "crash")) crash_here();
    if (is(what, "crash-on-thread")) { pthread_t thread; pthread_create(&thread, NULL, (void *(*)(void *))crash_here, NULL); sleep(5); }
    if (is(what, "abort")) abort();
    if (is(what, "exit")) exit(0);
    if (is(what, "null-call")) ((void (*)(void))0)();
    if (is(what, "overflow")) return overflow((volatile char[]){ 0 });
    if (is(what, "hang")) hang_here();
    return CARILLON_OK;
}

static void cancel(void *instance, uint64_t ticket) { end(instance, ticket, "cancelled"); }

static carillon_status command(void *instance, const carillon_str *words, size_t count, carillon_command_done done, void *context) {
    (void)instance;
    if (count == 0 || is(words[0], "none")) return CARILLON_UNSUPPORTED;
    if (is(words[0], "hang")) hang_here();
    done(context, is(words[0], "fail") ? CARILLON_FAILED : CARILLON_OK, words[count - 1]);
    done(context, CARILLON_OK, str("again"));
    return CARILLON_OK;
}

static carillon_status check(carillon_str block, carillon_error *error) {
    if (is(block, "{}")) return CARILLON_OK;
    error->len = (size_t)snprintf(error->buf, error->capacity, "/a: expected {}");
    return CARILLON_INVALID;
}

static carillon_status decide(void *instance, const carillon_filter_call *call, carillon_verdict *verdict) {
    (void)instance;
    if (is(call->signal, "fail")) { call->set(call->edit, str("reason"), str("lost")); return CARILLON_FAILED; }
    if (is(call->signal, "crash")) crash_here();
    if (is(call->signal, "odd")) { *(int *)verdict = 17; return CARILLON_OK; }
    call->set(call->edit, str("reason"), str("first"));
    call->set(call->edit, str("reason"), call->recipient_event_count == 2 ? call->recipient_events[1] : str("last"));
    carillon_status title = call->set(call->edit, str("title"), str("New title"));
    carillon_status other = call->set(call->edit, str("other"), str("value"));
    carillon_status invalid = call->set(call->edit, str("reason"), str("two\nlines"));
    *verdict = title == (call->notification ? CARILLON_OK : CARILLON_UNSUPPORTED) && other == CARILLON_UNSUPPORTED
                       && invalid == CARILLON_INVALID && call->zap_millisats == 21000 ? CARILLON_DROP : CARILLON_PASS;
    return CARILLON_OK;
}

static uint32_t needs(void *instance) { (void)instance; return CARILLON_FILTER_ASKS_FOLLOWED; }

static const carillon_transport transport = { .struct_size = sizeof transport, .platform = CARILLON_STR("guest"), .create = create,
                                              .destroy = destroy, .validate = validate, .deliver = deliver, .cancel = cancel,
                                              .command = command, .check = check };
/* As a plugin of version 1.0 has it: what came later is not there. */
static const carillon_transport old = { .struct_size = offsetof(carillon_transport, command), .platform = CARILLON_STR("old"),
                                        .create = create, .destroy = destroy, .deliver = deliver, .command = command };
static const uint32_t kinds[] = { 3, 10000 };
static const carillon_filter filter = { .struct_size = sizeof filter, .name = CARILLON_STR("guest"), .wanted_kinds = kinds,
                                        .wanted_kind_count = 2, .create = create, .destroy = destroy, .decide = decide,
                                        .needs = needs };
static const carillon_transport *const transports[] = { &transport, &old };
static const carillon_filter *const filters[] = { &filter };
static carillon_plugin plugin = { .struct_size = sizeof plugin, .abi_minor = CARILLON_ABI_MINOR, .id = CARILLON_STR("example.guest"),
                                  .transports = transports, .transport_count = 2, .filters = filters, .filter_count = 1 };

const carillon_plugin *carillon_plugin_entry_v1(void) {
#ifdef EXITS
    exit(0);
#endif
#ifdef REFUSES
    return NULL;
#endif
#ifdef MALFORMED
    plugin.filters = NULL;
#endif
    plugin.version = (carillon_str){ version, strlen(version) };
    return &plugin;
}
