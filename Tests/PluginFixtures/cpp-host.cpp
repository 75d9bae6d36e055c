/* SPDX-License-Identifier: Apache-2.0 */
/* A strict host for cpp.so, as a program: cpp-host CPP.SO. It performs loads, and prints each result that is not as
 * expected. The exit status is 0 if there is none. It finds what the real host forgives: a client call after
 * PORTOLAN_STOPPED or after the end, a nested load that is not closed, and, built with -fsanitize=address, memory that
 * is used after it was returned. */
#include <portolan/portolan.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace {

int failure_count = 0;

portolan_string lend(const std::string &text) { return {text.data(), text.size()}; }
std::string copy(portolan_string text) { return text.bytes ? std::string(text.bytes, text.length) : "-"; }

/// The code, the domain and the message of an error, and its causes.
std::string describe(const portolan_error *error) {
    std::string text = std::to_string(error->code) + " " + copy(error->domain) + " " + copy(error->message);
    return error->cause ? text + " <- " + describe(error->cause) : text;
}

/// What a client does, and what happened to it. The client is the first member, so that its address is that of the
/// object.
struct Host {
    portolan_client client{};
    /// The number of calls after which the load is stopped; -1 for never.
    int stops_after = -1;
    std::string body;
    size_t body_at = 0;
    bool can_rewind = true, takes_redirect = false;
    std::vector<portolan_answer> answers;
    size_t answer_at = 0;

    std::string events;
    int calls = 0;
    std::atomic<bool> is_stopped{false}, has_response{false};
    bool knows_end = false;
    /// The nested loads that the plugin has not closed. As with the real host, those of a stopped load are closed last.
    std::vector<portolan_nested *> open_nested;

    Host() = default;
    Host(const Host &) = delete;
    Host &operator=(const Host &) = delete;
    ~Host();

    /// Records a call. Returns whether the load is stopped.
    bool record(const std::string &event) {
        if (knows_end) events += "CALL AFTER THE END: ";
        events += event + "\n";
        if (stops_after >= 0 && calls++ >= stops_after) is_stopped = true;
        return is_stopped;
    }
    portolan_flow flow(const std::string &event) {
        if (!record(event)) return PORTOLAN_CONTINUE;
        knows_end = true;
        return PORTOLAN_STOPPED;
    }
    void end(const std::string &event) {
        record(event);
        if (!open_nested.empty() && !is_stopped) events += "NESTED LOADS ARE OPEN\n";
        knows_end = true;
    }
};

Host &host_of(portolan_client *client) { return *reinterpret_cast<Host *>(client); }

std::string head(const portolan_response *response) {
    std::string text = std::to_string(response->status) + " " + copy(response->mime_type) + " " +
                       std::to_string(response->expected_length);
    for (size_t i = 0; i < response->field_count; i++)
        text += " " + copy(response->fields[i].name) + "=" + copy(response->fields[i].value);
    return text;
}

portolan_client client_table() {
    portolan_client table{};
    table.size = sizeof table;
    table.did_receive_interim = [](portolan_client *c, const portolan_response *r) {
        host_of(c).record("interim " + head(r));
    };
    table.did_receive_response = [](portolan_client *c, const portolan_response *r) {
        const portolan_flow flow = host_of(c).flow("response " + head(r));
        host_of(c).has_response = true;
        return flow;
    };
    table.did_load = [](portolan_client *c, const void *bytes, size_t length) {
        return host_of(c).flow("data " + std::string(static_cast<const char *>(bytes), length));
    };
    table.did_receive_trailers = [](portolan_client *c, const portolan_field *fields, size_t count) {
        host_of(c).record("trailers " + std::to_string(count) + " " + copy(fields[0].name));
    };
    table.did_finish = [](portolan_client *c) { host_of(c).end("finish"); };
    table.did_fail = [](portolan_client *c, const portolan_error *error) { host_of(c).end("fail " + describe(error)); };
    table.was_redirected = [](portolan_client *c, const portolan_change *to, const portolan_response *response) {
        const portolan_flow flow = host_of(c).flow("redirect " + copy(to->url) + (response ? "" : " bare"));
        if (!host_of(c).takes_redirect) return flow;
        host_of(c).knows_end = true;
        return PORTOLAN_STOPPED;
    };
    table.cached_response_is_valid = [](portolan_client *c, const portolan_response *) { host_of(c).record("valid"); };
    table.read_cached = [](portolan_client *c, int64_t offset, void *buffer, size_t capacity) -> int64_t {
        host_of(c).record("read cached");
        if (offset != 0 || capacity < 4) return 0;
        std::memcpy(buffer, "kept", 4);
        return 4;
    };
    table.did_receive_challenge = [](portolan_client *c, const portolan_challenge *challenge,
                                     const portolan_answer **answer) {
        Host &host = host_of(c);
        const std::string previous = challenge->previous ? " " + describe(challenge->previous) : "";
        const portolan_flow flow = host.flow("challenge " + std::to_string(challenge->failure_count) + previous);
        if (flow == PORTOLAN_CONTINUE) *answer = &host.answers.at(host.answer_at++);
        return flow;
    };
    table.read_body = [](portolan_client *c, void *buffer, size_t capacity) -> int64_t {
        Host &host = host_of(c);
        if (host.flow("read") == PORTOLAN_STOPPED) return PORTOLAN_STOPPED;
        const size_t count = std::min({capacity, size_t{7}, host.body.size() - host.body_at});
        std::memcpy(buffer, host.body.data() + host.body_at, count);
        host.body_at += count;
        return static_cast<int64_t>(count);
    };
    table.did_send = [](portolan_client *c, int64_t total) { host_of(c).record("sent " + std::to_string(total)); };
    table.did_reach = [](portolan_client *c, portolan_step step) { host_of(c).record("step " + std::to_string(step)); };
    table.rewind_body = [](portolan_client *c) -> int32_t {
        host_of(c).record("rewind");
        host_of(c).body_at = 0;
        return host_of(c).can_rewind ? 1 : 0;
    };
    table.is_stopped = [](portolan_client *c) -> int32_t { return host_of(c).is_stopped ? 1 : 0; };
    table.wake = [](portolan_client *) {};
    return table;
}

} // namespace

/// A nested load. Its texts are in its own memory, so that AddressSanitizer finds a use after `close`.
struct portolan_nested {
    Host *host;
    std::string url, mime_type = "text/x-nested", message = "the nested resource is not here", piece;
    portolan_response response{};
    portolan_error error{};
    int pieces = 0;
};

namespace {

Host::~Host() {
    for (const portolan_nested *each : open_nested) delete each;
}

const portolan_nested_table nested_table = [] {
    portolan_nested_table table{};
    table.size = sizeof table;
    table.open = [](portolan_client *parent, const portolan_change *change) {
        auto *nested = new portolan_nested;
        nested->host = &host_of(parent);
        std::string properties;
        for (size_t i = 0; i < change->property_count; i++) {
            const portolan_property &each = change->properties[i];
            properties += " " + std::to_string(each.kind) + ":" + std::to_string(each.integer) + ":" +
                          std::to_string(each.real).substr(0, 3) + ":" + std::to_string(each.bytes.length);
        }
        nested->host->record("open " + copy(change->method) + " " + copy(change->url) + properties);
        nested->host->open_nested.push_back(nested);
        nested->url = copy(change->url);
        nested->error = {sizeof(portolan_error), PORTOLAN_ERROR_NOT_FOUND, {}, lend(nested->message), nullptr};
        if (nested->url == "reserved") nested->error.code = PORTOLAN_ERROR_PLUGIN_NOT_LOADABLE;
        nested->response.size = sizeof nested->response;
        nested->response.mime_type = lend(nested->mime_type);
        nested->response.expected_length = -1;
        return nested;
    };
    table.response = [](portolan_nested *nested, const portolan_response **response) {
        if (nested->url == "missing" || nested->url == "reserved" ||
            nested->host->flow("nested response") == PORTOLAN_STOPPED)
            return PORTOLAN_STOPPED;
        *response = &nested->response;
        return PORTOLAN_CONTINUE;
    };
    table.next = [](portolan_nested *nested, const void **bytes) -> int64_t {
        if (nested->host->flow("nested next") == PORTOLAN_STOPPED) return PORTOLAN_STOPPED;
        if (nested->url == "cut" && nested->pieces == 1) return PORTOLAN_STOPPED;
        if (nested->pieces == 2) return 0;
        nested->piece = "piece " + std::to_string(++nested->pieces);
        *bytes = nested->piece.data();
        return static_cast<int64_t>(nested->piece.size());
    };
    table.error = [](portolan_nested *nested) -> const portolan_error * {
        return nested->host->is_stopped ? nullptr : &nested->error;
    };
    table.close = [](portolan_nested *nested) {
        nested->host->record("close");
        auto &open = nested->host->open_nested;
        open.erase(std::remove(open.begin(), open.end(), nested), open.end());
        delete nested;
    };
    return table;
}();

/// One instance of the plugin, with its settings.
struct Instance {
    const portolan_plugin *plugin;
    portolan_host host{};
    portolan_refusal refusal{};
    void *state = nullptr;

    explicit Instance(const portolan_plugin *descriptor, const portolan_property *settings = nullptr, size_t count = 0)
        : plugin(descriptor) {
        host.size = sizeof host;
        host.abi_minor = PORTOLAN_ABI_MINOR;
        host.version = PORTOLAN_STRING("1.0.0");
        host.configuration = PORTOLAN_STRING("{}");
        host.settings = settings;
        host.setting_count = count;
        host.extension = [](portolan_host *, const char *identifier) -> const void * {
            return std::strcmp(identifier, PORTOLAN_NESTED) == 0 ? &nested_table : nullptr;
        };
        host.log = [](portolan_host *, portolan_level, portolan_string line) {
            if (copy(line).find('\n') != std::string::npos) std::puts("a log line has a line break"), failure_count++;
        };
        refusal.size = sizeof refusal;
        refusal.give = [](portolan_refusal *, const portolan_error *error) { last_refusal() = describe(error); };
        last_refusal().clear();
        state = plugin->init(&host, &refusal);
    }
    ~Instance() {
        if (state) plugin->deinit(state);
    }
    Instance(const Instance &) = delete;
    Instance &operator=(const Instance &) = delete;
    static std::string &last_refusal() {
        static std::string text;
        return text;
    }
    const portolan_handler &handler() const { return *plugin->handlers[0]; }
};

/// A request for `cpp:PATH?QUERY` or `cpp://HOST`.
struct MockRequest {
    std::string url, path, query, fragment, host;
    portolan_field field{PORTOLAN_TEXT("X-Field"), PORTOLAN_TEXT("value")};
    portolan_property property{};
    portolan_request request{};

    explicit MockRequest(const std::string &rest) : url("cpp:" + rest) {
        const size_t hash = rest.find('#'), mark = std::min(rest.find('?'), hash);
        path = rest.substr(0, mark);
        request.size = sizeof request;
        request.url = lend(url);
        request.scheme = PORTOLAN_STRING("cpp");
        if (mark < hash)
            query = rest.substr(mark + 1, hash == std::string::npos ? hash : hash - mark - 1),
            request.query = lend(query);
        if (hash != std::string::npos) fragment = rest.substr(hash + 1), request.fragment = lend(fragment);
        if (path.compare(0, 2, "//") == 0) host = path.substr(2), path.clear(), request.host = lend(host);
        request.path = lend(path);
        request.method = PORTOLAN_STRING("GET");
        request.port = -1;
        request.fields = &field;
        request.field_count = 1;
        property.name = PORTOLAN_STRING("org.portolan.cpp.times");
        property.kind = PORTOLAN_KIND_INTEGER;
        property.integer = 3;
        request.properties = &property;
        request.property_count = 1;
    }
};

void expect(const std::string &name, const std::string &got, const std::string &expected) {
    // An expected text that ends in '*' is the beginning.
    const bool is_prefix = !expected.empty() && expected.back() == '*';
    if (is_prefix ? got.compare(0, expected.size() - 1, expected, 0, expected.size() - 1) == 0 : got == expected)
        return;
    std::printf("%s\n  expected: %s\n  got:      %s\n", name.c_str(), expected.c_str(), got.c_str());
    failure_count++;
}

void perform(Instance &instance, const std::string &url, const std::string &expected, Host &host,
             const portolan_response *stored = nullptr,
             void (*stop)(Host &, const portolan_load_table *, void *) = nullptr) {
    host.client = client_table();
    MockRequest request(url);
    const portolan_handler &handler = instance.handler();
    void *load = handler.make(instance.state, &request.request, stored, &host.client, &instance.refusal);
    if (!load) return expect(url, "refused " + Instance::last_refusal(), expected);
    std::thread thread([&] { handler.loads->run(load); });
    if (stop) stop(host, handler.loads, load);
    thread.join();
    handler.loads->destroy(load);
    expect(url + (host.stops_after < 0 ? "" : " stopped after " + std::to_string(host.stops_after)), host.events,
           expected);
}

void perform(Instance &instance, const std::string &url, const std::string &expected) {
    Host host;
    perform(instance, url, expected, host);
}

void check_exceptions(Instance &plugin) {
    perform(plugin, "throw?what=error", "fail -5 - nothing is here; try cpp:hello\n");
    perform(plugin, "throw?what=unclean", "fail -5 - two\uFFFDlines\n");
    perform(plugin, "throw?what=domain", "fail 7 org.portolan.cpp seven\n");
    perform(plugin, "throw?what=runtime", "fail -1 - it went wrong\n");
    perform(plugin, "throw?what=empty", "fail -1 - no reason was given\n");
    perform(plugin, "throw?what=lines", "fail -1 - first\uFFFDsecond\uFFFD[31m\uFFFD\uFFFD\uFFFDthird\n");
    perform(plugin, "throw?what=latin1", "fail -1 - caf\uFFFD \uFFFD\uFFFD\uFFFD\uFFFD \uFFFD\uFFFD\uFFFD\n");
    perform(plugin, "throw?what=memory", "fail -27 - the plugin has no memory; load less at the same time\n");
    perform(plugin, "throw?what=number",
            "fail -1 - the plugin threw an exception that is no std::exception; ask its author\n");
    perform(plugin, "late?what=error",
            "response 0 text/plain -1\ndata some bytes\nfail -5 - nothing is here; try cpp:hello\n");
    perform(plugin, "nothing",
            "fail -1 - the plugin's load function returned without a response, which breaks ORDER-01; *");
    perform(plugin, "hello?name=%zz", "fail -2 - two hexadecimal digits must follow each % in '%zz'\n");
    perform(plugin, "hello?name=a%00b", "fail -2 - a NUL, CR or LF is encoded in 'a%00b'; remove %00, %0D and %0A\n");
    perform(plugin, "hello?name=..", "fail -2 - the path '..' has the segment '..'; write it without\n");
    Host host;
    perform(plugin, "throw?what=huge", "fail -1 - x\uFFFD*", host);
    // "fail -1 - " and a line break are around the message. A character of three bytes does not fit after 4096 - 0
    // bytes.
    expect("huge", std::to_string(host.events.size() - 11), "4096");
}

void check_causes(Instance &plugin) {
    perform(plugin, "causes?count=2", "fail -26 - attempt 2 <- -26 - attempt 1 <- -26 - attempt 0\n");
    std::string eight = "fail -26 - attempt 1000";
    for (int i = 999; i > 992; i--) eight += " <- -26 - attempt " + std::to_string(i);
    perform(plugin, "causes?count=1000", eight + " <- -26 - (992 causes left out) attempt 0\n");
    perform(plugin, "causes?count=9",
            "fail -26 - attempt 9 <- -26 - attempt 8 <- -26 - attempt 7 <- -26 - attempt 6 <- -26 - attempt 5 <- -26 - "
            "attempt 4 <- "
            "-26 - attempt 3 <- -26 - attempt 2 <- -26 - (1 cause left out) attempt 0\n");
}

void check_events(Instance &plugin) {
    perform(plugin, "hello", "response 0 text/plain 14\ndata Hello, /world\n\nfinish\n");
    perform(plugin, "parts",
            "interim 103 - -1 Link=<x>; rel=preload\nstep 1\nstep 2\nstep 6\nresponse 200 text/plain -1 X-Field=value "
            "X-Times=3\n"
            "data ok\ntrailers 1 X-Trailer\nfinish\n");
    Host echo;
    echo.body = "0123456789";
    perform(
        plugin, "echo",
        "response 0 application/octet-stream 0\nread\nsent 7\ndata 0123456\nread\nsent 10\ndata 789\nread\nfinish\n",
        echo);
    Host twice;
    twice.body = "0123";
    perform(plugin, "twice", "read\nread\nrewind\nread\nread\nresponse 0 text/plain -1\ndata 0123|0123\nfinish\n",
            twice);
    Host once;
    once.can_rewind = false;
    perform(plugin, "twice", "read\nrewind\nfail -16 - the upload must be sent again, but can be read only once\n",
            once);
    Host whole;
    whole.body = "0123456789x";
    perform(plugin, "whole?limit=10", "read\nread\nfail -24 - the upload has more than 10 bytes; send fewer\n", whole);
    Host taken, refused, bare;
    taken.takes_redirect = true;
    perform(plugin, "redirect?to=cpp:hello", "redirect cpp:hello\n", taken);
    perform(plugin, "redirect?to=cpp:hello",
            "redirect cpp:hello\nresponse 0 text/plain -1\ndata not followed\nfinish\n", refused);
    perform(plugin, "redirect?to=cpp:x&bare",
            "redirect cpp:x bare\nfail -13 - the caller did not follow the redirect, which has no response\n", bare);
    Host confirmed;
    portolan_field tag{PORTOLAN_TEXT("etag"), PORTOLAN_TEXT("\"1\"")};
    portolan_response stored{};
    stored.size = sizeof stored;
    stored.fields = &tag;
    stored.field_count = 1;
    perform(plugin, "stored", "read cached\nvalid\nfinish\n", confirmed, &stored);
}

void check_challenges(Instance &plugin) {
    portolan_answer wrong{}, right{}, cancel{};
    wrong.size = right.size = cancel.size = sizeof wrong;
    wrong.disposition = right.disposition = PORTOLAN_USE;
    cancel.disposition = PORTOLAN_CANCEL;
    wrong.user = right.user = PORTOLAN_STRING("guest");
    wrong.password = PORTOLAN_STRING("sesam");
    right.password = PORTOLAN_STRING("sesame");
    const std::string body = "response 0 text/plain -1\ndata The harbour lies behind the second cape.\n\nfinish\n";
    Host first, second, third, fourth, stopped;
    first.answers = {right};
    perform(plugin, "secret", "challenge 0\n" + body, first);
    second.answers = {wrong, right};
    perform(plugin, "secret", "challenge 0\nchallenge 1 -14 - user or password is wrong\n" + body, second);
    third.answers = {wrong, wrong, wrong};
    perform(plugin, "secret",
            "challenge 0\nchallenge 1 -14 - user or password is wrong\nchallenge 2 -14 - user or password is wrong\n"
            "fail -14 - user or password is wrong\n",
            third);
    fourth.answers = {cancel};
    perform(plugin, "secret", "challenge 0\nfail -15 - the challenge for a password was cancelled\n", fourth);
    stopped.answers = {wrong};
    stopped.stops_after = 1;
    perform(plugin, "secret", "challenge 0\nchallenge 1 -14 - user or password is wrong\n", stopped);
}

void check_nested(Instance &plugin) {
    const std::string failed =
        "-5 - the nested load failed: the nested resource is not here <- -5 - the nested resource is not here";
    perform(plugin, "nested!x:y",
            "open GET x:y\nnested response\nresponse 0 text/x-nested -1\nnested next\ndata piece 1\nnested next\ndata "
            "piece 2\nnested next\n"
            "close\nfinish\n");
    perform(plugin, "nested!missing", "open GET missing\nclose\nfail " + failed + "\n");
    perform(plugin, "nested!cut",
            "open GET cut\nnested response\nresponse 0 text/x-nested -1\nnested next\ndata piece 1\nnested "
            "next\nclose\nfail " +
                failed + "\n");
    // A code of the host stays in the cause.
    perform(plugin, "nested!reserved",
            "open GET reserved\nclose\nfail -1 - the nested load failed: the nested resource is not here <- -31 - the "
            "nested resource is not here\n");
    perform(plugin, "kept!missing",
            "open GET missing\nclose\nopen GET missing\nclose\nopen GET missing\nclose\nfail -5 - three attempts failed <- *");
    perform(plugin, "deep!x:y",
            "open GET x:y 1:0:0.0:4 3:5:0.0:0 4:0:0.5:0 5:1:0.0:0 2:0:0.0:2 0:0:0.0:0\nnested response\nclose\nfail -1 - "
            "after the response of text/x-nested\n");
}

/// Stops loads after each number of calls. No call may follow the one that returned PORTOLAN_STOPPED.
void check_stops(Instance &plugin) {
    for (const char *url :
         {"hello", "parts", "nested!x:y", "kept!x:y", "deep!x:y", "echo", "twice", "catch", "redirect?to=x", "late"}) {
        for (int after = 0; after < 12; after++) {
            Host host;
            host.client = client_table();
            host.stops_after = after;
            host.body = "0123456789";
            MockRequest request(url);
            void *load = plugin.handler().make(plugin.state, &request.request, nullptr, &host.client, &plugin.refusal);
            plugin.handler().loads->run(load);
            plugin.handler().loads->destroy(load);
            if (host.events.find("AFTER") == std::string::npos) continue;
            std::printf("%s stopped after %d calls:\n%s", url, after, host.events.c_str());
            failure_count++;
        }
    }
    for (int round = 0; round < 20; round++) {
        Host waiting, immediate, late;
        perform(plugin, "wait", "response 0 text/plain -1\nfinish\n", waiting, nullptr,
                [](Host &host, const portolan_load_table *loads, void *load) {
                    while (!host.has_response) std::this_thread::yield();
                    host.is_stopped = true;
                    loads->stop(load);
                });
        // In any order with the start of the load.
        perform(plugin, "wait", "*", immediate, nullptr, [](Host &host, const portolan_load_table *loads, void *load) {
            host.is_stopped = true;
            loads->stop(load);
        });
        if (immediate.events.find("fail") != std::string::npos) expect("an early stop", immediate.events, "no failure");
        // The load waits for `is_stopped`, so `stop` comes before its `Interrupt`.
        perform(plugin, "wait?late=1", "", late, nullptr, [](Host &host, const portolan_load_table *loads, void *load) {
            loads->stop(load);
            host.is_stopped = true;
        });
    }
}

void check_handler(Instance &plugin) {
    const portolan_handler &handler = plugin.handler();
    const auto can_init = [&](const char *url) {
        const MockRequest request(url);
        return std::to_string(handler.can_init(plugin.state, &request.request));
    };
    MockRequest other("hello");
    other.request.scheme = PORTOLAN_STRING("data");
    // The plugin's class does not compare the scheme.
    expect("another scheme", std::to_string(handler.can_init(plugin.state, &other.request)), "0");
    expect("can_init", can_init("hello") + can_init("refused") + can_init("//can"), "101");
    struct Form {
        portolan_canonical canonical{};
        std::string url = "none";
    } form;
    form.canonical.give = [](portolan_canonical *canonical, const portolan_change *change) {
        reinterpret_cast<Form *>(canonical)->url = copy(change->url);
    };
    const auto canonical = [&](const char *url) {
        form.url = "none";
        const MockRequest request(url);
        handler.canonical_request(plugin.state, &request.request, &form.canonical);
        return form.url;
    };
    expect("canonical_request", canonical("hello") + " " + canonical("hello?a#b") + " " + canonical("//canonical"),
           "none cpp:hello?a none");
    MockRequest a("a"), b("a?x"), c("c"), bad("//equivalent");
    const auto equivalent = [&](const MockRequest &x, const MockRequest &y) {
        return std::to_string(handler.is_cache_equivalent(plugin.state, &x.request, &y.request));
    };
    expect("is_cache_equivalent", equivalent(a, b) + equivalent(a, c) + equivalent(bad, bad), "100");
}

void check_settings(const portolan_plugin *descriptor) {
    const auto refusal = [descriptor](const char *name, portolan_kind kind, const char *text) {
        portolan_property setting{};
        setting.name = {name, std::strlen(name)};
        setting.kind = kind;
        setting.bytes = {text, std::strlen(text)};
        const Instance instance(descriptor, &setting, 1);
        return instance.state ? std::string("started") : Instance::last_refusal();
    };
    expect("a text", refusal("greeting", PORTOLAN_KIND_TEXT, "Ahoy"), "started");
    expect("a number", refusal("greeting", PORTOLAN_KIND_INTEGER, ""), "-4 - the setting 'greeting' must be text");
    expect("an error", refusal("throws", PORTOLAN_KIND_TEXT, "error"), "-5 - nothing is here; try cpp:hello");
    expect("no memory", refusal("throws", PORTOLAN_KIND_TEXT, "memory"),
           "-27 - the plugin has no memory; load less at the same time");
    expect("another type", refusal("throws", PORTOLAN_KIND_TEXT, "number"),
           "-1 - the plugin threw an exception that is no *");
}

} // namespace

int main(int count, char **arguments) {
    void *library = dlopen(count > 1 ? arguments[1] : "", RTLD_NOW | RTLD_LOCAL);
    if (!library) return std::printf("%s\n", dlerror()), 2;
    const auto entry = reinterpret_cast<const portolan_plugin *(*)(uint32_t)>(dlsym(library, "portolan_plugin_entry"));
    if (entry(PORTOLAN_ABI_MAJOR + 1)) std::puts("another major version gets a descriptor"), failure_count++;
    const portolan_plugin *descriptor = entry(PORTOLAN_ABI_MAJOR);
    check_settings(descriptor);
    Instance plugin(descriptor);
    check_exceptions(plugin);
    check_causes(plugin);
    check_events(plugin);
    check_challenges(plugin);
    check_nested(plugin);
    check_stops(plugin);
    check_handler(plugin);
    if (failure_count == 0) std::puts("all passed");
    return failure_count == 0 ? 0 : 1;
}
