#include "sim/court.h"

#include <algorithm>
#include <type_traits>
#include <utility>

#include <fmt/format.h>

#include "protocol/codec.h"
#include "protocol/dispatch.h"
#include "protocol/messages.h"
#include "sim/trace_subject.h"

namespace muster::sim {
namespace {

using namespace std::chrono_literals;

// Core's state is looked at after each pass in which something happened, and this often when nothing does.
constexpr Duration look_every = 1s;

// Muster's side of a message's direction.
template <class M>
constexpr bool is_said = M::direction == Direction::out;
template <>
constexpr bool is_said<GameMessage> = false;

Code code_of(Port port, std::span<const std::byte> frame) {
    const std::byte* at = frame.data() + sizeof(std::uint16_t);
    return default_byte_order(port) == ByteOrder::big ? wire::get<ByteOrder::big, Code>(at)
                                                      : wire::get<ByteOrder::little, Code>(at);
}

// Events that are about a player alone.
template <class E>
constexpr bool is_of_player = std::is_same_v<E, event::PlayerLogin> || std::is_same_v<E, event::PlayerResumed> ||
                              std::is_same_v<E, event::PlayerIdle> || std::is_same_v<E, event::PlayerActive> ||
                              std::is_same_v<E, event::PlayerClosed> || std::is_same_v<E, event::EntityDeleted>;

}  // namespace

Court::Court(Trace& trace, const Rules& rules)
    : trace_(trace),
      registry_(objections_),
      slots_(objections_, registry_),
      fleet_(objections_, registry_, slots_),
      tokens_(objections_, registry_, slots_),
      verdicts_(objections_, registry_, slots_, tokens_),
      promises_(objections_, registry_, verdicts_),
      notices_(objections_, registry_, slots_, verdicts_),
      players_(objections_, rules),
      keepalive_(objections_, rules, players_),
      clock_(objections_, rules),
      invitations_(objections_, slots_, players_),
      drops_(objections_, registry_, slots_),
      history_(objections_),
      limits_(objections_, rules) {}

// In an order that each may rely on: who is who, then the fleet before the slots forget a match, then the rest.
template <class Hear>
void Court::for_each_judge(Hear hear) {
    hear(registry_);
    hear(promises_);
    hear(fleet_);
    hear(slots_);
    hear(tokens_);
    hear(verdicts_);
    hear(notices_);
    hear(players_);
    hear(keepalive_);
    hear(clock_);
    hear(invitations_);
    hear(drops_);
    hear(history_);
    hear(limits_);
}

void Court::run_began(Time now, Time running, const Core& core) {
    trace_.mix(static_cast<std::uint64_t>(now.time_since_epoch().count()));
    note(now, "Muster starts");
    forget_notes();
    handling_ = -1;
    deferred_.clear();
    timers_left_since_.reset();
    scene_ = Scene{.now = now, .running = running, .cause = 0, .cause_link = 0, .cause_lobby = {}};
    // The slots are known before the fleet is judged.
    registry_.run_began(scene_, core);
    promises_.run_began(scene_, core);
    slots_.run_began(scene_, core);
    fleet_.run_began(scene_, core);
    tokens_.run_began(scene_, core);
    verdicts_.run_began(scene_, core);
    notices_.run_began(scene_, core);
    players_.run_began(scene_, core);
    keepalive_.run_began(scene_, core);
    clock_.run_began(scene_, core);
    invitations_.run_began(scene_, core);
    drops_.run_began(scene_, core);
    registry_.clear_touched();
}

void Court::run_ended(Time now, std::string_view how) {
    trace_.mix(how);
    note(now, fmt::format("Muster {}", how));
    for_each_judge([&](auto& judge) { judge.run_ended(now); });
}

void Court::durable(Time now, const RecordBatch& batch) {
    trace_.mix(batch.number);
    trace_.mix(batch.records.size());
    for_each_judge([&](auto& judge) { judge.durable(now, batch); });
    if (!trace_.readable()) return;
    for (const Record& record : batch.records) {
        if (const auto* match = std::get_if<MatchRecord>(&record)) {
            constexpr std::string_view states[] = {"offering", "allocated", "ready", "started", "ended", "aborted"};
            note(now,
                 fmt::format("  disk: batch {} has lobby {} {} on server {}, untold event {}", batch.number,
                             match->lobby.value, states[static_cast<std::size_t>(match->state)], match->server.value,
                             match->untold_event),
                 match->lobby, match->server);
        } else if (const auto* forgotten = std::get_if<MatchForgotten>(&record)) {
            note(now, fmt::format("  disk: batch {} forgets lobby {}", batch.number, forgotten->lobby.value),
                 forgotten->lobby);
        } else if (const auto* use = std::get_if<TokenUsed>(&record)) {
            note(now,
                 fmt::format("  disk: batch {} has account {} in lobby {}", batch.number, use->account.value,
                             use->lobby.value),
                 use->lobby);
        } else if (const auto* released = std::get_if<TokenReleased>(&record)) {
            note(now,
                 fmt::format("  disk: batch {} takes account {} out of lobby {}", batch.number, released->account.value,
                             released->lobby.value),
                 released->lobby);
        } else if (const auto* list = std::get_if<PlayersRecord>(&record)) {
            note(now,
                 fmt::format("  disk: batch {} has a list of {} players of lobby {}", batch.number,
                             list->accounts.size(), list->lobby.value),
                 list->lobby);
        } else if (const auto* none = std::get_if<PlayersForgotten>(&record)) {
            note(now,
                 fmt::format("  disk: batch {} has no list of players of lobby {}", batch.number, none->lobby.value),
                 none->lobby);
        } else if (const auto* server = std::get_if<ServerRecord>(&record)) {
            note(now,
                 fmt::format("  disk: batch {} has server {} epoch {}", batch.number, server->id.value, server->epoch),
                 {}, server->id);
        } else if (const auto* removed = std::get_if<ServerRemoved>(&record)) {
            note(now, fmt::format("  disk: batch {} removes server {}", batch.number, removed->id.value), {},
                 removed->id);
        }
    }
}

void Court::pruned(Time now, const std::map<std::int64_t, EventRecord>& events) {
    for_each_judge([&](auto& judge) { judge.pruned(now, events); });
}

void Court::forget_notes() {
    notes_.clear();
    bytes_.clear();
    wishes_.clear();
    events_.clear();
    players_only_ = true;
}

Court::Note& Court::add(Kind kind, LinkNumber link, Port port, std::uint64_t published) {
    Note& note = notes_.emplace_back();
    note.kind = kind;
    note.port = port;
    note.link = link;
    note.published = published;
    note.cause = handling_;
    players_only_ = players_only_ && port == Port::players;
    return note;
}

void Court::add_bytes(Note& note, std::span<const std::byte> payload) {
    note.begin = static_cast<std::uint32_t>(bytes_.size());
    note.size = static_cast<std::uint32_t>(payload.size());
    bytes_.insert(bytes_.end(), payload.begin(), payload.end());
}

// Not of players: all that there is is judged after it.
void Court::add_wish(Kind kind, const Wish& wish, std::uint64_t published) {
    add(kind, 0, Port::servers, published).begin = static_cast<std::uint32_t>(wishes_.size());
    wishes_.push_back(wish);
}

void Court::heard(LinkNumber link, Port port, Code code, std::span<const std::byte> payload, std::uint64_t published) {
    Note& note = add(Kind::heard, link, port, published);
    note.code = code;
    note.until = ~std::uint64_t{0};
    add_bytes(note, payload);
    handling_ = static_cast<std::int32_t>(notes_.size()) - 1;
    note.cause = handling_;
}

void Court::handled(std::uint64_t published) {
    if (handling_ >= 0) notes_[static_cast<std::size_t>(handling_)].until = published;
    handling_ = -1;
}

void Court::said(LinkNumber link, Port port, std::span<const std::byte> frame, std::uint64_t published) {
    Note& note = add(Kind::said, link, port, published);
    note.code = code_of(port, frame);
    add_bytes(note, frame.subspan(frame_head_size));
}

void Court::opened(LinkNumber link, Port port, std::uint64_t published) {
    add(Kind::opened, link, port, published);
}

void Court::closed(LinkNumber link, Port port, std::uint64_t published) {
    add(Kind::closed, link, port, published);
}

void Court::close_asked(LinkNumber link, Port port, std::uint64_t published) {
    add(Kind::close_asked, link, port, published);
}

void Court::drained(const OperatorDrain& wish, std::uint64_t published) {
    add_wish(Kind::drained, wish, published);
}

void Court::kicked(AccountId player, std::uint64_t published) {
    add_wish(Kind::kicked, player, published);
}

void Court::clock_set(const OperatorClock& wish, std::uint64_t published) {
    add_wish(Kind::clock_set, wish, published);
}

void Court::shut_down(std::uint64_t published) {
    add(Kind::shut_down, 0, Port::servers, published);
}

template <class E>
bool Court::keep_if(const EventView& view) {
    const E* event = view.as<E>();
    if (!event) return false;
    events_.push_back({view.sequence(), *event});
    players_only_ = players_only_ && is_of_player<E>;
    return true;
}

template <class... E>
void Court::keep_any_of(const EventView& view, const std::variant<E...>* /*kept*/) {
    static_cast<void>((keep_if<E>(view) || ...));
}

void Court::happened(const EventView& view) {
    keep_any_of(view, static_cast<const Event*>(nullptr));
}

void Court::pass_ended(Time now, Time running, const Core& core, const LeftByPass& left) {
    limits_.events_wait(now, left.events);
    if (objections_.first()) return;
    if (!left.timers) timers_left_since_.reset();
    if (left.timers && !timers_left_since_) timers_left_since_ = running;
    scene_.timers_left = timers_left_since_ && running - *timers_left_since_ <= lateness_max;
    if (left.events > 0) return deferred_.push_back({notes_.size(), now, running});
    // Each note is judged by the time of its own pass.
    deferred_.push_back({notes_.size(), now, running});
    auto pass = deferred_.begin();
    const auto set_time = [&] {
        scene_.now = pass->now;
        scene_.running = pass->running;
    };
    const auto set_time_of = [&](std::size_t note) {
        for (; pass + 1 != deferred_.end() && note >= pass->notes; set_time()) {
            clock_.told_in_pass(scene_);
            ++pass;
        }
    };
    set_time();
    const bool quiet = notes_.empty() && events_.empty();
    const bool players_only = players_only_;
    judging_ = true;
    auto event = events_.begin();
    std::int32_t last_heard = -1;
    const auto judge_events_until = [&](std::uint64_t sequence) {
        for (; event != events_.end() && event->sequence <= sequence; ++event) {
            const bool caused =
                last_heard >= 0 && event->sequence <= notes_[static_cast<std::size_t>(last_heard)].until;
            set_cause(caused ? last_heard : -1);
            judge_event(event->event);
        }
    };
    for (std::size_t i = 0; i < notes_.size(); ++i) {
        judge_events_until(notes_[i].published);
        set_time_of(i);
        if (notes_[i].kind == Kind::heard) last_heard = static_cast<std::int32_t>(i);
        set_cause(notes_[i].cause);
        judge_note(notes_[i]);
    }
    judge_events_until(~std::uint64_t{0});
    set_time_of(notes_.size());
    judging_ = false;
    set_cause(-1);
    deferred_.clear();
    scene_.now = now;
    scene_.running = running;
    forget_notes();
    if (quiet && now - judged_at_ < look_every) return;
    judged_at_ = now;
    // What only players said changes nothing for the fleet and its matches.
    if (players_only && now - judged_all_at_ < look_every) {
        players_.pass_ended(scene_, core);
        keepalive_.pass_ended(scene_, core);
        clock_.pass_ended(scene_, core);
        invitations_.pass_ended(scene_, core);
        return limits_.pass_ended(scene_, core);
    }
    judged_all_at_ = now;
    for_each_judge([&](auto& judge) { judge.pass_ended(scene_, core); });
    registry_.clear_touched();
}

void Court::set_cause(std::int32_t cause) {
    if (std::exchange(cause_, cause) == cause) return;
    scene_.cause = 0;
    scene_.cause_link = 0;
    scene_.cause_lobby = {};
    if (cause < 0) return;
    const Note& note = notes_[static_cast<std::size_t>(cause)];
    scene_.cause = note.code;
    scene_.cause_link = note.link;
    if (note.code != AllocationRequest::code || note.port != Port::matchmakers) return;
    if (const auto request = decode<AllocationRequest>(bytes_of(note), ByteOrder::little))
        scene_.cause_lobby = request->lobby;
}

std::span<const std::byte> Court::bytes_of(const Note& note) const {
    return note.size == 0 ? std::span<const std::byte>() : std::span(bytes_).subspan(note.begin, note.size);
}

void Court::judge_note(const Note& note) {
    trace_.mix(static_cast<std::uint64_t>(scene_.now.time_since_epoch().count()));
    trace_.mix(static_cast<std::uint64_t>(note.kind) << 48 | static_cast<std::uint64_t>(note.code) << 32 | note.link);
    const auto payload = bytes_of(note);
    trace_.mix(payload);
    switch (note.kind) {
        case Kind::heard:
        case Kind::said:
            return judge_message(note);
        case Kind::opened:
            return for_each_judge([&](auto& judge) { judge.opened(scene_, note.link, note.port); });
        case Kind::closed:
            if (trace_.readable()) this->note(scene_.now, fmt::format("-> link {:<3} closed", note.link));
            return for_each_judge([&](auto& judge) { judge.closed(scene_, note.link); });
        case Kind::close_asked:
            if (trace_.readable()) this->note(scene_.now, fmt::format("<- link {:<3} close", note.link));
            return for_each_judge([&](auto& judge) { judge.close_asked(scene_, note.link); });
        case Kind::drained:
            return judge_drain(wish_of<OperatorDrain>(note));
        case Kind::kicked:
            this->note(scene_.now, fmt::format("operator: kick player {}", wish_of<AccountId>(note).value));
            return for_each_judge([&](auto& judge) { judge.kicked(scene_, wish_of<AccountId>(note)); });
        case Kind::clock_set:
            this->note(scene_.now, "operator: set the clock");
            return for_each_judge([&](auto& judge) { judge.clock_set(scene_, wish_of<OperatorClock>(note)); });
        case Kind::shut_down:
            return for_each_judge([&](auto& judge) { judge.shut_down(scene_); });
    }
}

void Court::judge_drain(const OperatorDrain& wish) {
    note(scene_.now, fmt::format("operator: {} server {}", wish.draining ? "drain" : "undrain", wish.server.value), {},
         wish.server);
    for_each_judge([&](auto& judge) { judge.drained(scene_, wish); });
}

void Court::judge_message(const Note& note) {
    const bool in = note.kind == Kind::heard;
    const auto payload = bytes_of(note);
    const auto tell = [&]<class M>(const M& message) {
        if (trace_.readable()) {
            const KnownServer* speaker = registry_.speaker(note.link);
            ServerId server = server_in(message);
            if (server.value == 0 && speaker) server = speaker->id;
            this->note(scene_.now, fmt::format("{} link {:<3} {}", in ? "->" : "<-", note.link, trace_text(message)),
                       lobby_in(message), server);
        }
        for_each_judge([&](auto& judge) {
            if constexpr (is_said<M>) {
                judge.said(scene_, note.link, message);
            } else {
                judge.heard(scene_, note.link, message);
            }
        });
    };
    const auto visit = [&]<Port At>() {
        const ByteOrder order = default_byte_order(At);
        return in ? visit_inbound<At>(order, note.code, payload, tell)
                  : visit_outbound<At>(order, note.code, payload, tell);
    };
    const Result<void, WireError> known = note.port == Port::servers       ? visit.operator()<Port::servers>()
                                          : note.port == Port::matchmakers ? visit.operator()<Port::matchmakers>()
                                                                           : visit.operator()<Port::players>();
    if (known || in) return;
    objections_.add({"W-4",
                     fmt::format("Muster sends {:#x}, which is no message: {}", note.code, to_string(known.error())),
                     {},
                     {},
                     scene_.now});
}

void Court::judge_event(const Event& event) {
    trace_.mix(event.index());
    std::visit(
        [&]<class E>(const E& one) {
            if (trace_.readable())
                note(scene_.now, fmt::format("   {} {}", E::name, trace_text(one)), lobby_in(one), server_in(one));
            for_each_judge([&](auto& judge) { judge.happened(scene_, one); });
        },
        event);
}

void Court::note(Time now, std::string text, LobbyId lobby, ServerId server) {
    const bool general = lobby.value == 0 && server.value == 0 && !judging_;
    trace_.line({now, lobby, server, std::move(text), general});
}

}  // namespace muster::sim
