/* A transport and a filter that break down. How is said when it is compiled, -DBAD=crash, where by the configuration,
 * {"at":"deliver"}, or by -DAT_LOAD and -DAT_ENTRY, since there is no configuration yet. PLATFORM is the name of both.
 * Also compiled as C++, where it can throw. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <carillon/plugin.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void crash(void) { *(volatile int *)8 = 1; }
static void leave(void) { exit(0); }
static void loop(void) { for (volatile int i = 0;; i = i + 1) { } }
static void sleep_on(void) { for (;;) sleep(1000); }
static void leak(void) { for (;;) memset(malloc(1 << 20), 1, 1 << 20); }
static void shut(void) { for (int fd = 0; fd < 64; fd++) close(fd); }
static void scribble(void) {
    char garbage[64];
    memset(garbage, 0xa5, sizeof garbage);
    for (int fd = 0; fd < 64; fd++) if (write(fd, garbage, sizeof garbage) < 0) continue;
}
/* Tries no more than some, and says so where one succeeds: a broken sandbox must not take the machine down. */
static void fork_bomb(void) {
    for (int tries = 0; tries < 64; tries++) {
        const pid_t child = fork();
        if (child == 0) _exit(0);
        if (child > 0) exit(9);
    }
    sleep_on();
}
#ifdef __cplusplus
static void throws(void) { throw 1; }
void (*const thrower)(void) = throws;
#endif
void (*const all[])(void) = { crash, leave, loop, sleep_on, leak, shut, scribble, fork_bomb };

static const carillon_host *host;
static uint64_t ticket_of_request;
static char place[32];

static void at(const char *here) { if (strcmp(place, here) == 0) BAD(); }

static carillon_status create(const carillon_host *given, carillon_str config, void **instance, carillon_error *error) {
    static const char before[] = "{\"at\":\"";
    const char *const text = (const char *)config.ptr;
    (void)error;
    host = given;
    *instance = (void *)&host;
    memset(place, 0, sizeof place);
    if (config.len > sizeof before && memcmp(text, before, sizeof before - 1) == 0)
        for (size_t i = sizeof before - 1, n = 0; i < config.len && text[i] != '"' && n < sizeof place - 1; i++)
            place[n++] = text[i];
    at("create");
    return CARILLON_OK;
}
static void end(uint64_t ticket) {
    const carillon_outcome outcome = { .struct_size = sizeof outcome, .kind = CARILLON_DELIVERED };
    host->complete(host, ticket, &outcome);
}
static void destroy(void *instance) { (void)instance; at("destroy"); }
static carillon_status validate(void *instance, const carillon_registration *registration, carillon_error *error) {
    (void)instance; (void)registration; (void)error;
    at("validate");
    return CARILLON_OK;
}
static void answered(void *context, const carillon_http_response *response) {
    (void)context; (void)response;
    at("done");
    end(ticket_of_request);
}
static carillon_status deliver(void *instance, uint64_t ticket, const carillon_registration *registration,
                               const carillon_notification *notification) {
    (void)instance; (void)registration; (void)notification;
    at("deliver");
    if (strcmp(place, "done") != 0) { end(ticket); return CARILLON_OK; }
    const carillon_http_request request = { .struct_size = sizeof request, .method = CARILLON_STR("GET"),
                                            .url = CARILLON_STR("https://example.com/") };
    ticket_of_request = ticket;
    return host->http_request(host, &request, answered, NULL);
}
static carillon_status decide(void *instance, const carillon_filter_call *call, carillon_verdict *verdict) {
    (void)instance; (void)call;
    at("decide");
    *verdict = CARILLON_PASS;
    return CARILLON_OK;
}

static const carillon_transport transport = {
    .struct_size = sizeof transport, .platform = CARILLON_STR(PLATFORM), .create = create, .destroy = destroy,
    .validate = validate, .deliver = deliver,
};
static const carillon_transport *const transports[] = { &transport };
static const carillon_filter filter = {
    .struct_size = sizeof filter, .name = CARILLON_STR(PLATFORM), .create = create, .destroy = destroy, .decide = decide,
};
static const carillon_filter *const filters[] = { &filter };
static const carillon_plugin plugin = {
    .struct_size = sizeof plugin, .abi_minor = CARILLON_ABI_MINOR, .id = CARILLON_STR("org.example." PLATFORM),
    .version = CARILLON_STR("1"), .transports = transports, .transport_count = 1, .filters = filters, .filter_count = 1,
};
#ifdef AT_LOAD
__attribute__((constructor)) static void load(void) { BAD(); }
#endif

const carillon_plugin *carillon_plugin_entry_v1(void) {
#ifdef AT_ENTRY
    BAD();
#endif
    return &plugin;
}
