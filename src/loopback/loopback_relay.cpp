#include "loopback/loopback_relay.h"

#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <string>
#include <utility>

#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <unistd.h>

#include "loopback/stream_count.h"

namespace muster {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;
using Descriptor = asio::posix::stream_descriptor;

// Read at once. So little, that few streams get in beyond the pace.
constexpr std::size_t piece_bytes = 4096;

// The next piece of a way is read only once the other side has taken the last one: whoever does not read is not read.
class Relay final : public LoopbackConnection, public std::enable_shared_from_this<Relay> {
public:
    Relay(asio::io_context& context, int peer, int served, std::shared_ptr<LoopbackShared> shared,
          std::function<void(LoopbackConnection*)> on_end)
        : peer_(context, peer),
          served_(context, served),
          delay_(context),
          shared_(std::move(shared)),
          on_end_(std::move(on_end)) {}

    void serve() override {
        move(in_);
        move(out_);
    }

    void cut() override {
        if (std::exchange(ended_, true)) return;
        error_code ignored;
        peer_.close(ignored);
        served_.close(ignored);
        delay_.cancel();
        on_end_(this);
    }

    // Whoever serves it knows, not we.
    std::optional<Time> idle_since() const override { return std::nullopt; }

private:
    struct Way {
        Descriptor& from;
        Descriptor& to;
        std::string left{};  // read, and not yet taken
    };

    void move(Way& way) {
        if (ended_) return;
        if (!way.left.empty()) {
            const ssize_t sent = ::send(way.to.native_handle(), way.left.data(), way.left.size(), MSG_NOSIGNAL);
            if (sent < 0 && !again()) return cut();
            if (sent > 0) way.left.erase(0, static_cast<std::size_t>(sent));
            if (!way.left.empty()) return when(way.to, Descriptor::wait_write, &Relay::move, way);
        }
        if (&way == &in_) {
            const Duration owed = shared_->pace.take(shared_->clock.now(), 0);
            if (owed > Duration{0}) {
                delay_.expires_after(owed);
                delay_.async_wait([self = shared_from_this()](error_code cancelled) {
                    if (!cancelled) self->move(self->in_);
                });
                return;
            }
        }
        when(way.from, Descriptor::wait_read, &Relay::read, way);
    }

    void read(Way& way) {
        std::array<char, piece_bytes> piece;
        const ssize_t got = ::read(way.from.native_handle(), piece.data(), piece.size());
        if (got == 0 || (got < 0 && !again())) return cut();
        if (got > 0) {
            way.left.assign(piece.data(), static_cast<std::size_t>(got));
            if (&way == &in_) shared_->pace.take(shared_->clock.now(), static_cast<double>(streams_.take(way.left)));
        }
        move(way);
    }

    void when(Descriptor& descriptor, Descriptor::wait_type what, void (Relay::*then)(Way&), Way& way) {
        descriptor.async_wait(what, [self = shared_from_this(), then, &way](error_code error) {
            if (self->ended_) return;
            if (error) return self->cut();
            (self.get()->*then)(way);
        });
    }

    static bool again() { return errno == EAGAIN || errno == EINTR; }

    Descriptor peer_;
    Descriptor served_;
    asio::steady_timer delay_;
    const std::shared_ptr<LoopbackShared> shared_;
    const std::function<void(LoopbackConnection*)> on_end_;
    Way in_{peer_, served_};
    Way out_{served_, peer_};
    StreamCount streams_;
    bool ended_ = false;
};

}  // namespace

std::shared_ptr<LoopbackConnection> make_relay(asio::io_context& context, int peer, int served,
                                               std::shared_ptr<LoopbackShared> shared,
                                               std::function<void(LoopbackConnection*)> on_end) {
    return std::make_shared<Relay>(context, peer, served, std::move(shared), std::move(on_end));
}

}  // namespace muster
