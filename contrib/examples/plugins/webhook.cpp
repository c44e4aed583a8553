/* A webhook transport for Carillon in C++17: POSTs every notification as JSON to the URL that the device's owner registered. */
#include <carillon/json.h>
#include <carillon/plugin.h>
#include <algorithm>
#include <exception>
#include <memory>
#include <stdexcept>
#include <string>

namespace {

/* Describes the platform: Carillon uses it to check rules, registrations and samples. See describe.schema.json. */
const char description[] = R"({
  "version": 1,
  "name": "Webhook",
  "block": "webhook",
  "doc": "Additional members of the JSON.",
  "target": {"kind": "token", "pattern": "^https://", "expected": "an https:// URL"},
  "rules": {
    "type": "object",
    "additionalProperties": false,
    "properties": {
      "channel": {"description": "The channel in which the receiver shows it.", "type": "string", "minLength": 1}
    }
  },
  "limits": {"payload": [{"bytes": 65536}]},
  "cannot": ["actions", "subtitle", "category", "thread"],
  "sample": {"token": "https://hook.example.com/sample"}
})";

/* No exception may cross a call of the host: it becomes CARILLON_FAILED. */
template <typename Body> carillon_status guarded(Body body) noexcept {
    try {
        return body();
    } catch (...) {
        return CARILLON_FAILED;
    }
}

void say(carillon_error *error, const std::string &words) noexcept {
    error->len = std::min(words.size(), error->capacity);
    std::copy_n(words.data(), error->len, error->buf);
}

/* Returns the JSON that `write` writes. It runs twice: to count the bytes, and to write them. */
template <typename Write> std::string json(Write write) {
    carillon_json_out size = carillon_json_to(nullptr, 0);
    write(&size);
    std::string text(size.len, '\0');
    carillon_json_out out = carillon_json_to(&text[0], text.size());
    write(&out);
    if (carillon_json_written(&out) == 0) throw std::logic_error("this is no JSON");
    return text;
}

struct WebhookTransport {
    const carillon_host *host;
};

/* A delivery that waits for its response. */
struct Job {
    const carillon_host *host;
    uint64_t ticket;
};

void answered(void *context, const carillon_http_response *response) {
    const std::unique_ptr<Job> job(static_cast<Job *>(context));
    const uint32_t status = response->status;
    carillon_outcome outcome{};
    outcome.struct_size = sizeof outcome;
    outcome.provider_status = status;
    if (status >= 200 && status < 300) outcome.kind = CARILLON_DELIVERED;
    else if (status == 404 || status == 410) outcome.kind = CARILLON_GONE;
    else if (status == 0 || status == 429 || status >= 500) outcome.kind = CARILLON_RETRY;
    else outcome.kind = CARILLON_REJECTED;
    if (status == 0) outcome.reason = response->failure;
    job->host->complete(job->host, job->ticket, &outcome);
}

carillon_status create(const carillon_host *host, carillon_str, void **instance, carillon_error *) {
    return guarded([&] {
        *instance = new WebhookTransport{ host }; /* nothing to configure */
        return CARILLON_OK;
    });
}

void destroy(void *instance) { delete static_cast<WebhookTransport *>(instance); }

carillon_status validate(void *, const carillon_registration *registration, carillon_error *error) {
    return guarded([&] {
        const std::string token(registration->token.ptr, registration->token.len);
        if (token.size() > 8 && token.compare(0, 8, "https://") == 0) return CARILLON_OK;
        say(error, "the token must be an https:// URL");
        return CARILLON_INVALID;
    });
}

carillon_status deliver(void *instance, uint64_t ticket, const carillon_registration *registration,
                        const carillon_notification *notification) {
    return guarded([&] {
        switch (notification->mode) {
        case CARILLON_WAKE: case CARILLON_NUDGE: case CARILLON_ALERT: break;
        default: return CARILLON_UNSUPPORTED; /* it cannot encrypt, and must not show more than an unknown mode allows */
        }
        const carillon_host *host = static_cast<WebhookTransport *>(instance)->host;
        const std::string body = json([&](carillon_json_out *out) {
            carillon_json_object(out);
            carillon_json_name(out, "count");
            carillon_json_integer(out, notification->count);
            carillon_json_member(out, "id", notification->id);
            carillon_json_member(out, "signal", notification->signal);
            carillon_json_member(out, "title", notification->title);
            carillon_json_member(out, "body", notification->body);
            carillon_json_member(out, "url", notification->url);
            carillon_json_end(out);
        });
        const carillon_field headers[] = { { CARILLON_STR("content-type"), CARILLON_STR("application/json") } };
        carillon_http_request request{};
        request.struct_size = sizeof request;
        request.flags = CARILLON_HTTP_UNTRUSTED_URL;
        request.method = CARILLON_STR("POST");
        request.url = registration->token;
        request.headers = headers;
        request.header_count = 1;
        request.body = { body.data(), body.size() };
        auto job = std::make_unique<Job>(Job{ host, ticket });
        const carillon_status status = host->http_request(host, &request, answered, job.get());
        if (status == CARILLON_OK) job.release(); /* `answered` owns it */
        return status;
    });
}

carillon_transport makeTransport() noexcept {
    carillon_transport transport{};
    transport.struct_size = sizeof transport;
    transport.platform = CARILLON_STR("webhook");
    transport.create = create;
    transport.destroy = destroy;
    transport.validate = validate;
    transport.deliver = deliver;
    transport.describe = { description, sizeof description - 1 };
    return transport;
}

const carillon_transport transport = makeTransport();
const carillon_transport *const transports[] = { &transport };

carillon_plugin makePlugin() noexcept {
    carillon_plugin plugin{};
    plugin.struct_size = sizeof plugin;
    plugin.abi_minor = CARILLON_ABI_MINOR;
    plugin.id = CARILLON_STR("org.example.webhook");
    plugin.version = CARILLON_STR("1.0.0");
    plugin.transports = transports;
    plugin.transport_count = 1;
    return plugin;
}

const carillon_plugin plugin = makePlugin();

} // namespace

const carillon_plugin *carillon_plugin_entry_v1() { return &plugin; }
