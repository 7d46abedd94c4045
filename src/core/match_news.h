// What matchmakers have to be told of their matches: the latest event of each lobby, at least once.
//
// An event is sent the moment it happens. Whether it was read nobody knows, so it is sent again after the next
// handshake: of a lobby that lives always, of one that is over unless the link stayed up for ten minutes after it was
// told. What is sent again goes in portions; the next one follows when the network has got rid of the last, so that a
// slow reader with many lobbies is not dropped for what Muster sends it.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/ids.h"
#include "base/time.h"
#include "core/ledger.h"
#include "core/link_table.h"
#include "core/match_table.h"
#include "core/matchmakers.h"
#include "core/records.h"
#include "core/replies.h"
#include "protocol/matchmaker_messages.h"
#include "runtime/pass.h"

namespace muster {

// The event that tells a match's state; none before its server is ready.
std::optional<MatchEventKind> event_of(MatchState state);

// Game thread only. What it is given outlives it.
class MatchNews {
public:
    // Told for so long on a link that still stands: heard.
    static constexpr std::chrono::minutes heard_after{10};
    // A matchmaker that stays away is not waited for longer, and no more than so many lobbies wait in all.
    static constexpr std::chrono::hours kept{24};
    static constexpr std::size_t lobbies_max = 250'000;
    // Bytes of a portion, half of the least that `limits.unsent_bytes` can be; and matches that are looked at for it.
    static constexpr std::size_t portion_bytes = 32 * 1024;
    static constexpr std::size_t portion_matches = 5'000;

    // All of them outlive it.
    struct Parts {
        LinkTable& links;
        Replies& replies;
        const Matchmakers& matchmakers;
        const MatchTable& matches;
        Ledger& ledger;
    };
    explicit MatchNews(const Parts& parts, std::size_t portion = portion_bytes)
        : links_(parts.links),
          replies_(parts.replies),
          matchmakers_(parts.matchmakers),
          matches_(parts.matches),
          ledger_(parts.ledger),
          portion_(portion) {}

    // Matches that were over in the last run, with an event that may not have been heard.
    void recover(const Pass& pass, std::span<const MatchRecord> matches);

    // The match has come this far: sent if its matchmaker is there.
    void tell(const MatchRecord& match);
    // The same for a match that is over; remembered until it was heard. On the link `answered` its matchmaker has the
    // event already.
    void tell_over(const Pass& pass, const MatchRecord& match, ConnectionId answered = {});

    // It has shaken hands: it is told all that it may have missed.
    void matchmaker_back(const Matchmaker& matchmaker);
    // The network has got rid of all that the link was sent.
    void drained(ConnectionId link);
    // In every pass: the next portions. How much there was to do.
    std::size_t update(const Pass& pass);
    // Now and then: what was heard, or is too old, is forgotten.
    void prune(const Pass& pass);

    // Lobbies that are over and wait to be heard of; and those given up because too many did, or for too long.
    std::size_t size() const { return size_; }
    std::uint64_t dropped() const { return dropped_; }

private:
    struct Over {
        LobbyId lobby;
        MatchEventKind kind = MatchEventKind::ended;
        std::string reason;
        UnixMs at;
        Time noted{};       // in this run, real time: a date that is wrong for a while makes nothing old (fault 18)
        Time told{};        // real time
        ConnectionId link;  // that it was told on
    };
    // What is told again after a handshake: first the lobbies that live, then those that are over.
    struct Again {
        ConnectionId link;
        bool draining = false;  // the last portion is on its way
        LobbyId last_alive;     // told so far, by ascending lobby
        bool alive_done = false;
        std::uint64_t next_over = 0;
    };
    struct OfMatchmaker {
        std::deque<Over> over;         // oldest first
        std::uint64_t first_over = 0;  // the number of the first of them
    };

    // Null when it is away, or has had our last word.
    const Link* link_of(std::string_view matchmaker) const;
    void send(ConnectionId link, LobbyId lobby, MatchEventKind kind, std::string_view reason);
    std::size_t tell_again(const Pass& pass, const std::string& matchmaker, Again& again);
    void forget_oldest(OfMatchmaker& of);
    void drop_beyond_limit();

    LinkTable& links_;
    Replies& replies_;
    const Matchmakers& matchmakers_;
    const MatchTable& matches_;
    Ledger& ledger_;
    const std::size_t portion_;
    std::map<std::string, OfMatchmaker, std::less<>> by_matchmaker_;
    std::map<std::string, Again, std::less<>> again_;
    std::size_t size_ = 0;
    std::uint64_t dropped_ = 0;
};

}  // namespace muster
