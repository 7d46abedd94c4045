// Which links of a full port give way to newcomers of other addresses: those that have proved nothing yet.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/function.h"
#include "base/ip_address.h"
#include "base/time.h"

namespace muster {

// One thread only. A list of such links, made now and then, since it costs a look at every link. The address
// that has most of them loses one for a newcomer from an address that would still have fewer: a flood takes room from
// itself, and whoever comes from elsewhere finds some (fault 75). IPv6 addresses count by their /64 network.
//
// Where several threads share a port, each lists its own links and gives those away. What an address has with the
// others counts too.
//
// `Link` names a link.
template <class Link>
class GivingWay {
public:
    // How many such links a network has with all threads, given its address.
    using CountOf = Function<std::size_t(const IpAddress&)>;

    // How long a list is used.
    static constexpr Duration used_for = std::chrono::milliseconds(100);

    // Without a count there is one thread.
    GivingWay() = default;
    explicit GivingWay(CountOf with_all_threads) : with_all_threads_(std::move(with_all_threads)) {}

    // Whether it is time for a new list: then begin(), add() each link, and end_list().
    bool is_stale(Time now) const { return !made_ || now - *made_ >= used_for; }
    // These throw std::bad_alloc; the list is then to be begun again.
    void begin() {
        made_.reset();
        by_network_.clear();
        most_.clear();
        listed_ = 0;
    }
    void add(const IpAddress& from, Link link) {
        OfNetwork& all = by_network_[from.network()];
        all.links.push_back(std::move(link));
        ++all.count;
        ++listed_;
    }
    void end_list(Time now) {
        most_.reserve(by_network_.size());
        for (auto& [network, all] : by_network_) {
            all.elsewhere = elsewhere_of(network, all.count);
            most_.push_back(&all);
        }
        std::make_heap(most_.begin(), most_.end(), has_fewer);
        made_ = now;
    }
    // How many links the list had when it was made.
    std::size_t listed() const { return listed_; }

    // Who gives way to a newcomer from there; none when nobody does. One that is gone by now may be named: ask again.
    // Throws std::bad_alloc, and changes nothing.
    std::optional<Link> next_for(const IpAddress& newcomer) {
        if (most_.empty()) return std::nullopt;
        const auto [place, is_new] = by_network_.try_emplace(newcomer.network());
        OfNetwork& own = place->second;
        if (is_new) own.elsewhere = elsewhere_of(place->first, 0);
        OfNetwork& most = *most_.front();
        if (most.all() <= own.count + own.elsewhere + 1) return std::nullopt;
        std::pop_heap(most_.begin(), most_.end(), has_fewer);
        Link link = std::move(most.links.back());
        most.links.pop_back();
        --most.count;
        if (most.links.empty()) {
            most_.pop_back();
        } else {
            std::push_heap(most_.begin(), most_.end(), has_fewer);
        }
        return link;
    }
    // The newcomer was let in, and counts as one of these links itself.
    void let_in(const IpAddress& newcomer) { ++by_network_[newcomer.network()].count; }

private:
    struct OfNetwork {
        std::vector<Link> links;  // that may give way
        std::size_t count = 0;    // and those that were let in since
        std::size_t elsewhere = 0;

        std::size_t all() const { return links.size() + elsewhere; }
    };
    static bool has_fewer(const OfNetwork* one, const OfNetwork* other) { return one->all() < other->all(); }
    std::size_t elsewhere_of(const IpAddress& network, std::size_t here) {
        if (!with_all_threads_) return 0;
        const std::size_t all = with_all_threads_(network);
        return all - std::min(all, here);
    }

    CountOf with_all_threads_;
    std::unordered_map<IpAddress, OfNetwork> by_network_;
    std::vector<OfNetwork*> most_;  // a heap: the first has most links
    std::size_t listed_ = 0;
    std::optional<Time> made_;
};

}  // namespace muster
