#include "store/latest_state.h"

#include <algorithm>
#include <limits>
#include <string_view>
#include <tuple>
#include <vector>

namespace muster {
namespace {

constexpr UnixMs any_time{std::numeric_limits<std::int64_t>::min()};

}  // namespace

void LatestState::apply(const Record& record, UnixMs now) {
    std::visit([&](const auto& one) { apply_one(one, now); }, record);
}

void LatestState::apply(const RecordBatch& batch, UnixMs now) {
    for (const Record& record : batch.records) apply(record, now);
}

void LatestState::prune(const KeptPast& kept) {
    const UnixMs matches_since = std::min(kept.since, lobbies_since(kept));
    if (matches_since > any_time)
        std::erase_if(matches_, [&](const auto& entry) { return is_past(entry.second, matches_since); });
    std::erase_if(players_, [&](const auto& entry) { return is_past(entry.second, kept.since); });
    if (oldest_event_ >= kept.since) return;
    oldest_event_ = kept.since;
    std::erase_if(events_, [&](const auto& entry) { return entry.second.time < kept.since; });
}

RecoveredState LatestState::recovered(const KeptPast& kept) const {
    const UnixMs since = lobbies_since(kept);
    RecoveredState state;
    state.numbers = numbers_;
    state.servers.reserve(servers_.size());
    for (const auto& [id, server] : servers_) state.servers.push_back(server);
    state.over.reserve(matches_.size());
    std::vector<const MatchRecord*> wanted;  // counted first: a match is large, and most are over and told
    for (const auto& [lobby, match] : matches_) {
        if (is_past(match, since)) continue;
        if (!is_over(match.state) || match.untold_event != 0) wanted.push_back(&match);
        if (is_over(match.state)) state.over.push_back({match.ended_at, lobby, match.server, match.state});
    }
    state.matches.reserve(wanted.size());
    for (const MatchRecord* match : wanted) state.matches.push_back(*match);
    std::sort(state.over.begin(), state.over.end());
    if (state.over.size() > kept.lobbies_most)
        state.over.erase(state.over.begin(), state.over.end() - static_cast<std::ptrdiff_t>(kept.lobbies_most));
    for (const auto& [lobby, accounts] : uses_)
        for (const AccountId account : accounts) state.tokens_used.push_back({lobby, account});
    state.players.reserve(players_.size());
    for (const auto& [lobby, listed] : players_)
        if (!is_past(listed, kept.since)) state.players.push_back(listed.record);
    for (const auto& [name, account] : accounts_) state.accounts.push_back({name, account});
    std::sort(state.accounts.begin(), state.accounts.end(), [](const AccountRecord& a, const AccountRecord& b) {
        return std::tie(a.account, a.name) < std::tie(b.account, b.name);
    });
    std::string_view parsed;  // the address of the one before, mostly the same
    IpAddress address;
    state.owed_aborts.reserve(owed_aborts_.size());
    for (const auto& [ip, port, lobby] : owed_aborts_) {
        if (ip != parsed) address = IpAddress::parse(ip).value();
        parsed = ip;
        state.owed_aborts.push_back({address, port, lobby});
    }
    for (const auto& [name, known] : operators_) state.operators.push_back(known);
    for (const auto& [key, block] : blocks_) state.blocks.push_back(block);
    for (const auto& [name, host] : hosts_) state.hosts.push_back(host);
    for (const auto& [key, process] : host_processes_) state.host_processes.push_back(process);
    state.has_clock = has_clock_;
    state.clock = clock_;
    return state;
}

void LatestState::apply_one(const ServerRecord& server, UnixMs) {
    servers_.insert_or_assign(server.id, server);
}

void LatestState::apply_one(const ServerRemoved& removed, UnixMs) {
    servers_.erase(removed.id);
}

void LatestState::apply_one(const MatchRecord& match, UnixMs) {
    // A lobby that comes again after its end starts without the uses of the match before.
    if (is_over(match.state) || !is_alive(match.lobby)) uses_.erase(match.lobby);
    MatchRecord& kept = matches_.insert_or_assign(match.lobby, match).first->second;
    if (is_over(match.state)) {
        kept.token.clear();
        players_.erase(match.lobby);
    }
}

void LatestState::apply_one(const MatchForgotten& forgotten, UnixMs) {
    matches_.erase(forgotten.lobby);
    uses_.erase(forgotten.lobby);
}

void LatestState::apply_one(const PlayersRecord& players, UnixMs now) {
    players_.insert_or_assign(players.lobby, Listed{players, now});
}

void LatestState::apply_one(const TokenUsed& use, UnixMs) {
    if (is_alive(use.lobby)) uses_[use.lobby].insert(use.account);
}

void LatestState::apply_one(const PlayersForgotten& forgotten, UnixMs) {
    players_.erase(forgotten.lobby);
}

void LatestState::apply_one(const TokenReleased& released, UnixMs) {
    const auto uses = uses_.find(released.lobby);
    if (uses != uses_.end()) uses->second.erase(released.account);
}

void LatestState::apply_one(const EventTold& told, UnixMs) {
    if (const auto match = matches_.find(told.lobby); match != matches_.end()) match->second.untold_event = 0;
}

void LatestState::apply_one(const AbortOwed& owed, UnixMs) {
    owed_aborts_.insert({owed.ip.to_string(), owed.port, owed.lobby});
}

void LatestState::apply_one(const AbortsTold& told, UnixMs) {
    const std::string ip = told.ip.to_string();
    std::erase_if(owed_aborts_,
                  [&](const auto& owed) { return std::get<0>(owed) == ip && std::get<1>(owed) == told.port; });
}

void LatestState::apply_one(const AbortSettled& settled, UnixMs) {
    owed_aborts_.erase({settled.ip.to_string(), settled.port, settled.lobby});
}

void LatestState::apply_one(const NumbersReserved& numbers, UnixMs) {
    numbers_.server_ids_below = std::max(numbers_.server_ids_below, numbers.server_ids_below);
    numbers_.epochs_below = std::max(numbers_.epochs_below, numbers.epochs_below);
    numbers_.event_ids_below = std::max(numbers_.event_ids_below, numbers.event_ids_below);
}

void LatestState::apply_one(const ClockRecord& clock, UnixMs) {
    has_clock_ = true;
    clock_ = clock;
}

void LatestState::apply_one(const AccountRecord& account, UnixMs) {
    accounts_.insert_or_assign(account.name, account.account);
}

void LatestState::apply_one(const EventRecord& event, UnixMs) {
    if (event.id <= last_event_) return;
    last_event_ = event.id;
    events_.emplace_hint(events_.end(), event.id, event);
    oldest_event_ = std::min(oldest_event_, event.time);
}

void LatestState::apply_one(const OperatorRecord& added, UnixMs) {
    operators_.insert_or_assign(added.name, added);
}

void LatestState::apply_one(const OperatorRemoved& removed, UnixMs) {
    operators_.erase(removed.name);
}

void LatestState::apply_one(const BlockRecord& block, UnixMs) {
    blocks_.insert_or_assign({block.kind, block.value}, block);
}

void LatestState::apply_one(const BlockRemoved& removed, UnixMs) {
    blocks_.erase({removed.kind, removed.value});
}

void LatestState::apply_one(const HostRecord& host, UnixMs) {
    hosts_.insert_or_assign(host.name, host);
}

void LatestState::apply_one(const HostForgotten& forgotten, UnixMs) {
    hosts_.erase(forgotten.name);
    std::erase_if(host_processes_, [&](const auto& entry) { return entry.first.first == forgotten.name; });
}

void LatestState::apply_one(const HostProcessRecord& process, UnixMs) {
    if (hosts_.contains(process.host)) host_processes_.insert_or_assign({process.host, process.name}, process);
}

void LatestState::apply_one(const HostProcessForgotten& forgotten, UnixMs) {
    host_processes_.erase({forgotten.host, forgotten.name});
}

void LatestState::apply_one(const PlayerNotice&, UnixMs) {}

void LatestState::apply_one(const NoticeTold&, UnixMs) {}

bool LatestState::is_alive(LobbyId lobby) const {
    const auto match = matches_.find(lobby);
    return match != matches_.end() && !is_over(match->second.state);
}

// The earlier of what was asked for and of the end of the last of the latest `lobbies_least`.
UnixMs LatestState::lobbies_since(const KeptPast& kept) const {
    if (kept.lobbies_least == 0) return kept.lobbies_since;
    if (matches_.size() < kept.lobbies_least) return any_time;
    std::vector<UnixMs> ends;
    for (const auto& [lobby, match] : matches_)
        if (is_over(match.state)) ends.push_back(match.ended_at);
    if (ends.size() < kept.lobbies_least) return any_time;
    const auto last = ends.end() - static_cast<std::ptrdiff_t>(kept.lobbies_least);
    std::nth_element(ends.begin(), last, ends.end());
    return std::min(kept.lobbies_since, *last);
}

bool LatestState::is_past(const MatchRecord& match, UnixMs since) {
    return is_over(match.state) && match.ended_at < since;
}

bool LatestState::is_past(const Listed& listed, UnixMs since) const {
    return listed.given_at < since && !is_alive(listed.record.lobby);
}

}  // namespace muster
