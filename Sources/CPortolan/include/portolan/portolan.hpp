/* SPDX-License-Identifier: Apache-2.0 */
/// The plugin contract for C++17 and later, in one header, for blocking loads. A whole plugin:
///
///     #include <portolan/portolan.hpp>
///
///     class Hello final : public portolan::Handler {
///       public:
///         void load(const portolan::Request &request, portolan::Client &client) override {
///             portolan::Response response;
///             response.mime_type = "text/plain";
///             client.did_receive(response);
///             client.did_load("Hello, " + request.decoded_host() + "\n");
///         }
///     };
///
///     PORTOLAN_PLUGIN(Hello, "org.example.hello", "Hello", "Example", "0.1.0", "hello")
///
/// Returning from `load` finishes the load, and throwing fails it: an `Error` with its code, and any other exception
/// with PORTOLAN_ERROR_NO_MEMORY or PORTOLAN_ERROR_UNKNOWN. When the load is stopped, client calls throw `Stopped`,
/// which no author needs to catch: it closes what the load has opened, and the host gets no further call. No exception
/// leaves a function of the plugin. Two things can't be converted, and end the process: an exception that leaves a
/// `noexcept` function, such as a destructor, and the end of a thread of the host (pthread_exit(3), pthread_cancel(3)).
/// So call no client function in a destructor.
///
/// This header is not part of the contract, and no host needs it. It starts no thread, and has no variables. Its only
/// lock is for `Interrupt`.
#ifndef PORTOLAN_PORTOLAN_HPP
#define PORTOLAN_PORTOLAN_HPP

#if !defined(__cplusplus) || __cplusplus < 201703L
#error "portolan/portolan.hpp needs C++17 or later: compile with -std=c++17"
#endif

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <sys/socket.h>
#ifdef __GLIBCXX__
#include <cxxabi.h>
#endif

#include "helpers.h"
#include "portolan.h"

namespace portolan {

class Client;

/// Bytes that need not be text.
using Bytes = std::vector<std::uint8_t>;

/// A header field, or its equivalent in another protocol.
struct Field {
    std::string name{}, value{};
};

/// The value of a property: text, bytes, an integer, a number, or true or false. No std::variant, because the copy of
/// a variant crashes in libstdc++ 12 if there is no memory.
class Value {
  public:
    Value(const char *text) : Value(std::string(text)) {}
    Value(std::string text) noexcept : kind_(PORTOLAN_KIND_TEXT), bytes_(std::move(text)) {}
    Value(const Bytes &bytes) : kind_(PORTOLAN_KIND_BYTES), bytes_(bytes.begin(), bytes.end()) {}
    template <class Number, class = std::enable_if_t<std::is_arithmetic_v<Number>>> Value(Number number) noexcept {
        if constexpr (std::is_floating_point_v<Number>) {
            kind_ = PORTOLAN_KIND_REAL;
            real_ = number;
        } else {
            kind_ = std::is_same_v<Number, bool> ? PORTOLAN_KIND_TRUTH : PORTOLAN_KIND_INTEGER;
            integer_ = static_cast<std::int64_t>(number);
        }
    }

    /// The value as the contract has it. Borrows the bytes.
    portolan_property lend() const noexcept {
        portolan_property property{};
        property.kind = kind_;
        property.integer = integer_;
        property.real = real_;
        const bool has_bytes = kind_ == PORTOLAN_KIND_TEXT || kind_ == PORTOLAN_KIND_BYTES;
        if (has_bytes) property.bytes = {bytes_.data(), bytes_.size()};
        return property;
    }

  private:
    portolan_kind kind_;
    std::int64_t integer_ = 0;
    double real_ = 0;
    std::string bytes_;
};

namespace detail {

/// The longest message that the host accepts (ERR-02).
constexpr std::size_t message_limit = 4096;

inline portolan_string lend(std::string_view text) noexcept { return {text.data(), text.size()}; }
inline portolan_string lend(const Bytes &bytes) noexcept {
    // A vector without bytes can have no address, which would mean that the string is absent.
    return {bytes.empty() ? "" : reinterpret_cast<const char *>(bytes.data()), bytes.size()};
}
inline portolan_string lend(const std::optional<std::string> &text) noexcept {
    return text ? lend(std::string_view(*text)) : portolan_string{nullptr, 0};
}

inline std::optional<std::string_view> view(const portolan_string &text) noexcept {
    if (!text.bytes) return std::nullopt;
    return std::string_view(text.bytes, text.length);
}
inline std::optional<std::string> copy(const portolan_string &text) {
    if (!text.bytes) return std::nullopt;
    return std::string(text.bytes, text.length);
}
inline std::vector<Field> copy(const portolan_field *fields, std::size_t count) {
    std::vector<Field> copies;
    for (std::size_t i = 0; fields && i < count; i++)
        copies.push_back({copy(fields[i].name).value_or(""), copy(fields[i].value).value_or("")});
    return copies;
}
inline std::vector<portolan_field> lend(const std::vector<Field> &fields) {
    std::vector<portolan_field> lent;
    for (const Field &each : fields)
        lent.push_back({lend(std::string_view(each.name)), lend(std::string_view(each.value))});
    return lent;
}

/// Returns the number of bytes of the first character; 0 if it is not UTF-8, or a control character or a line break.
inline std::size_t printable_length(std::string_view text) noexcept {
    const auto byte = [text](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u; };
    const unsigned first = byte(0);
    if (first < 0x80) return first < 0x20 || first == 0x7F ? 0 : 1;
    if (first < 0xC2 || first > 0xF4) return 0;
    const std::size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
    unsigned scalar = first & (0x7Fu >> length);
    for (std::size_t i = 1; i < length; i++) {
        if ((byte(i) & 0xC0) != 0x80) return 0;
        scalar = scalar << 6 | (byte(i) & 0x3F);
    }
    const unsigned least = length == 2 ? 0xA0 : length == 3 ? 0x800 : 0x10000;
    const bool is_surrogate = scalar >= 0xD800 && scalar <= 0xDFFF, is_separator = scalar == 0x2028 || scalar == 0x2029;
    return scalar < least || scalar > 0x10FFFF || is_surrogate || is_separator ? 0 : length;
}

/// One line of 1 to 4096 bytes of UTF-8. What is no printable text becomes U+FFFD. Needs no memory, so that it can also
/// report that there is none.
class Line {
  public:
    explicit Line(std::string_view text, std::size_t limit = message_limit) noexcept {
        while (!text.empty()) {
            const std::size_t length = printable_length(text);
            const std::string_view next = length > 0 ? text.substr(0, length) : std::string_view("\xEF\xBF\xBD");
            if (length_ + next.size() > limit) break;
            std::memcpy(bytes_ + length_, next.data(), next.size());
            length_ += next.size();
            text.remove_prefix(length > 0 ? length : 1);
        }
        is_cut_ = !text.empty();
    }
    bool is_cut() const noexcept { return is_cut_; }
    std::string_view text() const noexcept { return {bytes_, length_}; }
    std::string_view message() const noexcept { return length_ > 0 ? text() : "no reason was given"; }

  private:
    char bytes_[message_limit];
    std::size_t length_ = 0;
    bool is_cut_ = false;
};

} // namespace detail

/// Returns a text in quotes for a message: on one line, and shortened. Never quote a secret or the user information of
/// a URL (ERR-05).
inline std::string quoted(std::string_view text, std::size_t limit = 64) {
    const detail::Line line(text, limit < detail::message_limit ? limit : detail::message_limit);
    return "'" + std::string(line.text()) + (line.is_cut() ? "…'" : "'");
}

/// A client call throws this when the load was stopped. The load has ended then: let it pass. If the load catches it,
/// the next client call throws it again. It is no std::exception, so `catch (const std::exception &)` does not catch
/// it.
class Stopped {
    friend class Client;
    Stopped() noexcept {}
};

/// Why a load failed, or why the plugin does not start. Throw it. The message is one line that says what happened, with
/// values quoted, and how to fix it, without secrets. What the host would refuse in a message is replaced or cut
/// (ERR-02).
///
/// An error owns its texts and its causes, so it can outlive the nested load from which it came. It keeps at most eight
/// causes: the nearest seven and the first, whose message then begins with the number of omitted causes.
class Error : public std::exception {
  public:
    Error(portolan_code code, std::string_view message) : Error({}, code, message, nullptr) {}
    Error(portolan_code code, std::string_view message, const Error &cause) : Error({}, code, message, &cause) {}

    /// An error with a code that the plugin defines. `domain` is reverse DNS, such as the plugin's identifier.
    static Error in_domain(std::string_view domain, std::int32_t code, std::string_view message) {
        return Error(domain, code, message, nullptr);
    }
    static Error in_domain(std::string_view domain, std::int32_t code, std::string_view message, const Error &cause) {
        return Error(domain, code, message, &cause);
    }

    /// Copies an error of the host with its causes.
    explicit Error(const portolan_error &error) {
        auto links = std::make_shared<std::vector<Link>>();
        std::size_t followed = 0;
        for (const portolan_error *next = &error; next && followed < followed_limit; next = next->cause, followed++) {
            if (links->size() > cause_limit) links->pop_back();
            const std::string_view domain = detail::view(next->domain).value_or("");
            links->push_back({next->code, std::string(domain), one_line(detail::view(next->message).value_or(""))});
        }
        if (followed > links->size()) links->back().add_left_out(followed - links->size());
        links_ = std::move(links);
    }

    /// A `portolan_code`; with a domain, any number.
    std::int32_t code() const noexcept { return links_->front().code; }
    /// Empty for a `portolan_code`.
    std::string_view domain() const noexcept { return links_->front().domain; }
    const char *what() const noexcept override { return links_->front().message.c_str(); }

    /// The underlying error, such as the failure of a nested load.
    std::optional<Error> cause() const {
        if (links_->size() < 2) return std::nullopt;
        return Error(std::make_shared<std::vector<Link>>(links_->begin() + 1, links_->end()));
    }

    /// Calls `use` with the error as the contract has it, for the length of the call. Needs no memory.
    template <class Use> void lend(Use &&use) const noexcept {
        std::array<portolan_error, cause_limit + 1> errors{};
        const std::size_t count = links_->size();
        for (std::size_t i = 0; i < count; i++) {
            const Link &link = (*links_)[i];
            errors[i].size = sizeof(portolan_error);
            errors[i].code = link.code;
            if (!link.domain.empty()) errors[i].domain = detail::lend(std::string_view(link.domain));
            errors[i].message = detail::lend(std::string_view(link.message));
            errors[i].cause = i + 1 < count ? &errors[i + 1] : nullptr;
        }
        // A nested load can fail with one of the codes that only the host may use. It stays in the cause.
        std::int32_t &code = errors[0].code;
        const bool is_reserved = code <= PORTOLAN_ERROR_PROTOCOL_VIOLATION && code >= PORTOLAN_ERROR_PLUGIN_REFUSED;
        if (is_reserved && !errors[0].domain.bytes) code = PORTOLAN_ERROR_UNKNOWN;
        use(&errors[0]);
    }

  private:
    /// The number of causes that the host keeps, and of those that it follows, because a plugin's list can be a circle.
    static constexpr std::size_t cause_limit = 8, followed_limit = 1024;

    struct Link {
        std::int32_t code;
        std::string domain, message;

        /// Writes the number of omitted causes as the host does: `(3 causes left out) message`.
        void add_left_out(unsigned long long count) {
            std::string rest = message;
            const std::size_t end = message.find(" left out) ");
            if (message[0] == '(' && end != std::string::npos) {
                unsigned long long old = 0;
                std::size_t at = 1;
                for (; at < end && at < 12 && message[at] >= '0' && message[at] <= '9'; at++)
                    old = old * 10 + static_cast<unsigned long long>(message[at] - '0');
                const std::string_view word = std::string_view(message).substr(at, end - at);
                if (at > 1 && (word == " cause" || word == " causes")) {
                    count += old;
                    rest = message.substr(end + std::strlen(" left out) "));
                }
            }
            const char *causes = count == 1 ? " cause" : " causes";
            message = one_line("(" + std::to_string(count) + causes + " left out) " + rest);
        }
    };

    Error(std::string_view domain, std::int32_t code, std::string_view message, const Error *cause) {
        auto links = std::make_shared<std::vector<Link>>();
        links->push_back({code, std::string(domain), one_line(message)});
        if (cause) links->insert(links->end(), cause->links_->begin(), cause->links_->end());
        if (links->size() > cause_limit + 1) {
            links->back().add_left_out(links->size() - cause_limit - 1);
            links->erase(links->begin() + cause_limit, links->end() - 1);
        }
        links_ = std::move(links);
    }
    explicit Error(std::shared_ptr<const std::vector<Link>> links) noexcept : links_(std::move(links)) {}

    static std::string one_line(std::string_view text) { return std::string(detail::Line(text).message()); }

    /// The error and its causes, the nearest first. Shared, because a copy of an exception must not throw.
    std::shared_ptr<const std::vector<Link>> links_;
};

namespace detail {

/// Calls `body`. Reports an exception to `fail`, which takes a `const portolan_error *`. Returns whether there was
/// none. `Stopped` is none, because it reports nothing.
template <class Body, class Fail> bool contain(Body &&body, Fail &&fail) noexcept {
    const auto report = [&fail](portolan_code code, std::string_view message) {
        portolan_error error{};
        error.size = sizeof error;
        error.code = code;
        error.message = lend(message);
        fail(&error);
    };
    try {
        body();
        return true;
#ifdef __GLIBCXX__
    } catch (const abi::__forced_unwind &) {
        // The thread is ending, which the contract forbids. Nothing can stop that, so the process ends here, before the
        // stack of the host is unwound.
        std::terminate();
#endif
    } catch (const Stopped &) {
        return true;
    } catch (const Error &error) {
        error.lend(fail);
    } catch (const std::bad_alloc &) {
        report(PORTOLAN_ERROR_NO_MEMORY, "the plugin has no memory; load less at the same time");
    } catch (const std::exception &error) {
        const char *what = error.what();
        report(PORTOLAN_ERROR_UNKNOWN, Line(what ? what : "").message());
    } catch (...) {
        report(PORTOLAN_ERROR_UNKNOWN, "the plugin threw an exception that is no std::exception; ask its author");
    }
    return false;
}

/// Says why a helper refuses a part of a URL.
inline std::string refusal_text(std::int64_t refused, std::string_view part) {
    switch (refused) {
    case PORTOLAN_REFUSED_ESCAPE: return "two hexadecimal digits must follow each % in " + quoted(part);
    case PORTOLAN_REFUSED_PARENT: return "the path " + quoted(part) + " has the segment '..'; write it without";
    case PORTOLAN_REFUSED_BACKSLASH: return "the path " + quoted(part) + " has a backslash; separate segments by '/'";
    case PORTOLAN_REFUSED_ROOT: return "the plugin has no folder for the path " + quoted(part);
    default: return "a NUL, CR or LF is encoded in " + quoted(part) + "; remove %00, %0D and %0A";
    }
}

/// Calls `read` without a buffer, which returns a length, and then with a buffer for this length.
template <class Read> std::string decode(std::string_view part, Read &&read) {
    const std::int64_t length = read(nullptr, 0);
    if (length < 0) throw Error(PORTOLAN_ERROR_BAD_URL, refusal_text(length, part));
    std::string text(static_cast<std::size_t>(length), '\0');
    read(text.data(), text.size() + 1); // The NUL after the text belongs to the string.
    return text;
}

template <class T> constexpr const char *kind_name() noexcept {
    if constexpr (std::is_same_v<T, bool>) return "true or false";
    else if constexpr (std::is_integral_v<T>) return "an integer";
    else if constexpr (std::is_floating_point_v<T>) return "a number";
    else if constexpr (std::is_same_v<T, Bytes>) return "bytes";
    else return "text";
}

/// Returns nothing if the property has another kind, or a number that does not fit.
template <class T> std::optional<T> value_of(const portolan_property &property) {
    if constexpr (std::is_same_v<T, bool>) {
        if (property.kind == PORTOLAN_KIND_TRUTH) return property.integer != 0;
    } else if constexpr (std::is_integral_v<T>) {
        const T value = static_cast<T>(property.integer);
        if constexpr (std::is_unsigned_v<T>)
            if (property.integer < 0) return std::nullopt;
        const bool fits = static_cast<std::int64_t>(value) == property.integer;
        if (property.kind == PORTOLAN_KIND_INTEGER && fits) return value;
    } else if constexpr (std::is_floating_point_v<T>) {
        if (property.kind == PORTOLAN_KIND_REAL) return static_cast<T>(property.real);
        // A JSON number without a fraction arrives as an integer.
        if (property.kind == PORTOLAN_KIND_INTEGER) return static_cast<T>(property.integer);
    } else if constexpr (std::is_same_v<T, Bytes>) {
        const std::string_view bytes = view(property.bytes).value_or("");
        if (property.kind == PORTOLAN_KIND_BYTES) return Bytes(bytes.begin(), bytes.end());
    } else {
        static_assert(std::is_same_v<T, std::string>, "use std::string, portolan::Bytes, an integer, a number or bool");
        if (property.kind == PORTOLAN_KIND_TEXT) return std::string(view(property.bytes).value_or(""));
    }
    return std::nullopt;
}

/// `what` says in a message what the name is.
template <class T>
std::optional<T> find_value(const portolan_property *list, std::size_t count, std::string_view name, const char *what) {
    const portolan_property *property = portolan_find_property(list, count, lend(name));
    if (!property) return std::nullopt;
    std::optional<T> value = value_of<T>(*property);
    if (!value) throw Error(PORTOLAN_ERROR_BAD_REQUEST, what + quoted(name) + " must be " + kind_name<T>());
    return value;
}

} // namespace detail

/// Percent-decodes a part of a URL once: `%2541` gives `%41`. A `+` stays a `+`. Throws PORTOLAN_ERROR_BAD_URL if a `%`
/// is not followed by two hexadecimal digits, or if the result has a NUL, CR or LF, which could end a file name or a
/// line (SEC-01).
inline std::string percent_decode(std::string_view part) {
    return detail::decode(part, [part](char *buffer, std::size_t capacity) {
        return portolan_decode(detail::lend(part), buffer, capacity);
    });
}

/// Decodes a URL's path once, and appends it to `root`, which is a path of the system. Refuses a `..` (SEC-02): see
/// `portolan_join` for the rest, also for symbolic links.
inline std::string join(std::string_view root, std::string_view path) {
    return detail::decode(path, [root, path](char *buffer, std::size_t capacity) {
        return portolan_join(detail::lend(root), detail::lend(path), buffer, capacity);
    });
}

/// The request of a load, which the host has parsed. It is borrowed: valid until `load` returns, or for the length of
/// the call. So are its texts. A part that is not in the URL is absent. The parts are percent-encoded.
class Request {
  public:
    explicit Request(const portolan_request &request) noexcept : request_(&request) {}

    /// Case-sensitive.
    std::string_view method() const noexcept { return detail::view(request_->method).value_or(""); }
    /// Whether the method is safe, so that a failed request can be repeated (RFC 9110 section 9.2.1).
    bool is_method_safe() const noexcept { return request_->method_is_safe != 0; }
    /// The absolute URL. It can include a user and a password: use `url_without_user` in messages (ERR-05).
    std::string_view url() const noexcept { return detail::view(request_->url).value_or(""); }
    /// In lower case, as is the host.
    std::string_view scheme() const noexcept { return detail::view(request_->scheme).value_or(""); }
    std::optional<std::string_view> user() const noexcept { return detail::view(request_->user); }
    std::optional<std::string_view> password() const noexcept { return detail::view(request_->password); }
    std::optional<std::string_view> host() const noexcept { return detail::view(request_->host); }
    std::optional<std::int32_t> port() const noexcept {
        return request_->port < 0 ? std::nullopt : std::optional<std::int32_t>(request_->port);
    }
    std::string_view path() const noexcept { return detail::view(request_->path).value_or(""); }
    std::optional<std::string_view> query() const noexcept { return detail::view(request_->query); }
    std::optional<std::string_view> fragment() const noexcept { return detail::view(request_->fragment); }

    /// The host, percent-decoded; empty if there is none. Throws as `percent_decode` does.
    std::string decoded_host() const { return percent_decode(host().value_or("")); }
    /// The path, percent-decoded. It can contain `..`: for a file, use `join` (SEC-02). Throws as `percent_decode`
    /// does.
    std::string decoded_path() const { return percent_decode(path()); }
    /// The decoded value of the first `name=value` in the query; empty if the name has no value. `name` is compared as
    /// it is written in the URL. Throws as `percent_decode` does.
    std::optional<std::string> decoded_query_value(std::string_view name) const {
        const auto value = detail::view(portolan_query_item(request_->query, detail::lend(name)));
        if (!value) return std::nullopt;
        return percent_decode(*value);
    }

    /// The URL after `scheme:`, without the fragment. A layered handler (`gzip:URL`) loads this URL.
    std::string_view nested_url() const noexcept {
        std::string_view nested = url();
        nested.remove_prefix(scheme().size() + 1);
        if (const auto end = fragment()) nested.remove_suffix(end->size() + 1);
        return nested;
    }
    /// The URL without user and password, for messages.
    std::string url_without_user() const {
        std::string text = std::string(scheme()) + ":";
        if (const auto name = host()) text += "//" + std::string(*name) + (port() ? ":" + std::to_string(*port()) : "");
        else if (path().substr(0, 2) == "//") text += "/.";
        text += path();
        if (const auto part = query()) text += "?" + std::string(*part);
        if (const auto part = fragment()) text += "#" + std::string(*part);
        return text;
    }

    std::vector<Field> fields() const { return detail::copy(request_->fields, request_->field_count); }
    /// The value of the first field of this name, in either case.
    std::optional<std::string_view> field(std::string_view name) const noexcept {
        const portolan_field *found = portolan_find_field(request_->fields, request_->field_count, detail::lend(name));
        return found ? detail::view(found->value) : std::nullopt;
    }
    /// The value of a property, as in `request.value<int>("org.example.hello.times")`. Throws
    /// PORTOLAN_ERROR_BAD_REQUEST with the property's name if the value has another kind (PROP-02).
    template <class T> std::optional<T> value(std::string_view name) const {
        return detail::find_value<T>(request_->properties, request_->property_count, name, "the property ");
    }

    /// The length of the upload body: 0 for no body, absent if unknown.
    std::optional<std::int64_t> body_length() const noexcept {
        return request_->body_length < 0 ? std::nullopt : std::optional<std::int64_t>(request_->body_length);
    }
    /// The maximum time without progress, which the host enforces; 0 for no limit.
    std::chrono::milliseconds timeout() const noexcept { return std::chrono::milliseconds(request_->timeout_ms); }
    /// 0 is normal. Requests with a higher number go first.
    std::int32_t priority() const noexcept { return request_->priority; }
    portolan_cache_policy cache_policy() const noexcept { return request_->cache_policy; }
    portolan_service service() const noexcept { return request_->service; }
    /// The page for which this is loaded. Absent: the request's own URL.
    std::optional<std::string_view> main_document() const noexcept { return detail::view(request_->main_document); }

  private:
    const portolan_request *request_;
};

/// A response without its body. Set what the protocol knows: `response.mime_type = "text/plain";`
struct Response {
    /// 0 if the protocol has none; 100 to 199 only in an interim response.
    std::int32_t status = 0;
    /// Absent: the request's URL.
    std::optional<std::string> url{};
    /// Without parameters, as in `text/plain` (BODY-09).
    std::optional<std::string> mime_type{};
    /// The charset, as in `utf-8`.
    std::optional<std::string> text_encoding{};
    /// A file name for saving, without a path. The host makes it safe.
    std::optional<std::string> suggested_name{};
    /// The number of body bytes that will be delivered. Absent: unknown. 0 promises an empty body (BODY-02).
    std::optional<std::int64_t> expected_length{};
    std::vector<Field> fields{};
    /// Whether the response can be stored. The handler's flags then have PORTOLAN_CACHEABLE.
    portolan_storage storage = PORTOLAN_STORE_NOT;

    /// The value of the first field of this name, in either case.
    std::optional<std::string_view> field(std::string_view name) const noexcept {
        const portolan_string wanted = detail::lend(name);
        for (const Field &each : fields)
            if (portolan_equal_ignoring_case(detail::lend(std::string_view(each.name)), wanted)) return each.value;
        return std::nullopt;
    }
};

/// How a request differs from the load's own: the target of a redirect, a nested request, or a canonical form.
/// Everything that is not named stays the same.
struct Changes {
    /// Absolute. Absent: the same URL; in a redirect, the Location of its response.
    std::optional<std::string> url{};
    std::optional<std::string> method{};
    /// Each element replaces all fields of its name, or removes them if it has no value. Two of the same name are both
    /// kept.
    std::vector<std::pair<std::string, std::optional<std::string>>> fields{};
    /// Each element replaces the property of its name, or removes it if it has no value.
    std::vector<std::pair<std::string, std::optional<Value>>> properties{};
    /// Whether the new request has no body.
    bool drops_body = false;
    /// Whether only the fields in `fields` stay.
    bool drops_fields = false;

    /// The request of a layered handler: GET of another URL, and no fields and body of the load's own request. With the
    /// load's own method, a HEAD request would find no body to decode. If you pass the body on (`drops_body` is false),
    /// set the method, too.
    static Changes nested(std::string_view url) {
        Changes changes;
        changes.url = std::string(url);
        changes.method = "GET";
        changes.drops_body = changes.drops_fields = true;
        return changes;
    }
};

/// Bytes that are wiped when they are no longer needed. Never put them in a message, log line, URL or field (CHAL-09).
class Secret {
  public:
    Secret() noexcept = default;
    explicit Secret(std::string_view bytes) : bytes_(new char[bytes.size() + 1]), length_(bytes.size()) {
        std::memcpy(bytes_.get(), bytes.data(), bytes.size());
        bytes_[length_] = '\0';
    }
    Secret(Secret &&other) noexcept : bytes_(std::move(other.bytes_)), length_(std::exchange(other.length_, 0)) {}
    Secret &operator=(Secret &&other) noexcept {
        std::swap(bytes_, other.bytes_);
        std::swap(length_, other.length_);
        return *this;
    }
    ~Secret() {
        // Volatile, because a compiler removes writes to memory that is freed next.
        for (volatile char *byte = bytes_.get(); length_ > 0; length_--) *byte++ = 0;
    }

    /// Borrowed as long as the secret. It ends in a NUL that it does not count. A copy is not wiped.
    std::string_view view() const noexcept { return bytes_ ? std::string_view(bytes_.get(), length_) : ""; }

    /// Compares in constant time: the time depends only on the lengths.
    bool equals(std::string_view other) const noexcept {
        unsigned difference = length_ == other.size() ? 0 : 1;
        for (std::size_t i = 0; i < other.size(); i++)
            difference |= static_cast<unsigned char>((i < length_ ? bytes_[i] : '\0') ^ other[i]);
        return difference == 0;
    }

  private:
    std::unique_ptr<char[]> bytes_;
    std::size_t length_ = 0;
};

/// A challenge of the peer, with the protection space: the place where one credential is valid.
struct Challenge {
    portolan_method method = PORTOLAN_ASK_PASSWORD;
    /// The scheme of the URL or of the proxy.
    std::string protocol{};
    /// Empty if the URL has no host.
    std::string host{};
    std::optional<std::int32_t> port{};
    std::optional<std::string> realm{};
    /// The authentication scheme, such as `basic`. Absent if the protocol has only one.
    std::optional<std::string> scheme{};
    bool is_proxy = false;
    /// The number of answers in this space that have failed in this load (CHAL-04).
    std::int32_t failure_count = 0;
    /// Server trust: the peer's chain, DER, leaf first. Client certificate: the names of the accepted issuers, DER.
    std::vector<Bytes> certificates{};
    /// Why the last answer failed.
    std::optional<Error> previous{};

    /// A challenge for a password in the space of the request.
    static Challenge of(const Request &request) {
        Challenge challenge;
        challenge.protocol = std::string(request.scheme());
        challenge.host = std::string(request.host().value_or(""));
        challenge.port = request.port();
        return challenge;
    }
};

/// The answer to a challenge. Its secrets are wiped with it.
struct Answer {
    /// PORTOLAN_USE, or why there is no credential. Handle a value that is not known as PORTOLAN_WITHOUT.
    portolan_disposition disposition = PORTOLAN_WITHOUT;
    /// In UTF-8. Empty unless this is PORTOLAN_USE for PORTOLAN_ASK_PASSWORD.
    Secret user{}, password{};
    /// Client certificate: the chain, DER, leaf first, and its key (PKCS #8, DER).
    std::vector<Bytes> certificates{};
    Secret private_key{};
};

namespace detail {

inline Response copy(const portolan_response &response) {
    Response made;
    made.status = response.status;
    made.url = copy(response.url);
    made.mime_type = copy(response.mime_type);
    made.text_encoding = copy(response.text_encoding);
    made.suggested_name = copy(response.suggested_name);
    if (response.expected_length > 0 || (response.expected_length == 0 && response.has_length)) {
        made.expected_length = response.expected_length;
    }
    made.fields = copy(response.fields, response.field_count);
    made.storage = response.storage;
    return made;
}

/// A response as the contract has it. Borrows the texts.
struct LentResponse {
    explicit LentResponse(const Response &response) : fields(lend(response.fields)) {
        lent.size = sizeof lent;
        lent.status = response.status;
        lent.url = lend(response.url);
        lent.mime_type = lend(response.mime_type);
        lent.text_encoding = lend(response.text_encoding);
        lent.suggested_name = lend(response.suggested_name);
        lent.expected_length = response.expected_length.value_or(-1);
        lent.has_length = response.expected_length.has_value() ? 1 : 0;
        lent.fields = fields.data();
        lent.field_count = fields.size();
        lent.storage = response.storage;
    }
    std::vector<portolan_field> fields;
    portolan_response lent{};
};

/// A property without a value has kind 0, which removes it.
inline portolan_property lend(std::string_view name, const std::optional<Value> &value) noexcept {
    portolan_property property = value ? value->lend() : portolan_property{};
    property.name = lend(name);
    return property;
}

/// A change as the contract has it. Borrows the texts.
struct LentChange {
    explicit LentChange(const Changes &changes) {
        for (const auto &[name, value] : changes.fields) fields.push_back({lend(std::string_view(name)), lend(value)});
        for (const auto &[name, value] : changes.properties) properties.push_back(lend(name, value));
        lent.size = sizeof lent;
        lent.drops_body = changes.drops_body ? 1 : 0;
        lent.url = lend(changes.url);
        lent.method = lend(changes.method);
        lent.fields = fields.data();
        lent.properties = properties.data();
        lent.field_count = fields.size();
        lent.property_count = properties.size();
        lent.drops_fields = changes.drops_fields ? 1 : 0;
    }
    std::vector<portolan_field> fields;
    std::vector<portolan_property> properties;
    portolan_change lent{};
};

} // namespace detail

/// The host, for one instance of the plugin. Valid as long as the handler. Any thread can call it.
class Host {
  public:
    explicit Host(portolan_host *host) noexcept : host_(host) {}
    Host(const Host &) = delete;
    Host &operator=(const Host &) = delete;

    /// The host's version.
    std::string_view version() const noexcept { return detail::view(host_->version).value_or(""); }
    /// The whole configuration, a JSON object.
    std::string_view configuration() const noexcept { return detail::view(host_->configuration).value_or("{}"); }
    /// A setting, as in `host.setting<std::string>("greeting")`. A member of an object has a name like `a.b`. Throws
    /// PORTOLAN_ERROR_BAD_REQUEST with the setting's name if the value has another kind (REG-06).
    template <class T> std::optional<T> setting(std::string_view name) const {
        return detail::find_value<T>(host_->settings, host_->setting_count, name, "the setting ");
    }
    /// Writes one line to the user's log. A plugin writes nothing to standard output or standard error (ERR-06).
    void log(portolan_level level, std::string_view message) const noexcept {
        host_->log(host_, level, detail::lend(detail::Line(message).message()));
    }
    /// Requests an ability by its identifier with a version. Returns its table, or nullptr.
    const void *extension(const char *identifier) const noexcept { return host_->extension(host_, identifier); }

  private:
    portolan_host *host_;
};

/// Receives the events of a load. Valid until `load` returns, on the thread of `load`.
///
/// A call returns when the reader is ready for the next event. After the load was stopped, every call throws `Stopped`.
/// The host ends a load that violates the order of events, and the call then throws `Stopped`, too.
class Client {
  public:
    Client(Host &host, portolan_client *client, const portolan_response *cached) noexcept
        : host_(&host), client_(client), cached_(cached) {}
    Client(const Client &) = delete;
    Client &operator=(const Client &) = delete;

    /// The host, for the log.
    Host &host() const noexcept { return *host_; }
    /// Whether the load was stopped. For loops that call nothing else.
    bool is_stopped() const noexcept { return is_over_ || client_->is_stopped(client_) != 0; }

    /// Delivers an interim response, status 100 to 199, before the response.
    void did_receive_interim(const Response &response) {
        const detail::LentResponse made(response);
        active()->did_receive_interim(client_, &made.lent);
    }
    /// Delivers the response. A handler with PORTOLAN_MULTIPART delivers one for each part.
    void did_receive(const Response &response) {
        const detail::LentResponse made(response);
        has_response_ = true;
        proceed(active()->did_receive_response(client_, &made.lent));
    }
    /// Delivers the next bytes of the body. Pieces of 4 KiB to 1 MiB are most efficient.
    void did_load(const void *bytes, std::size_t length) { proceed(active()->did_load(client_, bytes, length)); }
    void did_load(std::string_view bytes) { did_load(bytes.data(), bytes.size()); }
    /// The same for a container of bytes, such as `std::vector<uint8_t>` and `std::array<char, N>`.
    template <class Container, class = std::enable_if_t<sizeof(*std::declval<const Container &>().data()) == 1>>
    void did_load(const Container &bytes) {
        did_load(bytes.data(), bytes.size());
    }
    /// Delivers the fields after the body, at most once.
    void did_receive_trailers(const std::vector<Field> &fields) {
        const std::vector<portolan_field> made = detail::lend(fields);
        active()->did_receive_trailers(client_, made.data(), made.size());
    }

    /// Reports that the resource is at another URL. If the caller follows the redirect, the load has ended, and this
    /// throws `Stopped`. Otherwise it returns: deliver the response and its body.
    void was_redirected(const Changes &to, const Response &response) {
        const detail::LentChange change(to);
        const detail::LentResponse made(response);
        proceed(active()->was_redirected(client_, &change.lent, &made.lent));
    }
    /// The same for a protocol without a response to a redirect. Throws PORTOLAN_ERROR_BAD_REDIRECT if the redirect is
    /// not followed.
    void was_redirected(const Changes &to) {
        const detail::LentChange change(to);
        proceed(active()->was_redirected(client_, &change.lent, nullptr));
        throw Error(PORTOLAN_ERROR_BAD_REDIRECT, "the caller did not follow the redirect, which has no response");
    }

    /// The stored response that the load can confirm. It can be damaged: compare its validator with that of the source,
    /// and check each value that you use (CACHE-04, CACHE-06).
    std::optional<Response> cached_response() const {
        if (!cached_) return std::nullopt;
        return detail::copy(*cached_);
    }
    /// Confirms the stored response in place of a response. Deliver no data.
    void cached_response_is_valid() { confirm(nullptr); }
    /// The same with newer fields (RFC 9111 section 4.3.4). The host uses only the fields.
    void cached_response_is_valid(const Response &newer) {
        const detail::LentResponse made(newer);
        confirm(&made.lent);
    }
    /// Reads the stored body from `offset` on, in any order. Returns the number of bytes, 0 at or after the end.
    /// `capacity` is at least 1.
    std::size_t read_cached(std::int64_t offset, void *buffer, std::size_t capacity) {
        return count(active()->read_cached(client_, offset, buffer, capacity));
    }

    /// Requests a credential, or a decision whether to trust a chain, and waits for the answer.
    Answer did_receive_challenge(const Challenge &challenge) {
        if (!challenge.previous) return ask(challenge, nullptr);
        // `lend` lets no exception through, so the answer leaves it in a variable.
        std::optional<Answer> answer;
        std::exception_ptr problem;
        challenge.previous->lend([&](const portolan_error *previous) {
            try {
                answer = ask(challenge, previous);
            } catch (...) {
                problem = std::current_exception();
            }
        });
        if (problem) std::rethrow_exception(problem);
        return std::move(*answer);
    }

    /// Reads the next bytes of the upload body, and waits for them. Returns 0 at the end. `capacity` is at least 1. See
    /// `Upload`.
    std::size_t read_body(void *buffer, std::size_t capacity) {
        return count(active()->read_body(client_, buffer, capacity));
    }
    /// Requests the upload body from its start. Returns false if it is not available again.
    bool rewind_body() { return count(active()->rewind_body(client_)) == 1; }
    /// Reports the total number of upload bytes that were sent to the peer.
    void did_send(std::int64_t total) { active()->did_send(client_, total); }
    /// Reports for the metrics that the load reached a step.
    void did_reach(portolan_step step) { active()->did_reach(client_, step); }

  private:
    friend class NestedLoad;
    friend class Interrupt;
    friend struct LoadAccess;

    /// The client, if the load is not over.
    portolan_client *active() const {
        if (is_over_) throw Stopped();
        return client_;
    }
    /// A blocking load gets only PORTOLAN_CONTINUE and PORTOLAN_STOPPED.
    void proceed(portolan_flow flow) {
        if (flow == PORTOLAN_STOPPED) stop_now();
    }
    std::size_t count(std::int64_t result) {
        if (result < 0) stop_now();
        return static_cast<std::size_t>(result);
    }
    [[noreturn]] void stop_now() {
        is_over_ = true;
        throw Stopped();
    }
    void confirm(const portolan_response *newer) {
        has_response_ = true;
        active()->cached_response_is_valid(client_, newer);
    }
    Answer ask(const Challenge &challenge, const portolan_error *previous) {
        std::vector<portolan_string> certificates;
        for (const Bytes &each : challenge.certificates) certificates.push_back(detail::lend(each));
        portolan_challenge lent{};
        lent.size = sizeof lent;
        lent.method = challenge.method;
        lent.protocol = detail::lend(std::string_view(challenge.protocol));
        lent.host = detail::lend(std::string_view(challenge.host));
        lent.realm = detail::lend(challenge.realm);
        lent.scheme = detail::lend(challenge.scheme);
        lent.port = challenge.port.value_or(-1);
        lent.is_proxy = challenge.is_proxy ? 1 : 0;
        lent.failure_count = challenge.failure_count;
        lent.certificates = certificates.data();
        lent.certificate_count = certificates.size();
        lent.previous = previous;
        const portolan_answer *given = nullptr;
        proceed(active()->did_receive_challenge(client_, &lent, &given));
        Answer answer;
        if (!given) return answer;
        answer.disposition = given->disposition;
        answer.user = Secret(detail::view(given->user).value_or(""));
        answer.password = Secret(detail::view(given->password).value_or(""));
        for (std::size_t i = 0; given->certificates && i < given->certificate_count; i++) {
            const std::string_view bytes = detail::view(given->certificates[i]).value_or("");
            answer.certificates.emplace_back(bytes.begin(), bytes.end());
        }
        answer.private_key = Secret(detail::view(given->private_key).value_or(""));
        return answer;
    }

    Host *host_;
    portolan_client *client_;
    const portolan_response *cached_;
    /// Whether the load has ended for the host. Nothing is called after that.
    bool is_over_ = false;
    bool has_response_ = false;

    /// Guards the members below. `stop` comes on another thread than `load`.
    std::mutex stop_mutex_;
    bool was_interrupted_ = false;
    class Interrupt *interrupts_ = nullptr;
};

/// A nested load, for layered schemes and interposers. Its destructor ends it. It must not outlive the parent load:
/// keep it on the stack of `load`, or in an object that is there.
///
///     portolan::NestedLoad nested(client, portolan::Changes::nested(request.nested_url()));
///     client.did_receive(nested.response());
///     if (request.method() == "HEAD") return;
///     for (auto bytes = nested.next(); !bytes.empty(); bytes = nested.next()) client.did_load(bytes);
///
/// If the nested load fails, `response` and `next` throw an `Error` with the same code and domain, and the failure as
/// its cause (NEST-02).
class NestedLoad {
  public:
    /// Starts the nested load. Throws PORTOLAN_ERROR_NOT_OFFERED if the host has no nested loads.
    NestedLoad(Client &client, const Changes &changes) : client_(client) {
        table_ = static_cast<const portolan_nested_table *>(client.host().extension(PORTOLAN_NESTED));
        if (!table_) throw Error(PORTOLAN_ERROR_NOT_OFFERED, "this host has no nested loads (" PORTOLAN_NESTED ")");
        const detail::LentChange change(changes);
        nested_ = table_->open(client.active(), &change.lent);
    }
    /// The host closes the nested loads of a load that was stopped.
    ~NestedLoad() {
        if (!client_.is_over_) table_->close(nested_);
    }
    NestedLoad(const NestedLoad &) = delete;
    NestedLoad &operator=(const NestedLoad &) = delete;

    /// The response. Its `url` is that of the last redirect. Waits for it.
    const Response &response() {
        client_.active();
        if (!response_) {
            const portolan_response *given = nullptr;
            if (table_->response(nested_, &given) != PORTOLAN_CONTINUE || !given) fail();
            response_ = detail::copy(*given);
        }
        return *response_;
    }
    /// The next bytes of the body; empty at the end. Waits for them. Borrowed until the next call.
    std::string_view next() {
        client_.active();
        const void *bytes = nullptr;
        const std::int64_t count = table_->next(nested_, &bytes);
        if (count < 0) fail();
        return {static_cast<const char *>(bytes), static_cast<std::size_t>(count)};
    }

  private:
    /// Copies the error, because the destructor ends the nested load before the failure of the parent load is reported.
    [[noreturn]] void fail() {
        const portolan_error *given = table_->error(nested_);
        if (!given) client_.stop_now();
        const Error cause(*given);
        const std::string message = std::string("the nested load failed: ") + cause.what();
        if (!cause.domain().empty()) throw Error::in_domain(cause.domain(), cause.code(), message, cause);
        throw Error(static_cast<portolan_code>(cause.code()), message, cause);
    }

    Client &client_;
    const portolan_nested_table *table_ = nullptr;
    portolan_nested *nested_ = nullptr;
    std::optional<Response> response_;
};

/// The upload body, in pieces of at most `piece_size` bytes, which is at least 1.
///
///     portolan::Upload upload(client);
///     for (auto piece = upload.next(); !piece.empty(); piece = upload.next()) {
///         write_to_peer(piece);
///         upload.did_send(piece.size());
///     }
class Upload {
  public:
    explicit Upload(Client &client, std::size_t piece_size = 65536) : client_(client), buffer_(piece_size) {}
    Upload(const Upload &) = delete;
    Upload &operator=(const Upload &) = delete;

    /// The next bytes; empty at the end. Waits for them. Borrowed until the next call.
    std::string_view next() { return {buffer_.data(), client_.read_body(buffer_.data(), buffer_.size())}; }
    /// The rest of the body. Throws PORTOLAN_ERROR_LIMIT_EXCEEDED if it has more than `limit` bytes.
    std::string read_all(std::size_t limit) {
        std::string body;
        for (std::string_view piece = next(); !piece.empty(); piece = next()) {
            if (piece.size() > limit - body.size()) {
                const std::string bytes = std::to_string(limit) + " bytes";
                throw Error(PORTOLAN_ERROR_LIMIT_EXCEEDED, "the upload has more than " + bytes + "; send fewer");
            }
            body += piece;
        }
        return body;
    }
    /// Reports that `count` more bytes were sent to the peer.
    void did_send(std::size_t count) { client_.did_send(total_ += static_cast<std::int64_t>(count)); }
    /// Starts again from the first byte. Throws PORTOLAN_ERROR_BODY_FAILED if the body is not available again.
    void rewind() {
        if (!client_.rewind_body())
            throw Error(PORTOLAN_ERROR_BODY_FAILED, "the upload must be sent again, but can be read only once");
        total_ = 0;
    }

  private:
    Client &client_;
    std::vector<char> buffer_;
    std::int64_t total_ = 0;
};

/// Interrupts a system call in which the load waits, when the load is stopped. Make one before the call, after the
/// descriptor is open, and let it end before the descriptor is closed.
///
///     Socket socket(…);                                     // closes itself
///     portolan::Interrupt interrupt(client, socket.descriptor());
///     count = recv(socket.descriptor(), …);                 // returns 0 after a stop
///     if (client.is_stopped()) return;
class Interrupt {
  public:
    /// `function` is called on another thread, at most once, and not after the destructor has returned. It returns
    /// soon, and uses neither the client nor an `Interrupt`. Throws `Stopped` if the load was stopped before.
    Interrupt(Client &client, std::function<void()> function) : client_(client), function_(std::move(function)) {
        const std::lock_guard<std::mutex> lock(client_.stop_mutex_);
        if (client_.was_interrupted_) client_.stop_now();
        next_ = std::exchange(client_.interrupts_, this);
    }
    /// Shuts the socket down, for both directions.
    Interrupt(Client &client, int socket) : Interrupt(client, [socket] { ::shutdown(socket, SHUT_RDWR); }) {}
    /// Waits for the function if it runs.
    ~Interrupt() {
        const std::lock_guard<std::mutex> lock(client_.stop_mutex_);
        Interrupt **place = &client_.interrupts_;
        while (*place != this) place = &(*place)->next_;
        *place = next_;
    }
    Interrupt(const Interrupt &) = delete;
    Interrupt &operator=(const Interrupt &) = delete;

  private:
    friend struct LoadAccess;

    Client &client_;
    std::function<void()> function_;
    Interrupt *next_ = nullptr;
};

/// A plugin: loads the URLs of its schemes. The host makes one object for each instance of the plugin, by a constructor
/// that takes a `Host &` or nothing. If the constructor throws, the plugin does not start: read the settings there
/// (REG-06). The destructor is called when no load is left.
///
/// Many threads call the functions at the same time, each for another load. Guard what they change.
class Handler {
  public:
    /// Bits of `portolan_handler_flags`. A handler can declare its own, as in
    /// `static constexpr uint32_t flags = PORTOLAN_CACHEABLE;`
    static constexpr std::uint32_t flags = 0;

    Handler() = default;
    Handler(const Handler &) = delete;
    Handler &operator=(const Handler &) = delete;
    virtual ~Handler() = default;

    /// Performs one load, on a thread that it may block. Returning finishes the load, and throwing fails it.
    virtual void load(const Request &request, Client &client) = 0;

    /// Whether the handler loads this request, which has one of its schemes. Takes less than 5 microseconds, and is
    /// always the same for the same request (CAN-01 to CAN-09). Not called if the handler does not override it. If it throws, the load is made, so
    /// that it can report the error; except with PORTOLAN_ANY_SCHEME, where the request is for another handler.
    virtual bool can_init(const Request &) const { return true; }

    /// The changes that give the canonical form of a request; nothing if it is canonical, and always for its own result
    /// (CANON-01). If it throws, the request is canonical.
    virtual std::optional<Changes> canonical_request(const Request &) const { return std::nullopt; }

    /// Whether a response stored for one of two canonical requests can be used for the other. Their order does not
    /// matter (CANON-04, CANON-05). If it throws, the response can't be used.
    virtual bool is_cache_equivalent(const Request &a, const Request &b) const { return a.url() == b.url(); }
};

/// What the functions below do with a client, and its author does not.
struct LoadAccess {
    static void finish(Client &client) {
        if (client.is_over_) return;
        if (!client.has_response_)
            throw Error(PORTOLAN_ERROR_UNKNOWN, "the plugin's load function returned without a response, which breaks "
                                                "ORDER-01; call did_receive, or throw an error");
        client.is_over_ = true;
        client.client_->did_finish(client.client_);
    }
    static void fail(Client &client, const portolan_error *error) noexcept {
        if (std::exchange(client.is_over_, true)) return;
        client.client_->did_fail(client.client_, error);
    }
    static void interrupt(Client &client) noexcept {
        // The functions are called under the lock, because it keeps their descriptors open until they have returned.
        const std::lock_guard<std::mutex> lock(client.stop_mutex_);
        client.was_interrupted_ = true;
        for (Interrupt *each = client.interrupts_; each; each = each->next_)
            detail::contain([each] { each->function_(); }, [](const portolan_error *) {});
    }
};

namespace detail {

/// Whether `T` overrides a function of `Handler`. A private override counts, too: its address is not accessible here.
template <class Own, class Inherited> using Same = std::enable_if_t<std::is_same_v<Own, Inherited>>;
template <class T, class = void> struct HasCanInit : std::true_type {};
template <class T>
struct HasCanInit<T, Same<decltype(&T::can_init), decltype(&Handler::can_init)>> : std::false_type {};
template <class T, class = void> struct HasCanonicalRequest : std::true_type {};
template <class T>
struct HasCanonicalRequest<T, Same<decltype(&T::canonical_request), decltype(&Handler::canonical_request)>>
    : std::false_type {};
template <class T, class = void> struct HasCacheEquivalence : std::true_type {};
template <class T>
struct HasCacheEquivalence<T, Same<decltype(&T::is_cache_equivalent), decltype(&Handler::is_cache_equivalent)>>
    : std::false_type {};

/// The functions and tables of a plugin. The tables are constants, so that opening the library runs no code (DESC-09).
/// `Texts::list` has the identifier, the name, the vendor, the version, and the schemes.
template <class T, class Texts> struct Plugin {
    static_assert(std::is_base_of_v<Handler, T>, "a plugin's class derives from portolan::Handler");
    static_assert(std::is_constructible_v<T, Host &> || std::is_default_constructible_v<T>,
                  "a plugin's class has a public constructor that takes a portolan::Host & or nothing");

    struct Instance {
        explicit Instance(portolan_host *pointer) : host(pointer), handler(make_handler(host)) {}
        static T make_handler(Host &host) {
            if constexpr (std::is_constructible_v<T, Host &>) return T(host);
            else return (void)host, T();
        }
        Host host;
        T handler;
    };
    struct Load {
        Handler &handler;
        Request request;
        Client client;
    };

    static void *init(portolan_host *host, portolan_refusal *refusal) noexcept {
        void *made = nullptr;
        contain([&] { made = new Instance(host); },
                [refusal](const portolan_error *error) { refusal->give(refusal, error); });
        return made;
    }
    static void deinit(void *plugin) noexcept { delete static_cast<Instance *>(plugin); }

    static const Handler &handler_of(void *plugin) noexcept { return static_cast<Instance *>(plugin)->handler; }
    static void ignore(const portolan_error *) noexcept {}

    static constexpr bool takes_any_scheme = (T::flags & PORTOLAN_ANY_SCHEME) != 0;
    /// The number of texts before the schemes.
    static constexpr std::size_t first_scheme = 4;

    static bool has_scheme(portolan_string scheme) noexcept {
        for (std::size_t i = first_scheme; i < Texts::list.size(); i++)
            if (portolan_equal(Texts::list[i], scheme)) return true;
        return takes_any_scheme;
    }
    static std::int32_t can_init(void *plugin, const portolan_request *request) noexcept {
        if (!has_scheme(request->scheme)) return 0; // so that no author must compare it (CAN-02)
        bool result = !takes_any_scheme;
        contain([&] { result = handler_of(plugin).can_init(Request(*request)); }, ignore);
        return result ? 1 : 0;
    }
    static void canonical_request(void *plugin, const portolan_request *request, portolan_canonical *form) noexcept {
        const auto give = [&] {
            const std::optional<Changes> changes = handler_of(plugin).canonical_request(Request(*request));
            if (!changes) return;
            const LentChange change(*changes);
            form->give(form, &change.lent);
        };
        contain(give, ignore);
    }
    static std::int32_t is_equivalent(void *plugin, const portolan_request *a, const portolan_request *b) noexcept {
        bool result = false;
        contain([&] { result = handler_of(plugin).is_cache_equivalent(Request(*a), Request(*b)); }, ignore);
        return result ? 1 : 0;
    }

    static void *make(void *plugin, const portolan_request *request, const portolan_response *cached,
                      portolan_client *client, portolan_refusal *refusal) noexcept {
        Instance *instance = static_cast<Instance *>(plugin);
        Load *made = nullptr;
        contain([&] { made = new Load{instance->handler, Request(*request), {instance->host, client, cached}}; },
                [refusal](const portolan_error *error) { refusal->give(refusal, error); });
        return made;
    }
    static void run(void *pointer) noexcept {
        Load &load = *static_cast<Load *>(pointer);
        const auto perform = [&load] {
            load.handler.load(load.request, load.client);
            LoadAccess::finish(load.client);
        };
        contain(perform, [&load](const portolan_error *error) { LoadAccess::fail(load.client, error); });
    }
    static void stop(void *load) noexcept { LoadAccess::interrupt(static_cast<Load *>(load)->client); }
    static void destroy(void *load) noexcept { delete static_cast<Load *>(load); }

    static constexpr portolan_load_table loads() noexcept {
        portolan_load_table table{};
        table.size = sizeof table;
        table.run = run;
        table.stop = stop;
        table.destroy = destroy;
        return table;
    }
    static constexpr portolan_handler handler(const portolan_load_table *loads) noexcept {
        portolan_handler table{};
        table.size = sizeof table;
        table.flags = T::flags;
        table.identifier = Texts::list[0];
        table.schemes = Texts::list.data() + first_scheme;
        table.scheme_count = Texts::list.size() - first_scheme;
        if (HasCanInit<T>::value) table.can_init = can_init;
        if (HasCanonicalRequest<T>::value) table.canonical_request = canonical_request;
        if (HasCacheEquivalence<T>::value) table.is_cache_equivalent = is_equivalent;
        table.make = make;
        table.loads = loads;
        return table;
    }
    static constexpr portolan_plugin descriptor(const portolan_handler *const *handlers) noexcept {
        portolan_plugin table{};
        table.size = sizeof table;
        table.abi_major = PORTOLAN_ABI_MAJOR;
        table.identifier = Texts::list[0];
        table.name = Texts::list[1];
        table.vendor = Texts::list[2];
        table.version = Texts::list[3];
        table.handlers = handlers;
        table.handler_count = 1;
        table.init = init;
        table.deinit = deinit;
        return table;
    }
};

template <class... Texts> constexpr auto literals(Texts... texts) noexcept {
    return std::array<portolan_string, sizeof...(texts)>{{{texts, std::char_traits<char>::length(texts)}...}};
}

} // namespace detail
} // namespace portolan

/// Exports the plugin. Once in a library, outside of all namespaces, after the class:
///
///     PORTOLAN_PLUGIN(Class, "org.example.hello", "Hello", "Example", "0.1.0", "hello")
///
/// The texts are literals: the identifier in reverse DNS, the name, the vendor, the version, and the schemes in lower
/// case. There are no schemes if the flags of the class have PORTOLAN_ANY_SCHEME. All of them are the same as in the
/// manifest (MANIF-02).
#define PORTOLAN_PLUGIN(type, identifier, name, vendor, ...)                                                  \
    namespace {                                                                                               \
    struct portolan_texts {                                                                                   \
        static constexpr auto list = ::portolan::detail::literals(identifier, name, vendor, __VA_ARGS__);     \
    };                                                                                                        \
    using portolan_tables = ::portolan::detail::Plugin<type, portolan_texts>;                                 \
    constexpr portolan_load_table portolan_loads = portolan_tables::loads();                                  \
    constexpr portolan_handler portolan_only_handler = portolan_tables::handler(&portolan_loads);             \
    constexpr const portolan_handler *portolan_handlers[] = {&portolan_only_handler};                         \
    constexpr portolan_plugin portolan_descriptor = portolan_tables::descriptor(portolan_handlers);           \
    }                                                                                                         \
    extern "C" const portolan_plugin *portolan_plugin_entry(uint32_t abi_major) {                             \
        return abi_major == PORTOLAN_ABI_MAJOR ? &portolan_descriptor : nullptr;                              \
    }

#endif
