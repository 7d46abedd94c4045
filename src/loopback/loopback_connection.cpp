#include "loopback/loopback_connection.h"

#include <array>
#include <exception>
#include <string_view>
#include <utility>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/core/buffer_ref.hpp>
#include <boost/beast/http.hpp>
#include <boost/beast/websocket.hpp>
#include <openssl/evp.h>

namespace muster {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
namespace websocket = beast::websocket;
using asio::ip::tcp;
using boost::system::error_code;

// What a peer may send while it is being fed: pings and goodbyes.
constexpr std::size_t fed_message_bytes_max = 4096;

// The answer to a WebSocket key of any length (RFC 6455 wants 24 characters; Unreal sends fewer).
std::string websocket_accept(std::string_view key) {
    const std::string text = std::string(key) + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
    std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
    unsigned size = 0;
    if (EVP_Digest(text.data(), text.size(), digest.data(), &size, EVP_sha1(), nullptr) != 1) return {};
    std::array<unsigned char, 64> encoded{};
    const int length = EVP_EncodeBlock(encoded.data(), digest.data(), static_cast<int>(size));
    return {reinterpret_cast<const char*>(encoded.data()), static_cast<std::size_t>(length)};
}

class Connection final : public LoopbackConnection, public std::enable_shared_from_this<Connection> {
public:
    Connection(asio::io_context& context, int fd, bool is_v4, std::shared_ptr<LoopbackShared> shared,
               std::function<void(LoopbackConnection*)> on_end)
        : context_(context),
          stream_(tcp::socket(context, is_v4 ? tcp::v4() : tcp::v6(), fd)),
          delay_(context),
          shared_(std::move(shared)),
          on_end_(std::move(on_end)),
          buffer_(shared_->limits.header_bytes + shared_->limits.body_bytes) {
        error_code ignored;
        stream_.socket().set_option(tcp::no_delay(true), ignored);
        stream_.socket().non_blocking(true, ignored);
    }

    void serve() override { wait(); }
    void cut() override { end(); }
    std::optional<Time> idle_since() const override { return idle_since_; }

private:
    // Between requests. Costs no timer: a game that says nothing for an hour keeps its connection.
    void wait() {
        if (ended_) return;
        if (buffer_.size() > 0) {
            // The next one has come along with the last: all others have their turn first.
            asio::post(context_, [self = shared_from_this()] {
                if (!self->ended_) self->read_request();
            });
            return;
        }
        idle_since_ = shared_->clock.now();
        stream_.expires_never();
        stream_.socket().async_wait(tcp::socket::wait_read, [self = shared_from_this()](error_code error) {
            if (self->ended_) return;
            if (error) return self->end();
            self->read_request();
        });
    }

    // Most requests are there as a whole: what can be read at once needs no deadline.
    void read_request() {
        idle_since_.reset();
        parser_.emplace();
        parser_->header_limit(static_cast<std::uint32_t>(shared_->limits.header_bytes));
        parser_->body_limit(shared_->limits.body_bytes);
        parser_->eager(true);
        error_code error;
        if (buffer_.size() == 0) buffer_.commit(stream_.socket().read_some(buffer_.prepare(scrap_.size()), error));
        if (error && error != asio::error::would_block) return end();
        error = {};
        if (buffer_.size() > 0) buffer_.consume(parser_->put(buffer_.data(), error));
        if (error && error != http::error::need_more) return refuse(error);
        if (parser_->is_done()) return request_read({});
        stream_.expires_after(shared_->limits.request_deadline);
        if (parser_->is_header_done()) return head_read({});
        read_head();
    }

    void read_head() {
        http::async_read_header(stream_, buffer_, *parser_,
                                [self = shared_from_this()](error_code error, std::size_t) { self->head_read(error); });
    }

    void head_read(error_code error) {
        if (ended_) return;
        if (error) return refuse(error);
        if (parser_->is_done()) return request_read({});
        if (!beast::iequals(parser_->get()[http::field::expect], "100-continue")) return read_body();
        static constexpr std::string_view line = "HTTP/1.1 100 Continue\r\n\r\n";
        asio::async_write(stream_, asio::buffer(line), [self = shared_from_this()](error_code failed, std::size_t) {
            if (self->ended_) return;
            if (failed) return self->end();
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
        asio::async_read(stream_, beast::ref(buffer_), asio::transfer_at_least(begun == 0 ? 1 : last_chunk_min - begun),
                         [self = shared_from_this()](error_code error, std::size_t) {
                             if (error == asio::error::eof) error = http::error::partial_message;
                             if (error) return self->request_read(error);
                             self->read_body();
                         });
    }

    void read_whole_body() {
        http::async_read(stream_, buffer_, *parser_,
                         [self = shared_from_this()](error_code error, std::size_t) { self->request_read(error); });
    }

    void request_read(error_code error) {
        if (ended_) return;
        if (error) return refuse(error);
        head_ = parser_->release();
        parser_.reset();
        LoopbackRequest request = request_of(head_);
        request.body = std::move(head_.body());

        stream_.expires_never();
        const Duration delay = shared_->pace.take(shared_->clock.now());
        if (delay <= Duration{0}) return handle(request);
        delay_.expires_after(delay);
        delay_.async_wait([self = shared_from_this(), request = std::move(request)](error_code cancelled) {
            if (!cancelled && !self->ended_) self->handle(request);
        });
    }

    // All but the body.
    static LoopbackRequest request_of(const http::request<http::string_body>& head) {
        LoopbackRequest request;
        request.method = std::string(head.method_string());
        const std::string_view target(head.target().data(), head.target().size());
        const std::size_t question = target.find('?');
        request.path = std::string(target.substr(0, question));
        if (question != std::string_view::npos) request.query = std::string(target.substr(question + 1));
        return request;
    }

    void handle(const LoopbackRequest& request) {
        LoopbackAnswer answer;
        try {
            answer = shared_->handler->handle(request);
        } catch (const std::exception& failure) {
            shared_->log.error("SDK request failed: {}", failure.what());
            answer = shared_->handler->malformed(request, 500, "internal error");
        }
        if (!answer.feed) return write(std::move(answer), head_.keep_alive());
        feed_ = std::move(answer.feed);
        if (websocket::is_upgrade(head_)) return accept_websocket();
        write_feed_head();
    }

    void refuse(error_code error) {
        unsigned status = 400;
        if (error == http::error::body_limit) status = 413;
        if (error == http::error::header_limit) status = 431;
        if (error == beast::error::timeout) status = 408;
        const bool speaks_http =
            error.category() == make_error_code(http::error::bad_version).category() || error == beast::error::timeout;
        if (!speaks_http || error == http::error::end_of_stream || error == http::error::partial_message) return end();
        const LoopbackRequest request = parser_ ? request_of(parser_->get()) : LoopbackRequest{};
        head_ = {};
        head_.version(11);
        write(shared_->handler->malformed(request, status, error.message()), false);
    }

    void write(LoopbackAnswer&& answer, bool keep_alive) {
        auto message = std::make_shared<http::response<http::string_body>>();
        message->result(answer.status);
        message->version(head_.version());
        message->set(http::field::content_type, "application/json");
        message->keep_alive(keep_alive);
        message->content_length(answer.body.size());
        if (head_.method() != http::verb::head) message->body() = std::move(answer.body);
        const auto serializer = std::make_shared<http::response_serializer<http::string_body>>(*message);
        error_code error;
        while (!error && !serializer->is_done()) http::write_some(stream_.socket(), *serializer, error);
        if (error != asio::error::would_block) return written(error, keep_alive);
        stream_.expires_after(shared_->limits.write_deadline);
        http::async_write(stream_, *serializer,
                          [self = shared_from_this(), message, serializer, keep_alive](error_code failed, std::size_t) {
                              if (!self->ended_) self->written(failed, keep_alive);
                          });
    }

    void written(error_code error, bool keep_alive) {
        if (error || !keep_alive) return finish();
        wait();
    }

    // A close with unread bytes would reset the connection and lose the answer.
    void finish() {
        error_code ignored;
        stream_.socket().shutdown(tcp::socket::shutdown_send, ignored);
        stream_.socket().non_blocking(true, ignored);
        for (int i = 0; i < 16 && !ignored; ++i) stream_.socket().read_some(asio::buffer(scrap_), ignored);
        end();
    }

    void write_feed_head() {
        auto message = std::make_shared<http::response<http::empty_body>>();
        message->result(http::status::ok);
        message->version(head_.version());
        message->set(http::field::content_type, "application/json");
        if (head_.version() >= 11)
            message->chunked(true);
        else
            message->keep_alive(false);
        auto serializer = std::make_shared<http::response_serializer<http::empty_body>>(*message);
        http::async_write_header(stream_, *serializer,
                                 [self = shared_from_this(), message, serializer](error_code error, std::size_t) {
                                     if (self->ended_) return;
                                     if (error) return self->end();
                                     self->watch_for_end();
                                     self->begin_feed();
                                 });
    }

    void accept_websocket() {
        const std::string accept = websocket_accept(head_[http::field::sec_websocket_key]);
        if (head_[http::field::sec_websocket_key].empty())
            return write(shared_->handler->malformed({}, 400, "no Sec-WebSocket-Key"), false);
        // Ours has the length that Beast wants; the answer is made from theirs.
        head_.set(http::field::sec_websocket_key, "bXVzdGVyLWxvb3BiYWNrLTE=");
        websocket_.emplace(std::move(stream_));
        websocket_->set_option(
            websocket::stream_base::timeout{std::chrono::seconds(10), websocket::stream_base::none(), false});
        websocket_->set_option(websocket::stream_base::decorator([accept](websocket::response_type& response) {
            if (response.result() == http::status::switching_protocols)
                response.set(http::field::sec_websocket_accept, accept);
        }));
        websocket_->read_message_max(fed_message_bytes_max);
        websocket_->text(true);
        websocket_->async_accept(head_, [self = shared_from_this()](error_code error) {
            if (self->ended_) return;
            if (error) return self->end();
            self->read_websocket();
            self->begin_feed();
        });
    }

    // Pings are answered and goodbyes noticed; what else it says, nobody asked for.
    void read_websocket() {
        buffer_.clear();
        websocket_->async_read(buffer_, [self = shared_from_this()](error_code error, std::size_t) {
            if (self->ended_) return;
            if (error) return self->end();
            self->read_websocket();
        });
    }

    void watch_for_end() {
        stream_.async_read_some(asio::buffer(scrap_), [self = shared_from_this()](error_code error, std::size_t) {
            if (self->ended_) return;
            if (error) return self->end();
            self->watch_for_end();
        });
    }

    void begin_feed() {
        feed_->begin([weak = weak_from_this(), context = &context_] {
            // Who feeds us is told to stop before the context goes.
            asio::post(*context, [weak] {
                if (const auto self = weak.lock()) self->pump();
            });
        });
        pump();
    }

    // One piece at a time: a peer that does not read holds up nobody but itself.
    void pump() {
        if (ended_ || writing_) return;
        auto piece = feed_->next();
        if (!piece) return;
        writing_ = true;
        piece_ = std::move(*piece);
        const auto written = [self = shared_from_this()](error_code error, std::size_t) {
            self->writing_ = false;
            if (self->ended_) return;
            if (error) return self->end();
            self->pump();
        };
        if (websocket_) return websocket_->async_write(asio::buffer(piece_), written);
        piece_ += '\n';
        if (head_.version() < 11) return asio::async_write(stream_, asio::buffer(piece_), written);
        asio::async_write(stream_, http::make_chunk(asio::buffer(piece_)), written);
    }

    void end() {
        if (std::exchange(ended_, true)) return;
        feed_.reset();
        delay_.cancel();
        error_code ignored;
        (websocket_ ? beast::get_lowest_layer(*websocket_) : stream_).socket().close(ignored);
        on_end_(this);
    }

    asio::io_context& context_;
    beast::tcp_stream stream_;
    std::optional<websocket::stream<beast::tcp_stream>> websocket_;
    asio::steady_timer delay_;
    const std::shared_ptr<LoopbackShared> shared_;
    const std::function<void(LoopbackConnection*)> on_end_;

    beast::flat_buffer buffer_;
    std::optional<http::request_parser<http::string_body>> parser_;
    http::request<http::string_body> head_;  // of the request at hand; its body is gone
    std::optional<Time> idle_since_;
    std::shared_ptr<LoopbackFeed> feed_;
    std::string piece_;
    bool writing_ = false;
    bool ended_ = false;
    std::array<char, 4096> scrap_{};
};

}  // namespace

std::shared_ptr<LoopbackConnection> LoopbackConnection::make(asio::io_context& context, int fd, bool is_v4,
                                                             std::shared_ptr<LoopbackShared> shared,
                                                             std::function<void(LoopbackConnection*)> on_end) {
    return std::make_shared<Connection>(context, fd, is_v4, std::move(shared), std::move(on_end));
}

}  // namespace muster
