#include "http/http_connection.h"

#include <array>
#include <exception>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/buffer_ref.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>

#include "http/beast_message.h"
#include "http/health.h"
#include "http/host_check.h"
#include "http/http_wire.h"

namespace muster {
namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using asio::ip::tcp;
using boost::beast::error_code;

// After an error the rest of what the peer sends is read and thrown away for a moment, or the reset that follows
// unread bytes would overtake our answer.
constexpr std::chrono::seconds linger_limit{1};
constexpr std::size_t discarded_bytes_max = 256 * 1024;

IpAddress to_ip(const asio::ip::address& address) {
    return address.is_v4() ? IpAddress::v4(address.to_v4().to_bytes()) : IpAddress::v6(address.to_v6().to_bytes());
}

class Connection final : public HttpConnection, public std::enable_shared_from_this<Connection> {
public:
    Connection(const std::shared_ptr<asio::io_context>& context, int fd, bool is_v4, std::shared_ptr<HttpShared> shared,
               std::function<void(HttpConnection*)> on_end)
        : context_(context),
          wire_(*context, is_v4 ? tcp::v4() : tcp::v6(), fd, shared->tls),
          deadline_(*context),
          shared_(std::move(shared)),
          on_end_(std::move(on_end)),
          buffer_(shared_->limits.header_bytes + shared_->limits.body_bytes) {
        error_code ignored;
        tcp::socket& socket = wire_.socket();
        socket.set_option(tcp::no_delay(true), ignored);
        peer_ = to_ip(socket.remote_endpoint(ignored).address());
    }

    IpAddress peer() const override { return peer_; }

    void serve() override { secure(); }

    void serve_probe() override {
        probes_only_ = true;
        secure();
    }

    void turn_away() override {
        shared_->refused_requests.fetch_add(1, std::memory_order_relaxed);
        // A handshake would take more than there is to give.
        if (wire_.has_tls()) return end();
        write(http_error(503, "Too many connections"), After::linger);
    }

    void finish() override {
        finishing_ = true;
        if (state_ != State::answering && state_ != State::writing) end();
    }

    void cut() override { end(); }

    bool is_unproven() const override { return state_ == State::securing || state_ == State::queued; }

    bool begin_handshake() override {
        if (state_ != State::queued) return false;
        if (wire_.peer_has_left()) {
            insecure(TlsFailure::incomplete, {});
            return false;
        }
        shake_hands();
        return true;
    }

    std::optional<Waiting> waiting() const override {
        switch (state_) {
            case State::securing:
            case State::idle:
            case State::held:
            case State::head:
            case State::body:
            case State::writing:
            case State::lingering:
                return Waiting{asio::steady_timer::clock_type::now() - entered_,
                               state_ == State::idle || state_ == State::held};
            case State::queued:
            case State::answering:
            case State::streaming:
            case State::stream_waiting:
            case State::ended:
                break;
        }
        return std::nullopt;
    }

private:
    enum class State : std::uint8_t {
        securing,
        queued,  // for its TLS handshake
        idle,
        head,
        body,
        answering,
        held,
        writing,
        streaming,
        stream_waiting,
        lingering,
        ended
    };
    enum class After : std::uint8_t { keep_alive, close, linger };

    // The TLS handshake, where there is one, and then the first request.
    void secure() {
        if (!wire_.has_tls()) return read_head();
        enter(State::securing, shared_->limits.header_deadline);
        wire_.async_hello([self = shared_from_this()](const std::optional<HttpWire::Insecure>& failed) {
            if (self->state_ != State::securing) return;
            if (failed) return self->insecure(failed->why, failed->details);
            self->await_handshake();
        });
    }

    // The peer is not late while others are before it.
    void await_handshake() {
        shared_->handshakes.wait(peer_, weak_from_this());
        state_ = State::queued;
        ++turn_;
        deadline_.cancel();
    }

    void shake_hands() {
        enter(State::securing, shared_->limits.header_deadline);
        wire_.async_handshake([self = shared_from_this()](const std::optional<HttpWire::Insecure>& failed) {
            if (self->state_ != State::securing) return;
            if (failed) return self->insecure(failed->why, failed->details);
            self->shared_->tls_handshakes.fetch_add(1, std::memory_order_relaxed);
            self->note_certificate();
            self->read_head();
        });
    }

    // An operator's certificate says who asks; those of others say nothing here.
    void note_certificate() {
        auto shown = wire_.certificate();
        if (!shown || shown->role() != PeerRole::operator_) return;
        shown_name_ = std::move(shown->name);
        shown_serial_ = std::move(shown->serial);
        shown_expires_ = shown->not_after;
    }

    // Why the certificate that was good at first is so no more.
    std::optional<TlsFailure> lapse() const {
        if (shown_serial_.empty()) return std::nullopt;
        if (shared_->tls->material().is_revoked(shown_serial_)) return TlsFailure::revoked;
        if (shared_->clock->wall().value / 1'000 > shown_expires_) return TlsFailure::expired;
        return std::nullopt;
    }

    void insecure(TlsFailure why, const std::string& details) {
        tell_insecure(why, details);
        end();
    }

    void tell_insecure(TlsFailure why, const std::string& details) {
        shared_->tls_failed[static_cast<std::size_t>(why)].fetch_add(1, std::memory_order_relaxed);
        // Probes and scanners come and go: they are counted, and not worth a line.
        shared_->log.with(
            why == TlsFailure::incomplete ? LogLevel::debug : LogLevel::warning,
            {{"peer", peer_.to_string()}, {"port", "http"}, {"reason", to_string(why)}, {"details", details}},
            "Refused an HTTP connection");
    }

    // Waits for the first byte of the next request, which may already be here.
    void wait_for_request() {
        if (finishing_) return end();
        if (buffer_.size() > 0) return read_head();
        const HttpLimits& limits = shared_->limits;
        enter(State::idle, shared_->under_pressure ? limits.keep_alive_pressed : limits.keep_alive_idle);
        // Bytes that TLS holds already would not wake a wait for the socket.
        if (wire_.has_tls()) return read_first_bytes();
        wire_.socket().async_wait(tcp::socket::wait_read, [self = shared_from_this()](error_code error) {
            if (self->state_ != State::idle) return;
            if (error) return self->end();
            self->read_head();
        });
    }

    void read_first_bytes() {
        constexpr std::size_t some = 4096;
        wire_.async_read_some(buffer_.prepare(some), [self = shared_from_this()](error_code error, std::size_t bytes) {
            if (self->state_ != State::idle) return;
            if (error) return self->end();
            self->buffer_.commit(bytes);
            self->read_head();
        });
    }

    void read_head() {
        parser_.emplace();
        parser_->header_limit(static_cast<std::uint32_t>(shared_->limits.header_bytes));
        parser_->body_limit(shared_->limits.body_bytes);
        enter(State::head, shared_->limits.header_deadline);
        http::async_read_header(
            wire_, buffer_, *parser_,
            [self = shared_from_this()](error_code error, std::size_t bytes) { self->head_read(error, bytes); });
    }

    void head_read(error_code error, std::size_t bytes) {
        if (state_ != State::head) return;
        // The parser minds its limit only while it waits for more.
        if (!error && bytes > shared_->limits.header_bytes) error = http::error::header_limit;
        if (error) return refuse(error);
        version_ = parser_->get().version();
        is_head_ = parser_->get().method() == http::verb::head;
        if (auto objection = objection_to(parser_->get())) return refuse_with(std::move(*objection));
        if (parser_->is_done()) return request_read({});
        enter(State::body, shared_->limits.body_deadline);
        if (boost::beast::iequals(parser_->get()[http::field::expect], "100-continue")) return write_continue();
        read_body();
    }

    // The peer waits for our word before it sends its body.
    void write_continue() {
        static constexpr std::string_view line = "HTTP/1.1 100 Continue\r\n\r\n";
        asio::async_write(wire_, asio::buffer(line), [self = shared_from_this()](error_code error, std::size_t) {
            if (self->state_ != State::body) return;
            if (error) return self->refuse(error);
            self->read_body();
        });
    }

    // Beast takes it for a bug of ours when a body that is the last chunk alone comes in pieces: its assertion ends a
    // debug build (boostorg/beast#2861). So its parser begins a body that may be one with as many bytes as the shortest
    // has.
    void read_body() {
        constexpr std::size_t last_chunk_min = std::string_view("0\r\n\r\n").size();
        const std::size_t begun = buffer_.size();
        const bool is_last_chunk = begun > 0 && *static_cast<const char*>(buffer_.data().data()) == '0';
        if (!parser_->chunked() || begun >= last_chunk_min || (begun > 0 && !is_last_chunk)) return read_whole_body();
        asio::async_read(wire_, boost::beast::ref(buffer_),
                         asio::transfer_at_least(begun == 0 ? 1 : last_chunk_min - begun),
                         [self = shared_from_this()](error_code error, std::size_t) {
                             if (error == asio::error::eof) error = http::error::partial_message;
                             if (error) return self->request_read(error);
                             self->read_body();
                         });
    }

    void read_whole_body() {
        http::async_read(wire_, buffer_, *parser_,
                         [self = shared_from_this()](error_code error, std::size_t) { self->request_read(error); });
    }

    void request_read(error_code error) {
        if (state_ != State::head && state_ != State::body) return;
        if (error) return refuse(error);
        keep_alive_ = parser_->get().keep_alive();
        const bool has_host = parser_->get().count(http::field::host) > 0;
        HttpRequest request = to_request(parser_->release());
        parser_.reset();
        request.peer = peer_;
        request.shown_name = shown_name_;
        // Only browsers can be led here by a name that is not ours, and they always say which.
        // With TLS the browser has compared the name itself.
        request.known_host = wire_.has_tls() || !has_host || host_is_known(request.header("Host"), shared_->hosts);
        if (!request.path.starts_with('/')) return refuse_with(http_error(400, "Malformed request target"));
        if (probes_only_ && !is_probe(request.path)) return refuse_with(http_error(503, "Too many connections"));
        keep_alive_ = keep_alive_ && !probes_only_;
        shared_->requests.fetch_add(1, std::memory_order_relaxed);
        enter(State::answering, shared_->limits.answer_deadline);
        ++request_number_;
        await_turn(std::move(request));
    }

    void await_turn(HttpRequest&& request) {
        // A probe never waits for the work that others cause.
        if (is_probe(request.path)) return hand_over(std::move(request));
        request_ = std::move(request);
        shared_->thread->in_turn([weak = weak_from_this(), number = request_number_] {
            const auto self = weak.lock();
            if (self && self->state_ == State::answering && self->request_number_ == number)
                self->hand_over(std::move(self->request_));
        });
    }

    void hand_over(HttpRequest&& request) {
        if (const auto why = lapse()) return insecure(*why, {});
        // The answer may come when this connection, or the server, is long gone: it then finds nobody.
        HttpResponder responder(
            [context = context_.lock(), weak = weak_from_this(), number = request_number_](HttpResponse&& response) {
                asio::post(*context, [weak, number, answer = std::move(response)]() mutable {
                    if (const auto self = weak.lock()) self->answered(number, std::move(answer));
                });
            });
        try {
            shared_->handler(std::move(request), std::move(responder));
        } catch (const std::exception& failure) {
            shared_->log.error("HTTP handler failed: {}", failure.what());
        } catch (...) {
            shared_->log.error("HTTP handler failed");
        }
    }

    void answered(std::uint64_t request_number, HttpResponse&& response) {
        // An answer after its deadline belongs to a request that was answered already.
        if (state_ != State::answering || request_number != request_number_) return;
        if (response.held_back > Duration{0} && !finishing_) {
            const Duration time = std::exchange(response.held_back, Duration{0});
            held_ = std::move(response);
            return enter(State::held, time);
        }
        if (response.stream && !is_head_) return write_stream_head(response);
        write(std::move(response), keep_alive_ && !finishing_ ? After::keep_alive : After::close);
    }

    void refuse(error_code error) {
        // The first byte of a TLS handshake, where a request should be.
        if (!wire_.has_tls() && buffer_.size() > 0 && *static_cast<const char*>(buffer_.data().data()) == 0x16)
            tell_insecure(TlsFailure::unexpected_tls, {});
        const bool in_mid_request = buffer_.size() > 0 || state_ == State::body;
        auto answer = answer_to(error, timed_out_ && in_mid_request);
        timed_out_ = false;
        if (!answer) return end();
        refuse_with(std::move(*answer));
    }

    void refuse_with(HttpResponse&& response) {
        shared_->refused_requests.fetch_add(1, std::memory_order_relaxed);
        write(std::move(response), After::linger);
    }

    void write(HttpResponse&& response, After after) {
        enter(State::writing, shared_->limits.write_deadline);
        auto message = std::make_shared<http::response<http::string_body>>(http::status::ok, version_);
        describe(*message, response);
        message->keep_alive(after == After::keep_alive);
        message->content_length(response.body.size());
        if (!is_head_) message->body() = std::move(response.body);
        http::async_write(wire_, *message, [self = shared_from_this(), message, after](error_code error, std::size_t) {
            if (self->state_ == State::writing) self->written(error, after);
        });
    }

    void written(error_code error, After after) {
        if (!error && after != After::keep_alive && wire_.has_tls()) return say_tls_end();
        if (error || after == After::close) return end();
        if (after == After::keep_alive) return wait_for_request();
        error_code ignored;
        wire_.socket().shutdown(tcp::socket::shutdown_send, ignored);
        enter(State::lingering, linger_limit);
        discard();
    }

    // So that the peer can tell our end from one that somebody between made.
    void say_tls_end() {
        enter(State::lingering, linger_limit);
        wire_.async_tls_end([self = shared_from_this()](error_code) {
            if (self->state_ == State::lingering) self->end();
        });
    }

    // The body goes on until one of both sides ends it, so the connection is good for nothing else afterwards.
    void write_stream_head(const HttpResponse& response) {
        enter(State::writing, shared_->limits.write_deadline);
        auto message = std::make_shared<http::response<http::empty_body>>(http::status::ok, version_);
        describe(*message, response);
        message->keep_alive(false);
        stream_ = response.stream;
        http::async_write(wire_, *message, [self = shared_from_this(), message](error_code error, std::size_t) {
            if (self->state_ != State::writing) return;
            if (error || self->finishing_) return self->end();
            self->discard();
            self->write_stream();
        });
    }

    // One piece at a time: a reader that is slow holds up nobody, and one that takes too long for a piece is cut.
    void write_stream() {
        piece_.clear();
        if (const auto why = lapse()) return insecure(*why, {});
        if (!stream_->next(piece_)) return end();
        if (piece_.empty()) return enter(State::stream_waiting, shared_->limits.stream_look);
        enter(State::streaming, shared_->limits.write_deadline);
        asio::async_write(wire_, asio::buffer(piece_), [self = shared_from_this()](error_code error, std::size_t) {
            if (self->state_ != State::streaming) return;
            if (error) return self->end();
            self->write_stream();
        });
    }

    // Nothing that the peer still says counts; that it is gone shows here.
    void discard() {
        wire_.async_read_some(asio::buffer(scrap_), [self = shared_from_this()](error_code error, std::size_t bytes) {
            if (self->state_ == State::ended) return;
            self->discarded_bytes_ += bytes;
            if (error || self->discarded_bytes_ > discarded_bytes_max) return self->end();
            self->discard();
        });
    }

    void enter(State state, Duration limit) {
        state_ = state;
        deadline_.expires_after(limit);
        entered_ = deadline_.expiry() - limit;
        deadline_.async_wait([self = shared_from_this(), turn = ++turn_](error_code error) {
            if (!error && turn == self->turn_) self->deadline_passed();
        });
    }

    void deadline_passed() {
        switch (state_) {
            case State::head:
            case State::body: {
                // The read comes back as cancelled, and its handler answers.
                timed_out_ = true;
                error_code ignored;
                wire_.socket().cancel(ignored);
                break;
            }
            case State::answering:
                write(http_error(503, "No answer in time"), After::linger);
                break;
            case State::held:
                write(std::move(held_), keep_alive_ ? After::keep_alive : After::close);
                break;
            case State::stream_waiting:
                write_stream();
                break;
            case State::securing:
                insecure(TlsFailure::timed_out, {});
                break;
            case State::queued:
                break;
            case State::idle:
            case State::writing:
            case State::streaming:
            case State::lingering:
                end();
                break;
            case State::ended:
                break;
        }
    }

    void end() {
        if (state_ == State::ended) return;
        state_ = State::ended;
        ++turn_;
        deadline_.cancel();
        stream_.reset();
        error_code ignored;
        wire_.socket().close(ignored);
        on_end_(this);
    }

    const std::weak_ptr<asio::io_context> context_;  // which owns us, through the handlers that wait in it
    HttpWire wire_;
    asio::steady_timer deadline_;
    const std::shared_ptr<HttpShared> shared_;
    const std::function<void(HttpConnection*)> on_end_;
    IpAddress peer_;
    std::string shown_name_;          // of an operator's certificate; empty without one
    std::string shown_serial_;        // the same certificate's
    std::int64_t shown_expires_ = 0;  // the same

    State state_ = State::idle;
    asio::steady_timer::time_point entered_;  // into this state
    bool probes_only_ = false;
    std::uint64_t turn_ = 0;  // which of the deadlines counts
    bool timed_out_ = false;
    bool finishing_ = false;

    boost::beast::flat_buffer buffer_;
    std::optional<http::request_parser<http::string_body>> parser_;
    // Of the request at hand.
    std::uint64_t request_number_ = 0;
    HttpRequest request_;  // until its turn comes
    unsigned version_ = 11;
    bool keep_alive_ = false;
    bool is_head_ = false;
    HttpResponse held_;  // until its time comes

    std::shared_ptr<HttpStream> stream_;
    std::string piece_;

    std::array<char, 4096> scrap_{};
    std::size_t discarded_bytes_ = 0;
};

}  // namespace

std::shared_ptr<HttpConnection> HttpConnection::make(const std::shared_ptr<asio::io_context>& context, int fd,
                                                     bool is_v4, std::shared_ptr<HttpShared> shared,
                                                     std::function<void(HttpConnection*)> on_end) {
    return std::make_shared<Connection>(context, fd, is_v4, std::move(shared), std::move(on_end));
}

}  // namespace muster
