// A connection between two nodes, as bytes: late, in pieces, in order, broken anywhere, or lost without a word.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "base/random.h"
#include "base/time.h"
#include "sim/agenda.h"

namespace muster::nodesim {

// One thread. The agenda outlives it. The ends are 0, who connected, and 1.
class ByteStream : public std::enable_shared_from_this<ByteStream> {
public:
    ByteStream(sim::Agenda& agenda, Random random) : agenda_(agenda), random_(random) {}

    // What has arrived at an end and was not taken, and whether nothing more comes.
    struct End {
        std::vector<std::byte> arrived{};
        bool is_broken = false;
        std::function<void()> wake{};
    };
    End& end(std::size_t which) { return ends_[which]; }

    void send(std::size_t from, std::span<const std::byte> bytes) {
        while (!bytes.empty()) {
            const std::size_t size = random_.chance(0.5) ? bytes.size() : 1 + random_.below(bytes.size());
            const auto piece = bytes.first(size);
            put(from, {piece.begin(), piece.end()});
            bytes = bytes.subspan(size);
        }
    }
    // Some of what is on its way still arrives, then both ends find it broken.
    void break_off() {
        for (std::size_t to = 0; to < ends_.size(); ++to) {
            const Time when =
                agenda_.now() + Duration(random_.between(0, Duration(std::chrono::milliseconds(30)).count()));
            agenda_.at(when, [self = shared_from_this(), to] { self->broken(to); });
        }
    }
    // From now on this way carries nothing, and nobody is told.
    void lose(std::size_t from) { is_lost_[from] = true; }

private:
    void put(std::size_t from, std::vector<std::byte> bytes) {
        const std::size_t to = 1 - from;
        const Duration late(random_.between(50'000, 15'000'000));
        arrives_[to] = std::max(arrives_[to], agenda_.now() + late);
        agenda_.at(arrives_[to],
                   [self = shared_from_this(), to, bytes = std::move(bytes)] { self->arrive(to, bytes); });
    }
    void arrive(std::size_t to, const std::vector<std::byte>& bytes) {
        if (is_lost_[1 - to] || ends_[to].is_broken) return;
        ends_[to].arrived.insert(ends_[to].arrived.end(), bytes.begin(), bytes.end());
        if (ends_[to].wake) ends_[to].wake();
    }
    void broken(std::size_t to) {
        ends_[to].is_broken = true;
        if (ends_[to].wake) ends_[to].wake();
    }

    sim::Agenda& agenda_;
    Random random_;
    std::array<End, 2> ends_;
    std::array<Time, 2> arrives_{};
    std::array<bool, 2> is_lost_{};
};

}  // namespace muster::nodesim
