// Judges the world's clock and what players are told of it: a pure function of time and speed, each minute at most
// once, and no client left with a time that is not the world's. Invariant 16; C-1 … C-4.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/followed_clock.h"
#include "sim/id_map.h"
#include "sim/judge.h"
#include "sim/rules.h"

namespace muster::sim {

class ClockJudge final : public Judge {
public:
    ClockJudge(Objections& objections, const Rules& rules) : objections_(objections), rules_(rules) {}

    using Judge::said;

    void said(const Scene& scene, LinkNumber link, const PlayerLoginResponse& answer);
    void said(const Scene& scene, LinkNumber link, const TimeChange& part);
    void said(const Scene& scene, LinkNumber link, const TimeUpdate& whole);
    void said(const Scene& scene, LinkNumber link, const ServerClose& last);
    void opened(const Scene& scene, LinkNumber link, Port port);
    void closed(const Scene& scene, LinkNumber link);
    void close_asked(const Scene& scene, LinkNumber link);
    void clock_set(const Scene& scene, const OperatorClock& wish);
    void durable(Time now, const RecordBatch& batch);
    void run_began(const Scene& scene, const Core& core);
    void pass_ended(const Scene& scene, const Core& core);
    // The messages of a pass are over; of one whose other notes are judged with a later one, only this is said.
    void told_in_pass(const Scene& scene);

    // Messages about the time that players were sent.
    std::uint64_t told() const { return told_; }

private:
    // A player's client, as far as its clock goes.
    struct Client {
        FollowedClock clock;
        bool logged_in = false;
        Time welcomed{};                      // when its login was answered
        std::vector<TimeChange> parts;        // of this pass
        int wholes = 0;                       // the same
        std::optional<std::int64_t> told;     // the last minute that it was told without asking
        std::optional<std::int64_t> showing;  // the minute at the last message
        Time told_at{};
    };

    std::int64_t elapsed_at(Time now) const;  // game nanoseconds
    std::int64_t minute_at(Time now) const;
    Time begin_of(std::int64_t minute) const;
    const GameTime& shown(Time now);
    void judge_told(const Scene& scene, Client& client);
    void judge_form(const Scene& scene, const Client& client, const GameTime& now);
    void judge_silence(const Scene& scene, const Client& client);
    // From when on it must have heard more than it has.
    Time late_from(const Scene& scene, const Client& client) const;
    void tell(LinkNumber link, const Client& client);
    void object(const Scene& scene, std::string rule, std::string what);

    Objections& objections_;
    const Rules rules_;
    IdMap<LinkNumber, Client> clients_;
    std::optional<ClockRecord> stored_;
    // It showed `elapsed_` at `known_at_`.
    Time known_at_{};
    std::int64_t elapsed_ = 0;
    std::int32_t speed_ = 1;
    std::optional<Time> jumped_;  // the last moment at which an operator set it
    // What it shows, and until when.
    GameTime shown_;
    Time shown_from_{};
    Time shown_until_{};
    std::uint64_t told_ = 0;
    std::vector<LinkNumber> told_now_;  // in this pass
    Time none_late_until_{};            // no client has to have heard anything more before
};

}  // namespace muster::sim
