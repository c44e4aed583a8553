/* A webhook transport for Carillon: POSTs every notification as JSON to the URL that the device's owner registered.
 * It describes itself, so that Carillon can check rules and registrations for it and editors complete its keys.
 *
 *     cc -std=c11 -Wall -Wextra -Werror -O2 -shared -fPIC -I include -o webhook.so contrib/examples/plugins/webhook.c
 */
#include <carillon/json.h>
#include <carillon/plugin.h>
#include <stdlib.h>
#include <string.h>

typedef struct { const carillon_host *host; uint64_t ticket; } job;

/* Writes the payload. It runs twice: to count the bytes, and to write them. Members without a value are omitted. */
static void payload(carillon_json_out *out, const carillon_notification *notification) {
    carillon_json_object(out);
    carillon_json_name(out, "count");
    carillon_json_integer(out, notification->count);
    carillon_json_member(out, "id", notification->id);
    carillon_json_member(out, "signal", notification->signal);
    carillon_json_member(out, "title", notification->title);
    carillon_json_member(out, "body", notification->body);
    carillon_json_member(out, "url", notification->url);
    if (notification->native.len > 2) carillon_json_member(out, "native", notification->native); /* the rule's block, as a string */
    carillon_json_end(out);
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
    default: return CARILLON_UNSUPPORTED; /* it cannot encrypt, and must not show more than an unknown mode allows */
    }
    carillon_json_out size = carillon_json_to(NULL, 0);
    payload(&size, notification);
    job *context = malloc(sizeof *context);
    carillon_json_out json = carillon_json_to(malloc(size.len), size.len);
    carillon_status status = CARILLON_BUSY; /* out of memory */
    if (context != NULL && json.buf != NULL) {
        payload(&json, notification);
        const carillon_field headers[] = { { CARILLON_STR("content-type"), CARILLON_STR("application/json") } };
        const carillon_http_request request = {
            .struct_size = sizeof request, .flags = CARILLON_HTTP_UNTRUSTED_URL,
            .method = CARILLON_STR("POST"), .url = registration->token,
            .headers = headers, .header_count = 1, .body = { json.buf, json.len },
        };
        *context = (job){ host, ticket };
        status = host->http_request(host, &request, answered, context);
    }
    if (status != CARILLON_OK) free(context);
    free(json.buf);
    return status;
}

/* Describes the platform: Carillon uses it to check rules, registrations and samples. Its schema is
 * include/carillon/describe.schema.json, and `carillon plugin check` reports every error. */
static const char description[] =
    "{\n"
    "  \"version\": 1,\n"
    "  \"name\": \"Webhook\",\n"
    "  \"block\": \"webhook\",\n"
    "  \"doc\": \"Additional members of the JSON.\",\n"
    "  \"target\": {\"kind\": \"token\", \"pattern\": \"^https://\", \"expected\": \"an https:// URL\"},\n"
    "  \"rules\": {\n"
    "    \"type\": \"object\",\n"
    "    \"additionalProperties\": false,\n"
    "    \"properties\": {\n"
    "      \"channel\": {\n"
    "        \"description\": \"The channel in which the receiver shows it.\", \"type\": \"string\", \"minLength\": 1\n"
    "      },\n"
    "      \"tone\": {\n"
    "        \"description\": \"The sound that the receiver makes.\", \"enum\": [\"none\", \"chime\", \"alarm\"]\n"
    "      },\n"
    "      \"repeat\": {\n"
    "        \"description\": \"How often the tone plays.\", \"type\": \"integer\", \"minimum\": 1, \"maximum\": 10\n"
    "      },\n"
    "      \"lamp\": {\n"
    "        \"description\": \"The lamp's alternating on and off times, in milliseconds.\",\n"
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

/* Checks a rule the schema cannot express: the lamp's times add up to one minute or less. The block is JSON with
 * literals only, but tests may pass any text. */
static carillon_status check(carillon_str block, carillon_error *error) {
    carillon_json lamp = carillon_json_get(carillon_json_read(block), "lamp"), time;
    int64_t sum = 0, milliseconds;
    for (size_t at = 0; carillon_json_next(lamp, &at, NULL, &time);)
        if (carillon_json_to_integer(time, &milliseconds) && milliseconds <= 60000 && sum <= 60000) sum += milliseconds;
    return sum > 60000 ? refuse(error, "/lamp: expected up to 60000 ms in total") : CARILLON_OK;
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
