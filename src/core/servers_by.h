// Servers, found by one of their fields.
#pragma once

#include <cstddef>
#include <functional>

#include <boost/unordered/unordered_flat_set.hpp>

#include "core/server.h"

namespace muster {

// Pointers only, 14 bytes a server: the key is in the server itself, and stays what it is while the server is in here.
// The servers outlive it.
template <class Key, Key Server::* Field>
class ServersBy {
public:
    // In place of another that has the same key.
    void insert(Server& server) {
        const auto [place, is_new] = servers_.insert(&server);
        if (is_new) return;
        servers_.erase(place);
        servers_.insert(&server);
    }
    // Nothing happens when another has taken its place.
    void erase(Server& server) {
        const auto found = servers_.find(&server);
        if (found != servers_.end() && *found == &server) servers_.erase(found);
    }
    // Null when there is none.
    Server* find(const Key& key) const {
        const auto found = servers_.find(key);
        return found == servers_.end() ? nullptr : *found;
    }

private:
    // Asked within one expression. NOLINTNEXTLINE(bugprone-return-const-ref-from-parameter)
    static const Key& key_of(const Key& key) { return key; }
    static const Key& key_of(const Server* server) { return server->*Field; }

    struct Hash {
        using is_transparent = void;
        std::size_t operator()(const auto& of) const { return std::hash<Key>{}(key_of(of)); }
    };
    struct Equal {
        using is_transparent = void;
        bool operator()(const auto& one, const auto& other) const { return key_of(one) == key_of(other); }
    };

    boost::unordered_flat_set<Server*, Hash, Equal> servers_;
};

}  // namespace muster
