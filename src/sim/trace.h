// What happened in a simulation: a hash that two equal runs share, and, when wanted, lines that a person can read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/time.h"

namespace muster::sim {

struct TraceLine {
    Time when;
    LobbyId lobby;    // that it is about, if any
    ServerId server;  // the same
    std::string text;
    bool general = false;  // about nobody in particular: a crash, a full disk
};

class Trace {
public:
    explicit Trace(bool readable, Time start) : readable_(readable), start_(start) {}

    void mix(std::uint64_t word) { hash_ = (hash_ ^ word) * 0x9e3779b97f4a7c15 + (hash_ >> 29); }
    void mix(std::span<const std::byte> bytes);
    void mix(std::string_view text) { mix(std::as_bytes(std::span(text))); }
    // The same seed and build give the same hash (invariant 21).
    std::uint64_t hash() const { return hash_; }

    // Lines are kept only when somebody is going to read them.
    bool readable() const { return readable_; }
    void line(TraceLine line) {
        if (readable_) lines_.push_back(std::move(line));
    }

    // The last `most` lines about the lobby or the server, with the general ones between them; of all when neither is
    // named.
    std::vector<std::string> last_lines(LobbyId lobby, ServerId server, std::size_t most) const;

private:
    bool readable_;
    Time start_;
    std::uint64_t hash_ = 0x6d75737465720000;
    std::vector<TraceLine> lines_;
};

}  // namespace muster::sim
