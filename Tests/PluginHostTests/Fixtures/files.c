/* A transport of platform "pager" whose configuration names files. It logs what is under "$files" of what it is created with. */
#include <carillon/plugin.h>
#include <stdlib.h>
#include <string.h>

static carillon_status create(const carillon_host *host, carillon_str config, void **instance, carillon_error *error) {
    static const char member[] = "\"$files\":", missing[] = "key_file: expected a file with a key";
    const char *start = config.ptr;
    for (size_t at = 0; at + sizeof member - 1 < config.len; at++)
        if (memcmp(start + at, member, sizeof member - 1) == 0) {
            at += sizeof member - 1;
            host->log(host, CARILLON_INFO, (carillon_str){ start + at, config.len - 1 - at });
            *instance = malloc(1);
            return CARILLON_OK;
        }
    memcpy(error->buf, missing, sizeof missing - 1);
    error->len = sizeof missing - 1;
    return CARILLON_INVALID;
}

static void destroy(void *instance) { free(instance); }

static carillon_status deliver(void *instance, uint64_t ticket, const carillon_registration *registration,
                               const carillon_notification *notification) {
    (void)instance, (void)ticket, (void)registration, (void)notification;
    return CARILLON_UNSUPPORTED;
}

static const carillon_transport transport = {
    .struct_size = sizeof transport, .platform = CARILLON_STR("pager"), .create = create, .destroy = destroy, .deliver = deliver,
    .describe = CARILLON_STR("{\"version\":1,\"name\":\"Pager\",\"target\":{\"kind\":\"token\"},\"configuration\":{\"schema\":{"
                             "\"type\":\"object\",\"properties\":{\"key_file\":{\"type\":\"string\",\"file\":true}}}}}"),
};
static const carillon_transport *const transports[] = { &transport };
static const carillon_plugin plugin = {
    .struct_size = sizeof plugin, .abi_minor = CARILLON_ABI_MINOR,
    .id = CARILLON_STR("org.example.files"), .version = CARILLON_STR("1"), .transports = transports, .transport_count = 1,
};
const carillon_plugin *carillon_plugin_entry_v1(void) { return &plugin; }
