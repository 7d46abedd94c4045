// What the tests of the network share: a peer on a real socket, and a worker on a clock that the test moves.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>
#include <fcntl.h>
#include <poll.h>

#include "base/virtual_clock.h"
#include "net/links.h"
#include "net/net_worker.h"

namespace muster {

using Bytes = std::vector<std::byte>;

inline Bytes bytes_of(std::initializer_list<int> values) {
    Bytes bytes;
    for (const int value : values) bytes.push_back(static_cast<std::byte>(value));
    return bytes;
}

// A frame in little-endian order, as the server and matchmaker ports speak.
inline Bytes frame_of(Code code, const Bytes& payload = {}) {
    const std::size_t length = sizeof code + payload.size();
    Bytes frame = bytes_of({static_cast<int>(length & 0xFF), static_cast<int>(length >> 8), code & 0xFF, code >> 8});
    frame.insert(frame.end(), payload.begin(), payload.end());
    return frame;
}

// A payload that says which frame it is.
inline Bytes numbered(std::uint32_t number, std::size_t size = 4) {
    Bytes payload(std::max<std::size_t>(size, 4));
    for (std::size_t i = 0; i < 4; ++i) payload[i] = static_cast<std::byte>(number >> (8 * i));
    return payload;
}
inline std::uint32_t number_in(const Bytes& payload) {
    std::uint32_t number = 0;
    for (std::size_t i = 0; i < 4; ++i) number |= std::to_integer<std::uint32_t>(payload.at(i)) << (8 * i);
    return number;
}

inline Bytes& operator+=(Bytes& to, const Bytes& more) {
    to.insert(to.end(), more.begin(), more.end());
    return to;
}

// The other end of a connection. Nothing here waits, but for the kernel's own loopback.
class Peer {
public:
    // With `host`, from 127.0.0.`host`.
    explicit Peer(const SocketAddress& to, int receive_buffer = 0, std::uint8_t host = 0) {
        sockaddr_storage kernel{};
        const socklen_t size = to.to_kernel(kernel);
        socket_ = FileDescriptor(::socket(kernel.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
        if (receive_buffer > 0) setsockopt(number(), SOL_SOCKET, SO_RCVBUF, &receive_buffer, sizeof receive_buffer);
        if (host != 0) {
            sockaddr_in from{};
            from.sin_family = AF_INET;
            from.sin_addr.s_addr = htonl(INADDR_LOOPBACK - 1 + host);
            REQUIRE(bind(number(), reinterpret_cast<const sockaddr*>(&from), sizeof from) == 0);
        }
        REQUIRE(connect(number(), reinterpret_cast<const sockaddr*>(&kernel), size) == 0);
        const int on = 1;
        setsockopt(number(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        fcntl(number(), F_SETFL, O_NONBLOCK);
    }

    int number() const { return socket_.number(); }

    // How many bytes the kernel took.
    std::size_t send_some(std::span<const std::byte> bytes) {
        const ssize_t sent = ::send(number(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
        return sent < 0 ? 0 : static_cast<std::size_t>(sent);
    }
    void send(const Bytes& bytes) { REQUIRE(send_some(bytes) == bytes.size()); }

    // What is there now. `ended` and `was_reset` say what came after it.
    Bytes receive() {
        Bytes all;
        for (;;) {
            std::array<std::byte, 65536> part;
            const ssize_t got = recv(number(), part.data(), part.size(), 0);
            if (got == 0) ended = true;
            if (got < 0 && errno != EAGAIN) was_reset = true;
            if (got <= 0) return all;
            all.insert(all.end(), part.begin(), part.begin() + got);
        }
    }

    void end_sending() { shutdown(number(), SHUT_WR); }
    void close() { socket_.reset(); }
    void reset() {
        const linger now{1, 0};
        setsockopt(number(), SOL_SOCKET, SO_LINGER, &now, sizeof now);
        close();
    }

    bool ended = false;
    bool was_reset = false;

private:
    FileDescriptor socket_;
};

// Moves only when told to; on request in the midst of a wait, as if the process had been stopped there.
class TestClock final : public Clock {
public:
    Time now() const override {
        const Time told = clock_.now();
        if (reads_until_stop_ > 0 && --reads_until_stop_ == 0) clock_.stand_still(stop_);
        return told;
    }
    UnixMs wall() const override { return clock_.wall(); }
    Duration thread_cpu() const override { return clock_.thread_cpu(); }
    void advance(Duration by) { clock_.advance(by); }
    // As if the process had been stopped between two waits.
    void stand_still(Duration by) { clock_.stand_still(by); }
    void stop_in_next_wait(Duration stop) {
        stop_ = stop;
        reads_until_stop_ = 1;
    }

private:
    mutable VirtualClock clock_;
    mutable int reads_until_stop_ = 0;
    Duration stop_{0};
};

class CountingWaiter final : public Waiter {
public:
    void wait_until(std::optional<Time>) override {}
    void notify() override { ++notified; }
    std::atomic<int> notified{0};
};

// What came out of an inbox, with its bytes.
struct Seen {
    InboundItem item;
    Bytes payload;
};

// One worker with all three ports on loopback, turned by hand.
class WorkerFixture {
public:
    explicit WorkerFixture(PortInbox::Bounds bounds = {}, std::size_t total_buffers = default_total_buffers,
                           std::shared_ptr<const TlsServerContext> tls_of_servers = nullptr,
                           std::size_t handshakes_at_once = HandshakesUnderWay::default_at_once)
        : budget(total_buffers) {
        shared.handshakes_at_once = handshakes_at_once;
        tls.set(Port::servers, std::move(tls_of_servers));
        for (const Port port : ports) {
            PortLimits all_from_one_address = default_limits(port);
            all_from_one_address.accepts_per_second_ip = 0;
            limits.set(port, all_from_one_address);
            inboxes[static_cast<std::size_t>(port)] =
                std::make_unique<PortInbox>(port, bounds, [this] { worker->wake(); });
            shared.by_port[static_cast<std::size_t>(port)] = {default_byte_order(port), port == Port::servers,
                                                              inboxes[static_cast<std::size_t>(port)].get()};
        }
        worker.emplace(0, shared);
        std::vector<Listener> listeners;
        for (const Port port : ports) {
            listeners.emplace_back(port, *SocketAddress::parse("127.0.0.1:0"));
            bound[static_cast<std::size_t>(port)] = listeners.back().bound();
        }
        worker->listen(std::move(listeners), {&*worker});
        links.emplace(std::vector<LinkWorker*>{&*worker},
                      std::array{ByteOrder::little, ByteOrder::little, ByteOrder::big});
    }

    const SocketAddress& address(Port port) const { return bound[static_cast<std::size_t>(port)]; }
    PortFigures& counts(Port port = Port::servers) { return figures.of(port); }
    PortInbox& inbox(Port port) { return *inboxes[static_cast<std::size_t>(port)]; }

    void change_limits(Port port, auto change) {
        PortLimits changed = limits.of(port);
        change(changed);
        limits.set(port, changed);
        turn();
    }

    // Turns and takes what the loop would get.
    void turn(int times = 1) {
        for (int i = 0; i < times; ++i) {
            links->flush();
            worker->do_work(Duration::zero());
            if (loop_takes) take();
        }
    }
    void take() {
        for (const auto& inbox : inboxes) {
            InboundBatch batch;
            inbox->take(batch);
            for (std::size_t i = 0; i < batch.size(); ++i) {
                const auto payload = batch.payload(batch[i]);
                seen.push_back({batch[i], Bytes(payload.begin(), payload.end())});
            }
        }
    }

    // Loopback is quick, but not instant under load: turns until `holds()`, and fails after some seconds.
    template <class Holds>
    void turn_until(Holds holds) {
        constexpr int patience = 10'000;
        for (int i = 0; i < patience; ++i) {
            if (holds()) return;
            links->flush();
            worker->do_work(i < 10 ? Duration::zero() : std::chrono::milliseconds(1));
            if (loop_takes) take();
        }
        FAIL("it did not come to pass");
    }
    // Time goes by in small steps, with a turn after each.
    void pass(Duration time, Duration step = std::chrono::milliseconds(10)) {
        for (Duration gone{0}; gone < time; gone += step) {
            clock.advance(std::min(step, time - gone));
            turn();
        }
    }

    std::size_t count(InboundKind kind, std::optional<ConnectionId> link = {}) const {
        return static_cast<std::size_t>(std::count_if(seen.begin(), seen.end(), [&](const Seen& s) {
            return s.item.kind == kind && (!link || s.item.connection == *link);
        }));
    }
    std::size_t gave_up(LinkFault fault, std::optional<ConnectionId> link = {}) const {
        return static_cast<std::size_t>(std::count_if(seen.begin(), seen.end(), [&](const Seen& s) {
            return s.item.kind == InboundKind::gave_up && s.item.fault() == fault &&
                   (!link || s.item.connection == *link);
        }));
    }
    const Seen& last(InboundKind kind) const {
        const auto found = std::find_if(seen.rbegin(), seen.rend(), [&](const Seen& s) { return s.item.kind == kind; });
        REQUIRE(found != seen.rend());
        return *found;
    }
    std::vector<Bytes> payloads(std::optional<ConnectionId> link = {}) const {
        std::vector<Bytes> all;
        for (const Seen& s : seen) {
            if (s.item.kind == InboundKind::frame && (!link || s.item.connection == *link)) all.push_back(s.payload);
        }
        return all;
    }

    // A new peer, and the id it has here.
    struct Joined {
        Peer peer;
        ConnectionId link;
    };
    Joined join(Port port = Port::servers, bool greet = true, int receive_buffer = 0) {
        const std::size_t before = count(InboundKind::opened);
        Peer peer(address(port), receive_buffer);
        turn_until([&] { return count(InboundKind::opened) > before; });
        const ConnectionId link = last(InboundKind::opened).item.connection;
        if (greet) links->greeted(link);
        turn();
        return {std::move(peer), link};
    }

    // Until the peer has so many bytes, or its end.
    Bytes receive(Peer& peer, std::size_t bytes) {
        Bytes all;
        turn_until([&] {
            all += peer.receive();
            return all.size() >= bytes || peer.ended || peer.was_reset;
        });
        return all;
    }

    TestClock clock;
    CountingWaiter loop;
    ConnectionQuota quota;
    BufferBudget budget;
    SharedLimits limits;
    NetFigures figures;
    std::array<std::unique_ptr<PortInbox>, ports.size()> inboxes;
    SharedTls tls;
    std::vector<TlsFailure> insecure;  // peers refused for their TLS
    NetShared shared{clock,  loop,    quota, budget,
                     limits, figures, tls,   [this](const InsecurePeer& peer) { insecure.push_back(peer.why); },
                     {}};
    std::array<SocketAddress, ports.size()> bound;
    std::optional<NetWorker> worker;
    std::optional<Links> links;
    std::vector<Seen> seen;
    bool loop_takes = true;
};

}  // namespace muster
