/* A filter for Carillon in C++17: drops events that contain one of the operator's words.
 *
 *     filter_plugins:
 *       wordlist: {settings: {words: [casino, lottery]}}
 */
#include <carillon/json.h>
#include <carillon/plugin.h>
#include <algorithm>
#include <exception>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

/* No exception may cross a call of the host: it becomes CARILLON_FAILED. */
template <typename Body> carillon_status guarded(Body body) noexcept {
    try {
        return body();
    } catch (...) {
        return CARILLON_FAILED;
    }
}

std::string lowered(std::string text) {
    std::transform(text.begin(), text.end(), text.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? char(c - 'A' + 'a') : c; });
    return text;
}

std::string text(carillon_json string) {
    std::string text(string.len, '\0'); /* decoded text is never longer */
    text.resize(carillon_json_text(string, &text[0], text.size()));
    return text;
}

struct WordlistFilter {
    std::vector<std::string> words;

    explicit WordlistFilter(carillon_str config) {
        carillon_json list = carillon_json_get(carillon_json_read(config), "words"), word;
        if (list.type != CARILLON_JSON_ARRAY) throw std::invalid_argument("words: expected a list of texts");
        for (size_t at = 0; carillon_json_next(list, &at, nullptr, &word) != 0;) {
            words.push_back(lowered(text(word)));
            if (words.back().empty()) throw std::invalid_argument("words: expected texts that are not empty");
        }
    }

    bool matches(const std::string &content) const {
        return std::any_of(words.begin(), words.end(), [&](const std::string &word) { return content.find(word) != std::string::npos; });
    }
};

void say(carillon_error *error, const std::string &words) noexcept {
    error->len = std::min(words.size(), error->capacity);
    std::copy_n(words.data(), error->len, error->buf);
}

carillon_status create(const carillon_host *, carillon_str config, void **instance, carillon_error *error) {
    return guarded([&] {
        try {
            *instance = new WordlistFilter(config);
            return CARILLON_OK;
        } catch (const std::invalid_argument &mistake) {
            say(error, mistake.what());
            return CARILLON_INVALID;
        }
    });
}

void destroy(void *instance) { delete static_cast<WordlistFilter *>(instance); }

/* Events are verified, but their text is untrusted: any length, any character. */
carillon_status decide(void *instance, const carillon_filter_call *call, carillon_verdict *verdict) {
    return guarded([&] {
        carillon_json content = carillon_json_get(carillon_json_read(call->event), "content");
        if (content.type != CARILLON_JSON_STRING) return CARILLON_FAILED; /* the operator's on_error applies */
        *verdict = static_cast<WordlistFilter *>(instance)->matches(lowered(text(content))) ? CARILLON_DROP : CARILLON_PASS;
        if (*verdict == CARILLON_DROP) { /* for the log: never content of the event */
            const carillon_str field = CARILLON_STR("reason"), reason = CARILLON_STR("it has an unwanted word");
            call->set(call->edit, field, reason);
        }
        return CARILLON_OK;
    });
}

carillon_filter makeFilter() noexcept {
    carillon_filter filter{};
    filter.struct_size = sizeof filter;
    filter.name = CARILLON_STR("wordlist");
    filter.create = create;
    filter.destroy = destroy;
    filter.decide = decide;
    return filter;
}

const carillon_filter filter = makeFilter();
const carillon_filter *const filters[] = { &filter };

carillon_plugin makePlugin() noexcept {
    carillon_plugin plugin{};
    plugin.struct_size = sizeof plugin;
    plugin.abi_minor = CARILLON_ABI_MINOR;
    plugin.id = CARILLON_STR("org.example.wordlist");
    plugin.version = CARILLON_STR("1.0.0");
    plugin.filters = filters;
    plugin.filter_count = 1;
    return plugin;
}

const carillon_plugin plugin = makePlugin();

} // namespace

const carillon_plugin *carillon_plugin_entry_v1() { return &plugin; }
