// The state that a sequence of records leads to. It defines what records mean to every store: the in-memory store is
// built on it, and the SQLite store is tested against it.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "core/records.h"
#include "store/kept_past.h"

namespace muster {

constexpr bool is_over(MatchState state) {
    return state >= MatchState::ended;
}

// The rules:
// - A server is known from its ServerRecord to its ServerRemoved; the latest record of an id counts.
// - The latest MatchRecord of a lobby counts. Once it is over, its token is erased (K-3) and its token uses and its
//   list of players are of the past.
// - A token use counts only while its match lives, and once per account, until it is released.
// - MatchForgotten removes the lobby's match and its token uses. The list of players stays: it was given to the lobby,
//   not to the request, and counts for the next one. PlayersForgotten removes the list.
// - EventTold says that nothing of the lobby is untold. An abort is owed to an endpoint until AbortsTold or
// AbortSettled.
// - Ids of events grow: an event whose id is not greater than the last one is skipped.
// - Reserved numbers only grow. The latest clock counts, and the latest account of a name.
// - The latest operator of a name counts, until it is removed; so does the latest block of a kind and value. A block
//   whose time is over stays until it is removed.
// - The latest record of a host counts until it is forgotten, with its processes. A process counts only while its host
// is
//   known.
//
// `now` is Unix time. What is over is kept until it is older than the history; so is a list of players that was given
// and never asked for. Nothing here reads a clock.
class LatestState {
public:
    void apply(const Record& record, UnixMs now);
    void apply(const RecordBatch& batch, UnixMs now);

    // Drops the past that is not kept.
    void prune(const KeptPast& kept);

    // As after a restart, without the past that is not kept. Every list is in the order of its ids, but `over` in the
    // order of the ends. A match that is over and untold stands in `matches` and in `over`.
    RecoveredState recovered(const KeptPast& kept) const;

    const std::map<std::int64_t, EventRecord>& events() const { return events_; }

private:
    struct Listed {
        PlayersRecord record;
        UnixMs given_at;
    };

    void apply_one(const ServerRecord& server, UnixMs now);
    void apply_one(const ServerRemoved& removed, UnixMs now);
    void apply_one(const MatchRecord& match, UnixMs now);
    void apply_one(const MatchForgotten& forgotten, UnixMs now);
    void apply_one(const PlayersRecord& players, UnixMs now);
    void apply_one(const TokenUsed& use, UnixMs now);
    void apply_one(const PlayersForgotten& forgotten, UnixMs now);
    void apply_one(const TokenReleased& released, UnixMs now);
    void apply_one(const EventTold& told, UnixMs now);
    void apply_one(const AbortOwed& owed, UnixMs now);
    void apply_one(const AbortsTold& told, UnixMs now);
    void apply_one(const AbortSettled& settled, UnixMs now);
    void apply_one(const NumbersReserved& numbers, UnixMs now);
    void apply_one(const ClockRecord& clock, UnixMs now);
    void apply_one(const AccountRecord& account, UnixMs now);
    void apply_one(const EventRecord& event, UnixMs now);
    void apply_one(const OperatorRecord& added, UnixMs now);
    void apply_one(const OperatorRemoved& removed, UnixMs now);
    void apply_one(const BlockRecord& block, UnixMs now);
    void apply_one(const BlockRemoved& removed, UnixMs now);
    void apply_one(const HostRecord& host, UnixMs now);
    void apply_one(const HostForgotten& forgotten, UnixMs now);
    void apply_one(const HostProcessRecord& process, UnixMs now);
    void apply_one(const HostProcessForgotten& forgotten, UnixMs now);
    // Notices are for other cells, and a state is of one.
    void apply_one(const PlayerNotice& notice, UnixMs now);
    void apply_one(const NoticeTold& told, UnixMs now);

    bool is_alive(LobbyId lobby) const;
    UnixMs lobbies_since(const KeptPast& kept) const;
    static bool is_past(const MatchRecord& match, UnixMs since);
    bool is_past(const Listed& listed, UnixMs since) const;

    NumbersReserved numbers_;
    std::map<ServerId, ServerRecord> servers_;
    std::map<LobbyId, MatchRecord> matches_;
    std::map<LobbyId, std::set<AccountId>> uses_;
    std::map<LobbyId, Listed> players_;
    std::map<std::string, AccountId> accounts_;
    std::set<std::tuple<std::string, std::uint16_t, LobbyId>> owed_aborts_;
    std::map<std::string, OperatorRecord> operators_;
    std::map<std::pair<BlockKind, std::string>, BlockRecord> blocks_;
    std::map<std::string, HostRecord> hosts_;
    std::map<std::pair<std::string, std::string>, HostProcessRecord> host_processes_;  // by host and name
    std::map<std::int64_t, EventRecord> events_;
    std::int64_t last_event_ = 0;
    UnixMs oldest_event_{std::numeric_limits<std::int64_t>::max()};  // no event is older
    bool has_clock_ = false;
    ClockRecord clock_;
};

}  // namespace muster
