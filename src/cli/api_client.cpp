#include "cli/api_client.h"

#include <cctype>
#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <optional>
#include <system_error>
#include <utility>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/error.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http.hpp>
#include <fmt/format.h>

#include "cli/terminal.h"
#include "config/config.h"
#include "process/exit_code.h"
#include "process/version.h"
#include "tls/client_link.h"
#include "tls/tls_context.h"
#include "tls/tls_error.h"

namespace muster {
namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using boost::beast::error_code;
using Request = http::request<http::string_body>;

// Where a daemon is that nobody told otherwise.
std::string default_url() {
    return fmt::format("http://{}", Config{}.listen.http.to_string());
}
// Asked where what answers speaks no HTTP.
std::string is_it_the_http_port() {
    return fmt::format("is this Muster's HTTP port (default {})?", Config{}.listen.http.port);
}
constexpr std::chrono::seconds usual_patience{10};
constexpr std::chrono::seconds connect_patience{5};
// The feed says something every 15 s.
constexpr std::chrono::seconds feed_patience{60};
constexpr std::size_t answer_bytes_max = 64UL << 20;
constexpr std::size_t event_bytes_max = 1UL << 20;

bool is_https(const ApiAddress& address) {
    return address.url.starts_with("https://");
}

std::string variable(const char* name) {
    const char* value = std::getenv(name);
    return value ? value : "";
}

[[noreturn]] void not_reachable(const ApiAddress& address, const std::string& why) {
    throw CommandFailure(to_int(ExitCode::unavailable),
                         fmt::format("no daemon answers at {} ({})\n"
                                     "  is it running?      muster serve\n"
                                     "  is it elsewhere?    MUSTER_URL=http://HOST:PORT muster …\n"
                                     "  only trying it out? muster demo",
                                     safe_text(address.url), why));
}

[[noreturn]] void not_muster(const ApiAddress& address, unsigned status) {
    throw CommandFailure(exit_failed, fmt::format("that is not Muster: another program answers at {} (HTTP status {})\n"
                                                  "  is Muster elsewhere? MUSTER_URL=http://HOST:PORT muster …",
                                                  safe_text(address.url), status));
}

std::string token_hint(bool with_token) {
    if (with_token) return "\n  MUSTER_ADMIN_TOKEN is neither the daemon's admin token nor an operator's";
    std::string hint = "\n  set MUSTER_ADMIN_TOKEN to the daemon's admin token, or to yours as an operator";
    if (!variable("MUSTER_AUTH_ADMIN_TOKEN").empty())
        hint += "; MUSTER_AUTH_ADMIN_TOKEN, which is set, is read by the daemon only";
    return hint;
}

// The daemon's own words, and what to do next where we know.
[[noreturn]] void refuse(const ApiAddress& address, unsigned status, const std::string& body, bool with_token) {
    const auto json = JsonValue::parse(body);
    std::string what = json ? safe_text((*json)["error"].text()) : std::string();
    if (what.empty()) not_muster(address, status);
    if (status == 404) throw NotThere(exit_failed, what);
    int code = status == 400 ? to_int(ExitCode::usage) : exit_failed;
    if (status == 401) {
        code = exit_not_allowed;
        what += token_hint(with_token);
    } else if (status == 421) {
        code = exit_not_allowed;
        what += "\n  MUSTER_URL must have an IP address, localhost, or a name in listen.http_hosts";
    } else if (status == 403 || status == 429) {
        code = exit_not_allowed;
    }
    throw CommandFailure(code, what);
}

// Who we are and whom we trust, over https.
std::shared_ptr<const TlsClientContext> tls_from_environment() {
    const TlsClientFiles files{variable("MUSTER_CA_FILE"), variable("MUSTER_CERTIFICATE_FILE"),
                               variable("MUSTER_KEY_FILE")};
    if (files.certificate.empty() != files.key.empty())
        throw CommandFailure(to_int(ExitCode::usage), "MUSTER_CERTIFICATE_FILE and MUSTER_KEY_FILE belong together");
    auto context = TlsClientContext::read(files);
    if (!context) throw CommandFailure(to_int(ExitCode::config), context.error());
    return *context;
}

// The connection, with TLS around it for https: what Beast reads and writes.
class Wire {
public:
    using executor_type = boost::beast::tcp_stream::executor_type;
    using Tls = asio::ssl::stream<boost::beast::tcp_stream&>;

    explicit Wire(asio::io_context& context) : tcp_(context) {}

    executor_type get_executor() { return tcp_.get_executor(); }
    boost::beast::tcp_stream& tcp() { return tcp_; }
    Tls& begin_tls(std::shared_ptr<const TlsClientContext> context, const std::string& host) {
        context_ = std::move(context);
        return tls_.emplace(tcp_, new_client_link(*context_, host).release());
    }

    template <class Buffers, class Handler>
    void async_read_some(const Buffers& buffers, Handler&& handler) {
        if (tls_) return tls_->async_read_some(buffers, std::forward<Handler>(handler));
        tcp_.async_read_some(buffers, std::forward<Handler>(handler));
    }
    template <class Buffers, class Handler>
    void async_write_some(const Buffers& buffers, Handler&& handler) {
        if (tls_) return tls_->async_write_some(buffers, std::forward<Handler>(handler));
        tcp_.async_write_some(buffers, std::forward<Handler>(handler));
    }

private:
    std::shared_ptr<const TlsClientContext> context_;
    boost::beast::tcp_stream tcp_;
    std::optional<Tls> tls_;
};

// One connection for one question. Everything waits, but never for ever.
class Exchange {
public:
    Exchange(const ApiAddress& address, std::chrono::milliseconds patience) : address_(address), patience_(patience) {
        asio::ip::tcp::resolver resolver(context_);
        error_code failure;
        const auto found = resolver.resolve(address.host, address.port, failure);
        if (failure) not_reachable(address, failure.message());
        wire_.tcp().expires_after(connect_patience);
        wire_.tcp().async_connect(found, [&](const error_code& error, const auto&) { failure = error; });
        run();
        if (failure) not_reachable(address, words(failure));
        if (is_https(address)) shake_hands();
    }

    void send(const Request& request) {
        error_code failure;
        wire_.tcp().expires_after(patience_);
        http::async_write(wire_, request, [&](const error_code& error, std::size_t) { failure = error; });
        run();
        if (failure) not_reachable(address_, words(failure));
        parser_.emplace();
        parser_->body_limit(answer_bytes_max);
    }

    // The whole answer.
    const http::response<http::string_body>& receive() {
        error_code failure;
        http::async_read(wire_, buffer_, *parser_, [&](const error_code& error, std::size_t) { failure = error; });
        run();
        if (failure) lost(failure);
        return parser_->get();
    }

    // Only its head.
    unsigned receive_head() {
        error_code failure;
        http::async_read_header(wire_, buffer_, *parser_,
                                [&](const error_code& error, std::size_t) { failure = error; });
        run();
        if (failure) lost(failure);
        return parser_->get().result_int();
    }

    // A piece of the body, handed out; none at its end.
    std::optional<std::string> receive_some() {
        if (parser_->is_done()) return std::nullopt;
        error_code failure;
        parser_->body_limit(boost::none);
        wire_.tcp().expires_after(feed_patience);
        http::async_read_some(wire_, buffer_, *parser_, [&](const error_code& error, std::size_t) { failure = error; });
        run();
        if (failure) return std::nullopt;
        return std::exchange(parser_->get().body(), {});
    }

private:
    void shake_hands() {
        Wire::Tls& tls = wire_.begin_tls(tls_from_environment(), address_.host);
        error_code failure;
        tls.async_handshake(asio::ssl::stream_base::client, [&](const error_code& error) { failure = error; });
        run();
        if (!failure) return;
        const std::string problem = problem_of_server(*tls.native_handle());
        if (!problem.empty())
            throw CommandFailure(to_int(ExitCode::unavailable),
                                 fmt::format("the certificate of {} is not good: {}\n"
                                             "  is it from your own CA?      MUSTER_CA_FILE=…/ca.crt muster …\n"
                                             "  is it for another name?      muster certs show …/muster.crt",
                                             safe_text(address_.url), problem));
        const bool is_of_tls = failure.category() == asio::error::get_ssl_category();
        if (is_of_tls &&
            failure_of_error(static_cast<unsigned long>(failure.value()), true, true) == TlsFailure::not_tls)
            not_reachable(address_, "it does not speak TLS; is it http://?");
        not_reachable(address_, words(failure));
    }

    void run() {
        context_.restart();
        context_.run();
    }

    static std::string words(const error_code& error) {
        return error == boost::beast::error::timeout ? "timed out" : error.message();
    }

    [[noreturn]] void lost(const error_code& error) {
        if (error == boost::beast::error::timeout)
            throw CommandFailure(to_int(ExitCode::unavailable),
                                 fmt::format("{} did not answer within {} s\n  {}", safe_text(address_.url),
                                             std::chrono::duration_cast<std::chrono::seconds>(patience_).count(),
                                             is_it_the_http_port()));
        if (error == http::error::end_of_stream || error == asio::error::connection_reset ||
            error == asio::ssl::error::stream_truncated)
            not_reachable(address_, is_https(address_)
                                        ? "the connection was closed"
                                        : "the connection was closed; is it https://? " + is_it_the_http_port());
        throw CommandFailure(exit_failed, fmt::format("{} gave an invalid HTTP answer: {}\n  {}",
                                                      safe_text(address_.url), error.message(), is_it_the_http_port()));
    }

    const ApiAddress& address_;
    std::chrono::milliseconds patience_;
    asio::io_context context_{1};
    Wire wire_{context_};
    boost::beast::flat_buffer buffer_;
    std::optional<http::response_parser<http::string_body>> parser_;
};

Request request_to(const ApiAddress& address, const std::string& token, const std::string& method,
                   const std::string& path) {
    Request request{http::string_to_verb(method), "/api/v1" + path, 11};
    const bool is_v6 = address.host.find(':') != std::string::npos;
    request.set(http::field::host,
                fmt::format("{}{}{}:{}", is_v6 ? "[" : "", address.host, is_v6 ? "]" : "", address.port));
    request.set(http::field::user_agent, fmt::format("muster/{}", version()));
    request.set(http::field::connection, "close");
    if (!token.empty()) request.set(http::field::authorization, "Bearer " + token);
    return request;
}

// Cuts the feed into events, which an empty line ends; the data of each is one line.
class FeedReader {
public:
    explicit FeedReader(const ApiClient::OnEvent& on_event) : on_event_(on_event) {}

    void take(std::string_view piece) {
        rest_ += piece;
        std::size_t begin = 0;
        for (std::size_t end = rest_.find('\n'); end != std::string::npos; end = rest_.find('\n', begin)) {
            line(std::string_view(rest_).substr(begin, end - begin));
            begin = end + 1;
        }
        rest_.erase(0, begin);
        if (rest_.size() > event_bytes_max)
            throw CommandFailure(exit_failed, "the event stream has a line that is too long");
    }

private:
    void line(std::string_view text) {
        constexpr std::string_view data = "data: ";
        constexpr std::string_view id = "id: ";
        if (text.starts_with(id)) place_ = text.substr(id.size());
        if (text.starts_with(data)) on_event_(text.substr(data.size()), place_);
    }

    const ApiClient::OnEvent& on_event_;
    std::string place_;
    std::string rest_;
};

}  // namespace

ApiAddress parse_api_address(std::string_view url) {
    const auto bad = [&](const char* why) -> CommandFailure {
        return {to_int(ExitCode::usage),
                fmt::format("MUSTER_URL is {}: {}; it looks like {}", safe_text(url), why, default_url())};
    };
    const bool https = url.starts_with("https://");
    const std::string_view scheme = https ? "https://" : "http://";
    if (!url.starts_with(scheme)) throw bad("it must begin with http:// or https://");
    std::string_view rest = url.substr(scheme.size());
    while (rest.ends_with('/')) rest.remove_suffix(1);
    if (rest.find_first_of("/?#@ ") != std::string_view::npos) throw bad("it may have a host and a port only");

    ApiAddress address{std::string(scheme) + std::string(rest), {}, https ? "443" : "80"};
    std::string_view host = rest;
    std::string_view port;
    if (rest.starts_with('[')) {
        const std::size_t end = rest.find(']');
        if (end == std::string_view::npos) throw bad("a ] is missing");
        host = rest.substr(1, end - 1);
        port = rest.substr(end + 1);
    } else if (const std::size_t colon = rest.rfind(':'); colon != std::string_view::npos) {
        host = rest.substr(0, colon);
        port = rest.substr(colon);
    }
    if (host.empty()) throw bad("the host is missing");
    address.host = host;
    if (!port.empty()) {
        const std::string_view digits = port.substr(1);
        // Whoever resolves it takes any number, and wraps those that are too large.
        std::uint16_t number = 0;
        const auto [end, failure] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
        const bool good = failure == std::errc() && end == digits.data() + digits.size() && number > 0;
        if (port[0] != ':' || !good) throw bad("the port must be a number from 1 to 65535");
        address.port = fmt::to_string(number);
    }
    return address;
}

ApiClient ApiClient::from_environment() {
    const std::string url = variable("MUSTER_URL");
    return {parse_api_address(url.empty() ? default_url() : url), variable("MUSTER_ADMIN_TOKEN")};
}

ApiClient::ApiClient(ApiAddress address, std::string token)
    : address_(std::move(address)), token_(std::move(token)), patience_(usual_patience) {
    // A line end in it would end the header.
    for (const char each : token_)
        if (std::iscntrl(static_cast<unsigned char>(each)))
            throw CommandFailure(to_int(ExitCode::usage), "MUSTER_ADMIN_TOKEN has a control character in it");
}

JsonValue ApiClient::get(const std::string& path) {
    return ask({"GET", path, {}});
}

ApiClient::Text ApiClient::get_text(const std::string& path) {
    Answer answer = exchange({"GET", path, {}});
    if (answer.status != 200) refuse(address_, answer.status, answer.body, !token_.empty());
    std::int64_t position = 0;
    const char* end = answer.log_position.data() + answer.log_position.size();
    const auto read = std::from_chars(answer.log_position.data(), end, position);
    if (read.ec != std::errc() || read.ptr != end) not_muster(address_, answer.status);
    return {std::move(answer.body), position};
}

JsonValue ApiClient::post(const std::string& path, const std::string& body) {
    return ask({"POST", path, body});
}

JsonValue ApiClient::put(const std::string& path, const std::string& body) {
    return ask({"PUT", path, body});
}

JsonValue ApiClient::ask(const Question& question) {
    const Answer answer = exchange(question);
    if (answer.status != 200) refuse(address_, answer.status, answer.body, !token_.empty());
    auto json = JsonValue::parse(answer.body);
    // Every answer of ours is an object with something in it.
    if (!json || json->fields().empty()) not_muster(address_, answer.status);
    return std::move(*json);
}

ApiClient::Answer ApiClient::exchange(const Question& question) {
    Request request = request_to(address_, token_, question.method, question.path);
    if (question.method != "GET") {
        request.set(http::field::content_type, "application/json");
        request.body() = question.body;
    }
    request.prepare_payload();
    Exchange exchange(address_, patience_);
    exchange.send(request);
    const auto& response = exchange.receive();
    return {response.result_int(), response.body(), std::string(response["X-Log-Position"])};
}

void ApiClient::follow(const std::string& path, const OnEvent& on_event) {
    Request request = request_to(address_, token_, "GET", path);
    request.set(http::field::accept, "text/event-stream");
    Exchange exchange(address_, patience_);
    exchange.send(request);
    if (const unsigned status = exchange.receive_head(); status != 200)
        refuse(address_, status, exchange.receive().body(), !token_.empty());
    FeedReader reader(on_event);
    while (const auto piece = exchange.receive_some()) reader.take(*piece);
}

std::string query_encoded(std::string_view text) {
    std::string out;
    for (const char each : text) {
        const auto byte = static_cast<unsigned char>(each);
        if (std::isalnum(byte) || std::string_view("-._~").find(each) != std::string_view::npos) {
            out += each;
        } else {
            out += fmt::format("%{:02X}", byte);
        }
    }
    return out;
}

}  // namespace muster
