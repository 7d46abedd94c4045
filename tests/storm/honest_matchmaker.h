// A matchmaker as it should be: it asks for servers, asks again when an answer was lost, cancels now and then, and
// keeps count of what became of its lobbies. Sometimes it dies with unread news.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <span>
#include <string>

#include "protocol/matchmaker_messages.h"
#include "protocol/port.h"
#include "stage.h"

namespace muster::storm {

// One thread, that of the links.
class HonestMatchmaker {
public:
    static constexpr std::uint32_t address = 0x7F00'000C;

    struct Manner {
        std::size_t number = 0;
        std::size_t of = 1;  // matchmakers in all; their lobbies interleave
        Span ask_every = 100ms;
        bool unread_deaths = true;  // it dies with unread news now and then
        std::int32_t accounts = 1;  // players' accounts are first_account … + accounts − 1
    };

    HonestMatchmaker(Stage& stage, const Manner& manner, std::size_t link);

    void come(Span most);
    void opened();
    void frame(Code code, std::span<const std::byte> payload);
    void closed();

    // No new lobbies; those that are there are played to their end.
    void rest() { resting_ = true; }
    // Takes a match back, if it is there.
    void cancel(std::int32_t lobby);

    bool registered() const { return heard_since_.has_value(); }
    // When it shook hands; nothing while it is away.
    std::optional<Moment> heard_since() const { return heard_since_; }
    void sweep(Moment at) const;

private:
    void connect();
    void unlinked();
    void die_with_unread_news();
    void welcomed(const MatchmakerHandshakeResponse& answer);
    void beat();
    void ask_for_new();
    void ask(std::int32_t lobby);
    void accepted(const AllocationResponse::Accepted& answer);
    void refused(std::int32_t lobby, std::string_view why);
    void later(Span least, Span most, std::function<void()> deed);
    std::string name() const;

    Stage& stage_;
    const Manner manner_;
    const std::size_t link_;
    std::uint64_t visit_ = 0;
    std::int32_t next_lobby_;
    std::optional<Moment> away_since_;
    std::optional<Moment> heard_since_;
    Moment came_;
    std::deque<Moment> beats_;
    bool resting_ = false;
};

}  // namespace muster::storm
