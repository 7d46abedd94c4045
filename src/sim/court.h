// Where all judges sit. It puts what core heard, sent and published into the one order in which it happened, and lets
// each judge hear it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <variant>
#include <vector>

#include "core/core.h"
#include "core/events.h"
#include "protocol/port.h"
#include "runtime/events.h"
#include "sim/clock_judge.h"
#include "sim/drop_judge.h"
#include "sim/fleet_judge.h"
#include "sim/history_judge.h"
#include "sim/invitation_judge.h"
#include "sim/judge.h"
#include "sim/keepalive_judge.h"
#include "sim/limit_judge.h"
#include "sim/notice_judge.h"
#include "sim/player_judge.h"
#include "sim/promise_judge.h"
#include "sim/registry.h"
#include "sim/rules.h"
#include "sim/slot_judge.h"
#include "sim/token_judge.h"
#include "sim/trace.h"
#include "sim/verdict_judge.h"

namespace muster::sim {

// What a pass did not get to.
struct LeftByPass {
    std::size_t events = 0;
    bool timers = false;  // some that are due
};

// One thread. During a pass it only notes; when the pass is over it judges.
//
// Core's events are handled after the messages that caused them. Each has its number, and each note remembers how many
// events had been published before it: so the two merge into the exact order again.
class Court {
public:
    Court(Trace& trace, const Rules& rules);

    // A run of Muster begins or is over.
    void run_began(Time now, Time running, const Core& core);
    void run_ended(Time now, std::string_view how);
    void durable(Time now, const RecordBatch& batch);
    void pruned(Time now, const std::map<std::int64_t, EventRecord>& events);

    // Notes during a pass. `published` is how many events core has published so far.
    void heard(LinkNumber link, Port port, Code code, std::span<const std::byte> payload, std::uint64_t published);
    void handled(std::uint64_t published);
    void said(LinkNumber link, Port port, std::span<const std::byte> frame, std::uint64_t published);
    void opened(LinkNumber link, Port port, std::uint64_t published);
    void closed(LinkNumber link, Port port, std::uint64_t published);
    void close_asked(LinkNumber link, Port port, std::uint64_t published);
    void drained(const OperatorDrain& wish, std::uint64_t published);
    void kicked(AccountId player, std::uint64_t published);
    void clock_set(const OperatorClock& wish, std::uint64_t published);
    void shut_down(std::uint64_t published);
    void happened(const EventView& view);

    // The pass is over. Nothing is judged while events still wait for the next pass.
    void pass_ended(Time now, Time running, const Core& core, const LeftByPass& left);

    // For the trace: a fault, or what somebody outside did.
    void note(Time now, std::string text, LobbyId lobby = {}, ServerId server = {});
    void object(Objection objection) { objections_.add(std::move(objection)); }

    const Objections& objections() const { return objections_; }
    const Registry& registry() const { return registry_; }
    const SlotJudge& slots() const { return slots_; }
    const VerdictJudge& verdicts() const { return verdicts_; }
    const NoticeJudge& notices() const { return notices_; }
    const PromiseJudge& promises() const { return promises_; }
    const FleetJudge& fleet() const { return fleet_; }
    const PlayerJudge& players() const { return players_; }
    const KeepaliveJudge& keepalive() const { return keepalive_; }
    const ClockJudge& clock() const { return clock_; }
    const InvitationJudge& invitations() const { return invitations_; }
    TokenJudge& tokens() { return tokens_; }
    const TokenJudge& tokens() const { return tokens_; }

private:
    enum class Kind : std::uint8_t {
        heard,
        said,
        opened,
        closed,
        close_asked,
        drained,
        kicked,
        clock_set,
        shut_down,
    };

    struct Note {
        Kind kind = Kind::heard;
        Port port = Port::servers;
        Code code = 0;
        LinkNumber link = 0;
        std::uint32_t begin = 0;  // of its bytes in bytes_; of a wish, its index in wishes_
        std::uint32_t size = 0;
        std::int32_t cause = -1;  // the frame that core was handling: an index of notes_
        std::uint64_t published = 0;
        std::uint64_t until = 0;  // of a frame heard: events published when it was handled
    };
    // What an operator wished, or whom he kicked.
    using Wish = std::variant<OperatorDrain, OperatorClock, AccountId>;
    using Event = std::variant<event::ServerRegistered, event::ServerResumed, event::ServerOffline,
                               event::ServerRemoved, event::MatchOffered, event::MatchDeclined, event::MatchAllocated,
                               event::MatchRefused, event::MatchReady, event::MatchStarted, event::MatchEnded,
                               event::MatchAborted, event::BrakeOn, event::PlayerLogin, event::PlayerResumed,
                               event::PlayerIdle, event::PlayerActive, event::PlayerClosed, event::EntityDeleted>;
    struct Published {
        std::uint64_t sequence = 0;
        Event event;
    };

    // A pass whose notes are judged later, since events of it still wait.
    struct Deferred {
        std::size_t notes = 0;  // up to this one
        Time now;
        Time running;
    };

    Note& add(Kind kind, LinkNumber link, Port port, std::uint64_t published);
    void add_bytes(Note& note, std::span<const std::byte> payload);
    void add_wish(Kind kind, const Wish& wish, std::uint64_t published);
    template <class W>
    const W& wish_of(const Note& note) const {
        return std::get<W>(wishes_[note.begin]);
    }
    std::span<const std::byte> bytes_of(const Note& note) const;
    void forget_notes();
    template <class E>
    bool keep_if(const EventView& view);
    template <class... E>
    void keep_any_of(const EventView& view, const std::variant<E...>* /*kept*/);
    void judge_note(const Note& note);
    void judge_drain(const OperatorDrain& wish);
    void judge_message(const Note& note);
    void judge_event(const Event& event);
    void set_cause(std::int32_t cause);
    template <class Hear>
    void for_each_judge(Hear hear);

    Trace& trace_;
    Objections objections_;
    Registry registry_;
    SlotJudge slots_;
    FleetJudge fleet_;
    TokenJudge tokens_;
    VerdictJudge verdicts_;
    PromiseJudge promises_;
    NoticeJudge notices_;
    PlayerJudge players_;
    KeepaliveJudge keepalive_;
    ClockJudge clock_;
    InvitationJudge invitations_;
    DropJudge drops_;
    HistoryJudge history_;
    LimitJudge limits_;

    Scene scene_;
    std::vector<Note> notes_;
    std::vector<std::byte> bytes_;
    std::vector<Wish> wishes_;
    std::vector<Published> events_;
    std::int32_t handling_ = -1;
    std::int32_t cause_ = -1;   // the note that scene_ has its cause from
    bool players_only_ = true;  // all of these are about players
    bool judging_ = false;      // what is noted now is part of a pass
    std::vector<Deferred> deferred_;
    std::optional<Time> timers_left_since_;  // each pass has left some since then; running time
    Time judged_at_{};                       // when core's state was last looked at
    Time judged_all_at_{};                   // the same, of all of it
};

}  // namespace muster::sim
