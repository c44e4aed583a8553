/* A transport that tells stderr what becomes of its instances. {"do":"slow"} takes its time to be made. */
#define _POSIX_C_SOURCE 200809L
#include <carillon/plugin.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static int quick, slow;

static carillon_status create(const carillon_host *host, carillon_str config, void **instance, carillon_error *error) {
    (void)host, (void)error;
    const char word[] = "{\"do\":\"slow\"}";
    int is_slow = config.len == sizeof word - 1 && memcmp(config.ptr, word, sizeof word - 1) == 0;
    *instance = is_slow ? &slow : &quick;
    fprintf(stderr, is_slow ? "making the slow one\n" : "made the quick one\n");
    struct timespec span = {2, 0};
    if (is_slow) nanosleep(&span, NULL);
    return CARILLON_OK;
}

static void destroy(void *instance) { fprintf(stderr, "destroyed the %s one\n", instance == &slow ? "slow" : "quick"); }

static carillon_status deliver(void *instance, uint64_t ticket, const carillon_registration *registration,
                               const carillon_notification *notification) {
    (void)instance, (void)ticket, (void)registration, (void)notification;
    return CARILLON_UNSUPPORTED;
}

static const carillon_transport transport = {
    .struct_size = sizeof transport, .platform = CARILLON_STR("fixture"), .create = create, .destroy = destroy, .deliver = deliver,
};
static const carillon_transport *const transports[] = { &transport };
static const carillon_plugin plugin = {
    .struct_size = sizeof plugin, .id = CARILLON_STR("org.example.slow"), .version = CARILLON_STR("1"),
    .transports = transports, .transport_count = 1,
};

const carillon_plugin *carillon_plugin_entry_v1(void) { return &plugin; }
