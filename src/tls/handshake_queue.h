// Links that wait for the first step of their TLS handshake, which is the dear one, served address by address.
#pragma once

#include <cstddef>
#include <list>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/ip_address.h"

namespace muster {

// One thread only. Addresses take turns, each with one link at a time, its first comer first: whoever comes from an
// address of its own waits for one link of each other address, however many those have sent (fault 75). IPv6 addresses
// count by their /64 network.
//
// `Waiting` names a link, which may be gone by its turn.
template <class Waiting>
class HandshakeQueue {
public:
    // Throws std::bad_alloc, and changes nothing.
    void push(const IpAddress& from, Waiting waiting) {
        const IpAddress network = from.network();
        if (const auto known = by_network_.find(network); known != by_network_.end()) {
            known->second->links.push_back(std::move(waiting));
        } else {
            std::list<OfNetwork> last;
            last.push_back({network, {}});
            last.front().links.push_back(std::move(waiting));
            by_network_.emplace(network, last.begin());
            turns_.splice(turns_.end(), last);
        }
        ++size_;
    }

    std::optional<Waiting> pop() {
        if (turns_.empty()) return std::nullopt;
        OfNetwork& next = turns_.front();
        Waiting served = std::move(next.links[next.first++]);
        --size_;
        if (next.first == next.links.size()) {
            by_network_.erase(next.network);
            turns_.pop_front();
            return served;
        }
        // What was served is forgotten now and then, so that a queue which is never empty does not grow.
        if (next.first >= forget_at && 2 * next.first >= next.links.size()) {
            next.links.erase(next.links.begin(), next.links.begin() + static_cast<std::ptrdiff_t>(next.first));
            next.first = 0;
        }
        turns_.splice(turns_.end(), turns_, turns_.begin());
        return served;
    }

    bool empty() const { return size_ == 0; }
    std::size_t size() const { return size_; }

private:
    static constexpr std::size_t forget_at = 64;

    struct OfNetwork {
        IpAddress network;
        std::vector<Waiting> links;
        std::size_t first = 0;  // of those that are not served yet
    };

    std::list<OfNetwork> turns_;  // who waits, in the order of their turns
    std::unordered_map<IpAddress, typename std::list<OfNetwork>::iterator> by_network_;
    std::size_t size_ = 0;
};

}  // namespace muster
