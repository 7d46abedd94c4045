// A socket between two nodes, with TLS or without: bytes in, bytes out, never waiting.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "net/file_descriptor.h"
#include "tls/tls_link.h"

namespace muster {

// One thread. Throws std::bad_alloc.
class NodeSocket {
public:
    // What one read() takes at most.
    static constexpr std::size_t read_max = std::size_t{256} * 1024;

    // `tls` is null for a link without it. A client's speaks first.
    NodeSocket(FileDescriptor socket, std::unique_ptr<TlsLink> tls, bool is_client);

    int number() const { return socket_.number(); }
    // TLS is ready, or there is none.
    bool is_secured() const { return !tls_ || tls_->state() == TlsLink::State::open; }
    // What the peer's certificate says it is called; empty without one.
    std::string proven_name() const;

    // Takes what has come. False when the socket is good for nothing any more: problem() says why.
    [[nodiscard]] bool read();
    // More may be there than the last read() took.
    bool is_unread() const { return is_unread_; }
    // What a poller says of the socket: epoll's events. An end is reported once, maybe together with the bytes before
    // it.
    void reported(std::uint32_t events);

    std::span<const std::byte> received() const { return std::span(in_).subspan(taken_); }
    void consume(std::size_t count);

    // What is to be sent: append to it, then write().
    std::vector<std::byte>& out() { return out_; }
    // Sends as much as the socket takes. False when it is broken.
    [[nodiscard]] bool write();
    // Bytes that wait to be sent.
    std::size_t unsent() const { return out_.size() + sealed_.size() - sent_; }

    const std::string& problem() const { return problem_; }

private:
    bool broken(std::string why);
    bool take(std::span<const std::byte> bytes);

    FileDescriptor socket_;
    std::unique_ptr<TlsLink> tls_;
    bool is_unread_ = true;
    bool is_ending_ = false;  // its end was reported
    std::vector<std::byte> in_;
    std::size_t taken_ = 0;
    std::vector<std::byte> out_;
    std::vector<std::byte> sealed_;  // on its way, as it goes over the wire
    std::size_t sent_ = 0;           // of `sealed_`
    std::string problem_;
};

}  // namespace muster
