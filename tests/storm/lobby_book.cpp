#include "lobby_book.h"

#include <algorithm>

#include <fmt/core.h>

namespace muster::storm {
namespace {

using enum Trouble;

// Those that are over are remembered for so long.
constexpr Span memory = 60s;
constexpr std::size_t offers_most = 4;  // of a request: the first and three retries

}  // namespace

Lobby& LobbyBook::ask(std::int32_t id, std::size_t matchmaker, Moment at) {
    const auto [found, fresh] = lobbies_.try_emplace(id);
    Lobby& lobby = found->second;
    if (fresh) {
        lobby.matchmaker = matchmaker;
        lobby.first_asked = at;
        open_.insert(id);
    }
    lobby.asked = at;
    lobby.offers.clear();  // perhaps it is a new request
    return lobby;
}

void LobbyBook::cancel(std::int32_t id, Moment at) {
    if (Lobby* lobby = find(id)) lobby->cancelled = at;
}

void LobbyBook::give_up(std::int32_t id, Moment at) {
    if (Lobby* lobby = find(id)) close(id, *lobby, at);
}

Lobby* LobbyBook::find(std::int32_t id) {
    const auto found = lobbies_.find(id);
    return found == lobbies_.end() ? nullptr : &found->second;
}

std::vector<std::int32_t> LobbyBook::open_of(std::size_t matchmaker) const {
    std::vector<std::int32_t> all;
    for (const std::int32_t id : open_) {
        if (lobbies_.at(id).matchmaker == matchmaker) all.push_back(id);
    }
    return all;
}

Objection LobbyBook::offered(std::int32_t id, const Answer& to) {
    Lobby* lobby = find(id);
    if (!lobby || !lobby->asked || std::ranges::find(lobby->offers, to) != lobby->offers.end()) return std::nullopt;
    const bool again = std::ranges::find(lobby->offers, to.port, &Answer::port) != lobby->offers.end();
    lobby->offers.push_back(to);
    if (again) return fmt::format("lobby {} was offered to server {} twice, which had not taken it", id, to.server);
    if (lobby->offers.size() <= offers_most) return std::nullopt;
    return fmt::format("lobby {} was offered for the {}th time in one request", id, lobby->offers.size());
}

void LobbyBook::taken(std::int32_t id, const Answer& by) {
    if (Lobby* lobby = find(id)) lobby->taken.push_back(by);
}

Objection LobbyBook::accepted(std::int32_t id, const Answer& answer, Moment at) {
    Lobby* lobby = find(id);
    if (!lobby) return fmt::format("lobby {} was given a server, but nobody asked for it", id);
    lobby->asked.reset();
    if (lobby->answer && *lobby->answer != answer) {
        return fmt::format("lobby {} is on two servers: first {}, now {}", id, lobby->answer->server, answer.server);
    }
    if (std::find(lobby->taken.begin(), lobby->taken.end(), answer) == lobby->taken.end()) {
        return fmt::format("lobby {} was answered with server {}, which did not take it with that token", id,
                           answer.server);
    }
    if (!lobby->answer) {
        ++answered_;
        lobby->answer = answer;
        lobby->answered_at = at;
    }
    return std::nullopt;
}

Objection LobbyBook::refused(std::int32_t id, std::string_view why, Moment at) {
    Lobby* lobby = find(id);
    if (!lobby) return fmt::format("lobby {} was refused, but nobody asked for it", id);
    const Moment since = lobby->asked.value_or(at);
    lobby->asked.reset();
    ++lobby->refusals;
    if (lobby->over || lobby->cancelled) return std::nullopt;
    const bool disk = store_may_fail(since, at);
    if (why == "Server shutting down" && weather_.met({down}, since, at)) return std::nullopt;
    if (lobby->answer) {
        // A known match is answered before anything else is checked, so only an end explains it.
        if (lobby->ending || lobby->told >= 3 || may_fall_through(*lobby, "Match token expired")) return std::nullopt;
        return fmt::format("lobby {} had been given server {}, and is now refused: {}", id, lobby->answer->server, why);
    }
    if ((why == "Server busy" || why == "Store unavailable") && disk) return std::nullopt;
    // What the peers sent during a stop is worked off first, and a flood of requests may be among it.
    // A request that waited for some milliseconds behind a flood is refused: so are those of a crowded machine.
    if (why == "Server busy" && weather_.met({stopped, backlog, crowded, cut_short}, since, at)) return std::nullopt;
    if (why == "Server allocation timeout" && unwanted(id)) return std::nullopt;
    if (why == "Server allocation timeout" && weather_.met({stopped, slow_disk, down, cut_short}, since, at))
        return std::nullopt;
    if (why == "No servers available" && weather_.met({down, cut_short}, since, at)) return std::nullopt;
    // Its server took it, played it and reported its end before its matchmaker, away or behind a slow disk, heard of
    // it.
    if (why == "Invalid match lobby ID" && lobby->ending) {
        close(id, *lobby, at);
        return std::nullopt;
    }
    // Allocated, never answered, and withdrawn by the restart.
    if (why == "Invalid match lobby ID" && weather_.met({down}, lobby->first_asked, at)) {
        close(id, *lobby, at);
        return std::nullopt;
    }
    return fmt::format("lobby {} was refused in fair weather: {}", id, why);
}

// Whether the store may have had no word for a promise in time. While threads wake late, its own may be one of them.
bool LobbyBook::store_may_fail(Moment from, Moment to) const {
    return weather_.met({slow_disk, full_disk, down, cut_short}, from, to);
}

// Whether an answered match may be over though its own peers did not end it.
bool LobbyBook::may_fall_through(const Lobby& lobby, std::string_view reason) const {
    if (lobby.cancelled) return true;
    // After a step of the date and a restart nobody can say how old a token is.
    return reason == "Match token expired" && weather_.ever(date);
}

Objection LobbyBook::told(std::int32_t id, MatchEventKind kind, std::string_view reason, Moment at) {
    Lobby* lobby = find(id);
    if (!lobby) return std::nullopt;  // over long ago, and told once more
    const int number = static_cast<int>(kind);
    if (kind == MatchEventKind::aborted && lobby->answer && !lobby->over && !may_fall_through(*lobby, reason)) {
        return fmt::format("lobby {} on server {} was aborted though nobody wanted it: {}", id, lobby->answer->server,
                           reason);
    }
    if (kind == MatchEventKind::ended && !lobby->ending) {
        return fmt::format("lobby {} is said to be over ({}), but its server plays on", id, reason);
    }
    lobby->told = std::max(lobby->told, number);
    if (kind == MatchEventKind::aborted && !lobby->aborted_at) lobby->aborted_at = at;
    if (number >= 3) close(id, *lobby, at);
    return std::nullopt;
}

Objection LobbyBook::aborted(std::int32_t id, const Answer& by, std::string_view reason, Moment) {
    const Lobby* lobby = find(id);
    if (!lobby || !holds(*lobby, by) || lobby->ending || may_fall_through(*lobby, reason)) return std::nullopt;
    // So a server hears of whatever fell through while it was away. Its matchmaker hears why, and is judged by that.
    if (reason == "Server lost" && may_fall_through(*lobby, "Match token expired")) return std::nullopt;
    return fmt::format("server {} must drop lobby {}, which it was given: {}", by.server, id, reason);
}

void LobbyBook::reported(std::int32_t id, MatchEventKind kind, Moment at) {
    Lobby* lobby = find(id);
    if (!lobby || lobby->reported >= static_cast<int>(kind)) return;
    lobby->reported = static_cast<int>(kind);
    lobby->reported_at = at;
}

Objection LobbyBook::disowned(std::int32_t id, const Answer& by, std::string_view why, Moment at) {
    const Lobby* lobby = find(id);
    const bool excused = !lobby || !holds(*lobby, by) || may_fall_through(*lobby, "Match token expired");
    if (excused || weather_.met({down}, at - 100ms, at)) return std::nullopt;
    return fmt::format("server {} was given lobby {}, and is now told: {}", by.server, id, why);
}

Objection LobbyBook::not_told_to_drop(std::int32_t id, const Answer& by, const LinkTime& link) {
    const Lobby* lobby = find(id);
    if (!lobby || lobby->answer != by || !lobby->aborted_at) return std::nullopt;
    const Moment aborted = *lobby->aborted_at;
    const auto of = [&](Moment until) { return seconds(until - aborted); };
    // An abort that is on the disk is owed to the server's endpoint, whatever happens to the daemon.
    if (link.began > aborted) {
        const Moment asked = lobby->cancelled.value_or(aborted - limits_.answer);
        if (weather_.met({slow_disk, full_disk}, asked, aborted)) return std::nullopt;
        return fmt::format(
            "server {} came back and was not told to drop lobby {}, which had been aborted {:.1f} s before", by.server,
            id, of(link.began));
    }
    // The two are told at the same time; a slow disk holds up the word to the server.
    const bool heard = link.began < aborted - 1s && link.asked > aborted + 1s &&
                       !weather_.met({slow_disk, full_disk, stopped, down, cut_short}, aborted - 1s, link.asked);
    if (!heard) return std::nullopt;
    return fmt::format("server {} was not told to drop lobby {}, which had been aborted {:.1f} s before", by.server, id,
                       of(link.asked));
}

Objection LobbyBook::token_accepted(std::int32_t id, std::int32_t account) {
    Lobby* lobby = find(id);
    if (!lobby) return std::nullopt;
    if (std::ranges::find(lobby->guests, account) == lobby->guests.end())
        return fmt::format("the token of lobby {} let in account {}, one more than its players", id, account);
    lobby->unsure.erase(account);
    if (lobby->used.insert(account).second) return std::nullopt;
    return fmt::format("the token of lobby {} let account {} in twice", id, account);
}

void LobbyBook::token_unanswered(std::int32_t id, std::int32_t account) {
    if (Lobby* lobby = find(id)) lobby->unsure.insert(account);
}

Objection LobbyBook::token_refused(std::int32_t id, std::int32_t account, std::string_view why, Moment at) {
    Lobby* lobby = find(id);
    if (!lobby) return std::nullopt;
    if (why == "Store unavailable") {
        lobby->unsure.insert(account);  // it may be used all the same
        if (store_may_fail(at - limits_.answer, at)) return std::nullopt;
        return fmt::format("the token of lobby {} was refused in fair weather: {}", id, why);
    }
    if (std::ranges::find(lobby->guests, account) == lobby->guests.end()) return std::nullopt;
    const bool replayed = lobby->used.contains(account) || lobby->unsure.contains(account);
    if (replayed || lobby->over || !lobby->answer || may_fall_through(*lobby, "Match token expired"))
        return std::nullopt;
    return fmt::format("the right token of lobby {} was refused to account {}: {}", id, account, why);
}

Objection LobbyBook::report_not_kept(std::int32_t id, Moment at) const {
    if (store_may_fail(at - limits_.answer, at)) return std::nullopt;
    return fmt::format("a report of lobby {} could not be kept in fair weather", id);
}

Objection LobbyBook::sweep(Moment at, const std::vector<std::optional<Moment>>& heard_since) {
    while (!closed_.empty() && at - closed_.front().first > memory) {
        lobbies_.erase(closed_.front().second);
        closed_.erase(closed_.begin());
    }
    for (const std::int32_t id : open_) {
        const Lobby& lobby = lobbies_.at(id);
        const auto& heard = heard_since[lobby.matchmaker];
        if (!heard) continue;
        if (lobby.asked && weather_.running(std::max(*lobby.asked, *heard), at) > limits_.answer)
            return fmt::format("lobby {} was asked for {:.1f} s ago and has no answer", id, seconds(at - *lobby.asked));
        if (lobby.cancelled && weather_.running(std::max(*lobby.cancelled, *heard), at) > limits_.answer)
            return fmt::format("lobby {} was cancelled {:.1f} s ago and nobody said so", id,
                               seconds(at - *lobby.cancelled));
        const bool owed = lobby.answer && lobby.told < lobby.reported;
        const Moment since = std::max({lobby.reported_at, lobby.answered_at, *heard});
        if (owed && weather_.running(since, at) > limits_.event && !weather_.met({slow_disk, full_disk}, since, at)) {
            return fmt::format(
                "matchmaker {} was never told event {} of lobby {}: {:.1f} s after its report, {:.1f} s "
                "after the matchmaker's handshake",
                lobby.matchmaker, lobby.reported, id, seconds(at - lobby.reported_at), seconds(at - *heard));
        }
    }
    return std::nullopt;
}

void LobbyBook::close(std::int32_t id, Lobby& lobby, Moment at) {
    if (!lobby.over) closed_.emplace_back(at, id);
    lobby.over = true;
    open_.erase(id);
}

}  // namespace muster::storm
