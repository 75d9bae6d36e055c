/* SPDX-License-Identifier: Apache-2.0 */
/* Uses every part of portolan.hpp, and throws everywhere. The path of `cpp:PATH` names the function:
 *
 *   cpp:hello              the greeting; ?length=N announces another length
 *   cpp:large              4 MiB
 *   cpp:throw?what=KIND    an exception: error, unclean, domain, runtime, empty, lines, latin1, huge, memory, number
 *   cpp:late?what=KIND     the same after a response and some bytes
 *   cpp:causes?count=N     an error with N causes
 *   cpp:nothing            returns without a response
 *   cpp:catch              catches everything, also a stop, and goes on
 *   cpp:parts              interim response, progress, fields and trailers
 *   cpp:nested!URL         passes URL on; cpp:kept!URL keeps its error longer than the nested load
 *   cpp:deep!URL           reads URL's response, and throws
 *   cpp:echo               returns the upload; cpp:twice reads it twice; cpp:whole?limit=N reads at most N bytes of it
 *   cpp:secret             asks for guest and sesame
 *   cpp:redirect?to=URL    redirects; with &bare=1 without a response
 *   cpp:stored             confirms a stored response
 *   cpp:wait               waits in recv(2) until it is stopped; cpp:wait?late=1 first waits until it is stopped
 *
 * `can`, `canonical` and `equivalent` as the host of the URL make these functions throw. The setting `throws` makes the
 * constructor throw. */
#include <portolan/portolan.hpp>

#include <stdexcept>
#include <thread>
#include <unistd.h>

namespace {

using portolan::Client;
using portolan::Error;
using portolan::Request;
using portolan::Response;

[[noreturn]] void throw_kind(std::string_view kind) {
    if (kind == "error") throw Error(PORTOLAN_ERROR_NOT_FOUND, "nothing is here; try cpp:hello");
    if (kind == "unclean") throw Error(PORTOLAN_ERROR_NOT_FOUND, "two\nlines");
    if (kind == "domain") throw Error::in_domain("org.portolan.cpp", 7, "seven");
    if (kind == "empty") throw std::runtime_error("");
    if (kind == "lines") throw std::runtime_error("first\nsecond\x1b[31m\u2028third");
    if (kind == "latin1") throw std::runtime_error("caf\xe9 \xf0\x82\x82\xac \xed\xa0\x80");
    if (kind == "huge") throw std::runtime_error(std::string(1, 'x') + std::string(100000, '\xc3'));
    if (kind == "memory") throw std::bad_alloc();
    if (kind == "number") throw 7;
    throw std::runtime_error("it went wrong");
}

Response text_response() {
    Response response;
    response.mime_type = "text/plain";
    response.text_encoding = "utf-8";
    return response;
}

/// Two connected sockets. Nobody writes to either of them.
class Pair {
  public:
    Pair() {
        if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends_) != 0)
            throw Error(PORTOLAN_ERROR_NO_RESOURCES, "no socket is free; load less at the same time");
    }
    ~Pair() {
        ::close(ends_[0]);
        ::close(ends_[1]);
    }
    Pair(const Pair &) = delete;
    Pair &operator=(const Pair &) = delete;
    int descriptor() const noexcept { return ends_[0]; }

  private:
    int ends_[2];
};

class Plugin final : public portolan::Handler {
  public:
    static constexpr std::uint32_t flags = PORTOLAN_CACHEABLE;

    explicit Plugin(portolan::Host &host) : greeting_(host.setting<std::string>("greeting").value_or("Hello")) {
        if (const auto kind = host.setting<std::string>("throws")) throw_kind(*kind);
        host.log(PORTOLAN_LOG_DEBUG, "cpp: ready\non one line");
    }

    void load(const Request &request, Client &client) override {
        const std::string_view path = request.path();
        const std::string_view name = path.substr(0, path.find('!'));
        if (request.host() || name == "hello") hello(request, client);
        else if (name == "large") large(request, client);
        else if (name == "throw") throw_kind(request.decoded_query_value("what").value_or(""));
        else if (name == "late") late(request, client);
        else if (name == "causes") causes(request);
        else if (name == "nothing") return;
        else if (name == "catch") catch_everything(client);
        else if (name == "parts") parts(request, client);
        else if (name == "nested") nested(request, client);
        else if (name == "kept") kept(request, client);
        else if (name == "deep") deep(request, client);
        else if (name == "echo") echo(request, client);
        else if (name == "twice") twice(client);
        else if (name == "whole") whole(request, client);
        else if (name == "secret") secret(request, client);
        else if (name == "redirect") redirect(request, client);
        else if (name == "stored") stored(client);
        else if (name == "wait") wait(request, client);
        else throw Error(PORTOLAN_ERROR_BAD_URL, "no part is called " + portolan::quoted(name) + "; try cpp:hello");
    }

  private:
    // Private on purpose: the table of the handler has them all the same.
    bool can_init(const Request &request) const override {
        if (request.host() == "can") throw_kind("error");
        return request.path() != "refused";
    }
    std::optional<portolan::Changes> canonical_request(const Request &request) const override {
        if (request.host() == "canonical") throw_kind("number");
        if (!request.fragment()) return std::nullopt;
        portolan::Changes changes;
        changes.url = std::string(request.url().substr(0, request.url().find('#')));
        return changes;
    }
    bool is_cache_equivalent(const Request &a, const Request &b) const override {
        if (a.host() == "equivalent") throw_kind("memory");
        return a.path() == b.path();
    }

    void hello(const Request &request, Client &client) const {
        const std::string text =
            greeting_ + ", " + portolan::join("/", request.decoded_query_value("name").value_or("world")) + "\n";
        Response response = text_response();
        const auto length = request.decoded_query_value("length");
        response.expected_length = length ? std::stoll(*length) : static_cast<std::int64_t>(text.size());
        client.did_receive(response);
        if (request.method() != "HEAD") client.did_load(text);
    }

    static void large(const Request &request, Client &client) {
        const std::vector<char> piece(65536, 'x');
        Response response = text_response();
        response.expected_length = std::int64_t{64} * 65536;
        client.did_receive(response);
        for (int i = 0; i < 64 && request.method() != "HEAD"; i++) client.did_load(piece);
    }

    static void late(const Request &request, Client &client) {
        client.did_receive(text_response());
        client.did_load("some bytes");
        throw_kind(request.decoded_query_value("what").value_or(""));
    }

    [[noreturn]] static void causes(const Request &request) {
        Error error(PORTOLAN_ERROR_IO_FAILED, "attempt 0");
        const int count = std::stoi(request.decoded_query_value("count").value_or("1"));
        for (int i = 1; i <= count; i++) error = Error(PORTOLAN_ERROR_IO_FAILED, "attempt " + std::to_string(i), error);
        throw error;
    }

    static void catch_everything(Client &client) {
        for (int i = 0; i < 100000; i++) {
            try {
                if (i == 0) client.did_receive(text_response());
                else client.did_load(std::array<char, 3>{'a', 'b', 'c'});
            } catch (...) {
                client.host().log(PORTOLAN_LOG_DEBUG, "cpp: caught");
                if (i > 100) throw std::runtime_error("after the end");
            }
        }
    }

    static void parts(const Request &request, Client &client) {
        Response interim;
        interim.status = 103;
        interim.fields = {{"Link", "<x>; rel=preload"}};
        client.did_receive_interim(interim);
        for (const portolan_step step : {PORTOLAN_NAME_FOUND, PORTOLAN_CONNECTED, PORTOLAN_FIRST_BYTE})
            client.did_reach(step);
        Response response = text_response();
        response.status = 200;
        response.url = request.url_without_user();
        response.suggested_name = "parts.txt";
        response.storage = PORTOLAN_STORE_IN_MEMORY;
        response.fields = request.fields();
        response.fields.push_back(
            {"X-Times", std::to_string(request.value<int>("org.portolan.cpp.times").value_or(-1))});
        client.did_receive(response);
        client.did_load(portolan::Bytes{'o', 'k'});
        client.did_receive_trailers({{"X-Trailer", "yes"}});
    }

    static std::string inner_url(const Request &request) {
        const std::string_view url = request.nested_url();
        return std::string(url.substr(url.find('!') + 1));
    }

    static void nested(const Request &request, Client &client) {
        portolan::NestedLoad nested(client, portolan::Changes::nested(inner_url(request)));
        Response response = nested.response();
        response.storage = PORTOLAN_STORE_NOT;
        client.did_receive(response);
        for (auto bytes = nested.next(); !bytes.empty(); bytes = nested.next()) client.did_load(bytes);
    }

    static void kept(const Request &request, Client &client) {
        std::optional<Error> last;
        for (int attempt = 0; attempt < 3; attempt++) {
            try {
                return nested(request, client);
            } catch (const Error &error) {
                last = last ? Error(PORTOLAN_ERROR_IO_FAILED, error.what(), *last) : error;
            }
        }
        throw Error(PORTOLAN_ERROR_NOT_FOUND, "three attempts failed", *last);
    }

    static void deep(const Request &request, Client &client) {
        portolan::Changes changes = portolan::Changes::nested(inner_url(request));
        changes.method = "GET";
        changes.fields = {{"X-Deep", "1"}, {"X-None", std::nullopt}};
        changes.properties = {{"org.portolan.cpp.text", "text"},
                              {"org.portolan.cpp.times", 5},
                              {"org.portolan.cpp.real", 0.5},
                              {"org.portolan.cpp.truth", true},
                              {"org.portolan.cpp.bytes", portolan::Bytes{1, 2}},
                              {"org.portolan.cpp.none", std::nullopt}};
        portolan::NestedLoad nested(client, changes);
        throw std::runtime_error("after the response of " + nested.response().mime_type.value_or("nothing"));
    }

    static void echo(const Request &request, Client &client) {
        portolan::Upload upload(client);
        Response response;
        response.mime_type = "application/octet-stream";
        response.expected_length = request.body_length();
        client.did_receive(response);
        for (auto piece = upload.next(); !piece.empty(); piece = upload.next()) {
            upload.did_send(piece.size());
            client.did_load(piece);
        }
    }

    static void twice(Client &client) {
        portolan::Upload upload(client, 10);
        const std::string first = upload.read_all(1 << 20);
        upload.rewind();
        const std::string second = upload.read_all(1 << 20);
        client.did_receive(text_response());
        client.did_load(first + "|" + second);
    }

    static void whole(const Request &request, Client &client) {
        const auto limit = std::stoul(request.decoded_query_value("limit").value_or("10"));
        const std::string body = portolan::Upload(client).read_all(limit);
        client.did_receive(text_response());
        client.did_load(body);
    }

    static void secret(const Request &request, Client &client) {
        portolan::Challenge challenge = portolan::Challenge::of(request);
        challenge.realm = "secret";
        for (;;) {
            const portolan::Answer answer = client.did_receive_challenge(challenge);
            if (answer.disposition == PORTOLAN_CANCEL)
                throw Error(PORTOLAN_ERROR_AUTHENTICATION_CANCELLED, "the challenge for a password was cancelled");
            if (answer.disposition != PORTOLAN_USE)
                throw Error(PORTOLAN_ERROR_AUTHENTICATION_REQUIRED, "cpp:secret needs a user and a password");
            if (answer.user.equals("guest") && answer.password.equals("sesame")) break;
            challenge.previous = Error(PORTOLAN_ERROR_AUTHENTICATION_REQUIRED, "user or password is wrong");
            if (++challenge.failure_count == 3) throw *challenge.previous;
        }
        client.did_receive(text_response());
        client.did_load("The harbour lies behind the second cape.\n");
    }

    static void redirect(const Request &request, Client &client) {
        portolan::Changes to;
        to.url = request.decoded_query_value("to");
        if (request.decoded_query_value("bare")) client.was_redirected(to);
        client.was_redirected(to, text_response());
        client.did_receive(text_response());
        client.did_load("not followed");
    }

    static void stored(Client &client) {
        if (const auto stored = client.cached_response(); stored && stored->field("ETag") == "\"1\"") {
            char bytes[4];
            if (client.read_cached(0, bytes, sizeof bytes) == sizeof bytes && std::string_view(bytes, 4) == "kept")
                return client.cached_response_is_valid(*stored);
        }
        Response response = text_response();
        response.storage = PORTOLAN_STORE;
        response.fields = {{"ETag", "\"1\""}, {"Cache-Control", "no-cache"}};
        client.did_receive(response);
        client.did_load("kept");
    }

    static void wait(const Request &request, Client &client) {
        const Pair pair;
        if (request.decoded_query_value("late"))
            while (!client.is_stopped()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
        portolan::Interrupt interrupt(client, pair.descriptor());
        portolan::Interrupt second(client, [] { throw std::runtime_error("thrown in stop"); });
        client.did_receive(text_response());
        char byte;
        if (::recv(pair.descriptor(), &byte, 1, 0) == 0 && !client.is_stopped())
            throw Error(PORTOLAN_ERROR_CONNECTION_LOST, "the socket was shut down without a stop");
    }

    const std::string greeting_;
};

} // namespace

PORTOLAN_PLUGIN(Plugin, "org.portolan.cpp", "C++", "The Portolan authors", "1.0.0", "cpp");
