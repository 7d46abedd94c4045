// Every request and match that is not over, by lobby and by the game server that has it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

#include <boost/unordered/unordered_flat_map.hpp>

#include "base/check.h"
#include "base/ids.h"
#include "core/match.h"
#include "core/visit_after.h"

namespace muster {

// Game thread only. A match stays where it is until it is erased.
class MatchTable {
public:
    Match& add(LobbyId lobby) {
        // Most come with growing numbers, and after a start all do.
        const auto added = matches_.try_emplace(matches_.end(), lobby);
        by_lobby_.emplace(lobby, added);
        added->second.record.lobby = lobby;
        return added->second;
    }
    void erase(const Match& match) {
        const auto found = by_lobby_.find(match.lobby());
        matches_.erase(found->second);
        by_lobby_.erase(found);
    }

    // Null when the lobby has no match now.
    Match* find(LobbyId lobby) {
        const auto found = by_lobby_.find(lobby);
        return found == by_lobby_.end() ? nullptr : &found->second->second;
    }
    const Match* find(LobbyId lobby) const {
        const auto found = by_lobby_.find(lobby);
        return found == by_lobby_.end() ? nullptr : &found->second->second;
    }
    std::size_t size() const { return matches_.size(); }

    // Which server has it, offered or held: its record names the server.
    void offered(const Match& match) { on_server_[match.record.server].offered.push_back(match.lobby()); }
    void offer_over(const Match& match) { take_from(match, &OnServer::offered); }
    // What it was offered it holds from now on.
    void acknowledged(const Match& match) {
        held(match);
        offer_over(match);
    }
    void held(const Match& match) { on_server_[match.record.server].held.push_back(match.lobby()); }
    void held_no_more(const Match& match) { take_from(match, &OnServer::held); }
    // Oldest first.
    const std::vector<LobbyId>& offered_on(ServerId server) const { return list(server, &OnServer::offered); }
    const std::vector<LobbyId>& held_on(ServerId server) const { return list(server, &OnServer::held); }
    // After a start: every match is held by the server of its record, in the order of their acknowledgements.
    void sort_held() {
        struct Held {
            UnixMs at;
            LobbyId lobby;
            ServerId server;
        };
        std::vector<Held> all;
        all.reserve(matches_.size());
        for (const auto& [lobby, match] : matches_)
            all.push_back({match.record.allocated_at, lobby, match.record.server});
        std::ranges::sort(all, [](const Held& one, const Held& other) {
            return one.at != other.at ? one.at < other.at : one.lobby < other.lobby;
        });
        for (auto& [server, on] : on_server_) on.held.clear();
        for (const Held& one : all) on_server_[one.server].held.push_back(one.lobby);
    }

    // By ascending lobby.
    template <class Visit>
    void for_each(Visit visit) const {
        for (const auto& [lobby, match] : matches_) visit(match);
    }
    // Those that come after `last`, at most `left`, which tells how many are still left. False when there are more.
    template <class Visit>
    bool visit_after(LobbyId last, std::size_t& left, Visit visit) const {
        return muster::visit_after(matches_, last, left, visit);
    }

private:
    struct OnServer {
        std::vector<LobbyId> offered;
        std::vector<LobbyId> held;
    };
    using List = std::vector<LobbyId> OnServer::*;

    const std::vector<LobbyId>& list(ServerId server, List which) const {
        static const std::vector<LobbyId> none;
        const auto found = on_server_.find(server);
        return found == on_server_.end() ? none : found->second.*which;
    }
    void take_from(const Match& match, List which) {
        const auto found = on_server_.find(match.record.server);
        MUSTER_CHECK(found != on_server_.end() && std::erase(found->second.*which, match.lobby()) == 1,
                     "a match is taken from the server that has it");
        if (found->second.offered.empty() && found->second.held.empty()) on_server_.erase(found);
    }

    using InOrder = std::map<LobbyId, Match>;

    InOrder matches_;  // in the order that lists show them
    // A match is looked for some ten times on its way: in the map each would be a walk of fifteen nodes.
    boost::unordered_flat_map<LobbyId, InOrder::iterator, std::hash<LobbyId>> by_lobby_;
    std::unordered_map<ServerId, OnServer> on_server_;
};

}  // namespace muster
