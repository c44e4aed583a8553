/* A webhook transport for Carillon: POSTs every notification as JSON to the URL that the device's owner registered.
 * It describes itself, so that Carillon can check rules and registrations for it and editors complete its keys.
 *
 *     cc -std=c11 -Wall -Wextra -Werror -O2 -shared -fPIC -I include -o webhook.so contrib/examples/plugins/webhook.c
 */
#include <carillon/plugin.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct { char *ptr; size_t len, capacity; int failed; } text; /* grows; a failed allocation sticks */
typedef struct { const carillon_host *host; uint64_t ticket; } job;

static void put(text *out, const void *bytes, size_t len) {
    if (!out->failed && len > out->capacity - out->len) {
        char *larger = realloc(out->ptr, (out->len + len) * 2);
        if (larger == NULL) { out->failed = 1; return; }
        out->ptr = larger;
        out->capacity = (out->len + len) * 2;
    }
    if (!out->failed && len > 0) { memcpy(out->ptr + out->len, bytes, len); out->len += len; }
}

/* ,"name":"value", or nothing when there is no value. What comes from the host is valid UTF-8, so that only
 * quotes, backslashes and control characters need escaping (RFC 8259 section 7). */
static void put_member(text *out, const char *name, carillon_str value) {
    if (value.len == 0) return;
    put(out, ",\"", 2);
    put(out, name, strlen(name));
    put(out, "\":\"", 3);
    for (const unsigned char *c = value.ptr, *end = c + value.len; c < end; c++) {
        char escape[6] = { '\\', 'u', '0', '0', "0123456789abcdef"[*c >> 4], "0123456789abcdef"[*c & 15] };
        if (*c < 0x20) put(out, escape, 6);
        else { if (*c == '"' || *c == '\\') put(out, "\\", 1); put(out, c, 1); }
    }
    put(out, "\"", 1);
}

static void answered(void *context, const carillon_http_response *response) {
    job *job = context;
    uint32_t status = response->status;
    carillon_outcome outcome = { .struct_size = sizeof outcome, .provider_status = status };
    if (status >= 200 && status < 300) outcome.kind = CARILLON_DELIVERED;
    else if (status == 404 || status == 410) outcome.kind = CARILLON_GONE;
    else if (status == 0 || status == 429 || status >= 500) outcome.kind = CARILLON_RETRY;
    else outcome.kind = CARILLON_REJECTED;
    if (status == 0) outcome.reason = response->failure;
    job->host->complete(job->host, job->ticket, &outcome);
    free(job);
}

static carillon_status create(const carillon_host *host, carillon_str config, void **instance, carillon_error *error) {
    (void)config, (void)error; /* nothing to configure */
    *instance = (void *)host;
    return CARILLON_OK;
}
static void destroy(void *instance) { (void)instance; }

static carillon_status refuse(carillon_error *error, const char *said) {
    error->len = strlen(said) < error->capacity ? strlen(said) : error->capacity;
    if (error->len > 0) memcpy(error->buf, said, error->len);
    return CARILLON_INVALID;
}

static carillon_status validate(void *instance, const carillon_registration *registration, carillon_error *error) {
    (void)instance;
    if (registration->token.len > 8 && memcmp(registration->token.ptr, "https://", 8) == 0) return CARILLON_OK;
    return refuse(error, "the token must be an https:// URL");
}

static carillon_status deliver(void *instance, uint64_t ticket, const carillon_registration *registration,
                               const carillon_notification *notification) {
    const carillon_host *host = instance;
    switch (notification->mode) {
    case CARILLON_WAKE: case CARILLON_NUDGE: case CARILLON_ALERT: break;
    default: return CARILLON_UNSUPPORTED; /* never shows what it cannot seal, nor in a mode it does not know */
    }
    text json = { 0 };
    char start[32];
    put(&json, start, (size_t)snprintf(start, sizeof start, "{\"count\":%u", (unsigned)notification->count));
    put_member(&json, "id", notification->id);
    put_member(&json, "signal", notification->signal);
    put_member(&json, "title", notification->title);
    put_member(&json, "body", notification->body);
    put_member(&json, "url", notification->url);
    if (notification->native.len > 2) put_member(&json, "native", notification->native); /* the rule's block, as text */
    put(&json, "}", 1);
    job *context = malloc(sizeof *context);
    carillon_status status = CARILLON_BUSY; /* out of memory */
    if (context != NULL && !json.failed) {
        const carillon_field headers[] = { { CARILLON_STR("content-type"), CARILLON_STR("application/json") } };
        const carillon_http_request request = {
            .struct_size = sizeof request, .flags = CARILLON_HTTP_UNTRUSTED_URL,
            .method = CARILLON_STR("POST"), .url = registration->token,
            .headers = headers, .header_count = 1, .body = { json.ptr, json.len },
        };
        *context = (job){ host, ticket };
        status = host->http_request(host, &request, answered, context);
    }
    if (status != CARILLON_OK) free(context);
    free(json.ptr);
    return status;
}

/* What this platform is. Carillon reads rules, registrations and samples by it; include/carillon/describe.schema.json
 * says what may stand here, and `carillon plugin check` names every mistake. */
static const char description[] =
    "{\n"
    "  \"version\": 1,\n"
    "  \"name\": \"Webhook\",\n"
    "  \"block\": \"webhook\",\n"
    "  \"doc\": \"What a webhook gets besides the texts.\",\n"
    "  \"target\": {\"kind\": \"token\", \"pattern\": \"^https://\", \"expected\": \"an https:// URL\"},\n"
    "  \"rules\": {\n"
    "    \"type\": \"object\",\n"
    "    \"additionalProperties\": false,\n"
    "    \"properties\": {\n"
    "      \"channel\": {\n"
    "        \"description\": \"Where the receiver shows it.\", \"type\": \"string\", \"minLength\": 1\n"
    "      },\n"
    "      \"tone\": {\n"
    "        \"description\": \"The sound that the receiver makes.\", \"enum\": [\"none\", \"chime\", \"alarm\"]\n"
    "      },\n"
    "      \"repeat\": {\n"
    "        \"description\": \"How often the tone plays.\", \"type\": \"integer\", \"minimum\": 1, \"maximum\": 10\n"
    "      },\n"
    "      \"lamp\": {\n"
    "        \"description\": \"Milliseconds on, off, on ... for a lamp.\",\n"
    "        \"type\": \"array\", \"minItems\": 1, \"maxItems\": 16,\n"
    "        \"items\": {\"type\": \"integer\", \"minimum\": 1, \"maximum\": 60000}\n"
    "      }\n"
    "    },\n"
    "    \"checks\": [\n"
    "      {\"when\": {\"has\": [\"repeat\"]}, \"require\": {\"tone\": \"the sound to repeat\"}},\n"
    "      {\"when\": {\"is\": {\"tone\": [\"none\"]}}, \"refuse\": [\"repeat\"],\n"
    "       \"message\": \"there is no tone to repeat\"}\n"
    "    ]\n"
    "  },\n"
    "  \"presentation\": [{\"key\": \"tone\", \"order\": [\"none\", \"chime\", \"alarm\"], \"loud\": true}],\n"
    "  \"limits\": {\"payload\": [{\"bytes\": 65536}]},\n"
    "  \"cannot\": [\"actions\", \"subtitle\", \"category\", \"thread\"],\n"
    "  \"sample\": {\"token\": \"https://hook.example.com/sample\"}\n"
    "}\n";

/* What the description cannot say: the lamp's times add up to a minute at most. The block is JSON with literals only,
 * but may be anything when somebody tests this function. */
static carillon_status check(carillon_str block, carillon_error *error) {
    static const char key[] = "\"lamp\":[";
    const char *at = block.ptr, *end = at + block.len;
    long sum = 0, number = 0;
    for (; at < end && ((size_t)(end - at) < sizeof key || memcmp(at, key, sizeof key - 1) != 0); at++) {}
    for (at = at < end ? at + sizeof key - 1 : end; at < end && *at != ']'; at++) {
        if (*at >= '0' && *at <= '9' && number < 100000) number = number * 10 + (*at - '0');
        else { sum += number; number = 0; }
        if (sum > 1000000) break;
    }
    return sum + number > 60000 ? refuse(error, "/lamp: expected 60000 ms at most in all") : CARILLON_OK;
}

static const carillon_transport transport = {
    .struct_size = sizeof transport, .platform = CARILLON_STR("webhook"),
    .create = create, .destroy = destroy, .validate = validate, .deliver = deliver,
    .describe = { description, sizeof description - 1 }, .check = check,
};
static const carillon_transport *const transports[] = { &transport };
static const carillon_plugin plugin = {
    .struct_size = sizeof plugin, .abi_minor = CARILLON_ABI_MINOR,
    .id = CARILLON_STR("org.example.webhook"), .version = CARILLON_STR("1.0.0"),
    .transports = transports, .transport_count = 1,
};
const carillon_plugin *carillon_plugin_entry_v1(void) { return &plugin; }
