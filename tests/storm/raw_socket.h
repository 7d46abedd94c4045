// A socket that does what an attacker wants: nothing waits, nothing is checked twice.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace muster::storm {

// One thread.
class RawSocket {
public:
    RawSocket() = default;
    // Begins to connect to 127.0.0.1:`port` from that loopback address. Closed when there is no socket to be had.
    RawSocket(std::uint32_t from, std::uint16_t port);
    RawSocket(RawSocket&& other) noexcept;
    RawSocket& operator=(RawSocket&& other) noexcept;
    ~RawSocket() { reset(); }

    bool open() const { return socket_ >= 0; }
    // Sends what fits; the bytes taken. Closes itself when the peer is gone.
    std::size_t send(std::span<const std::byte> bytes);
    std::size_t send(std::string_view text);
    // Takes what has arrived, at most 64 KiB. Closes itself when the peer is gone.
    std::string receive();
    // The kernel keeps as little as it can for us.
    void read_slowly();
    // Gone with a reset.
    void reset();

private:
    int socket_ = -1;
};

}  // namespace muster::storm
