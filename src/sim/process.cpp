#include "sim/process.h"

#include <algorithm>
#include <stdexcept>
#include <utility>
#include <variant>

#include "base/check.h"
#include "net/net_source.h"
#include "protocol/frame_reader.h"

namespace muster::sim {
namespace {

using namespace std::chrono_literals;

constexpr Duration look_at_date_every = 1s;
constexpr Duration worker_late_by = 700us;
constexpr std::uint16_t length_most = 65535;  // of a frame that core sends
constexpr std::size_t commands_max = 1'024;
constexpr std::size_t outcomes_max = 65'536;

}  // namespace

CoreConfig Process::config(const Rules& rules) {
    constexpr std::array names{"EU", "USE", "RU"};
    CoreConfig config;
    for (std::size_t i = 0; i < region_ids.size(); ++i) config.fleet.regions.push_back({region_ids[i], names[i]});
    config.matchmakers.regions = config.fleet.regions;
    config.server_token = [](std::string_view token) { return token == server_secret; };
    config.matchmaker_token = [](std::string_view token) { return token == matchmaker_secret; };
    config.player_credential = [](std::string_view, std::string_view, UnixMs) {
        return Result<std::optional<AccountId>, Refusal>(std::nullopt);
    };
    config.players = {.ping_interval = rules.ping_interval,
                      .ping_timeout = rules.ping_timeout,
                      .idle_after = rules.idle_after,
                      .idle_kick_after = rules.idle_kick_after,
                      .resume_grace = rules.resume_grace,
                      .heartbeats = {rules.heartbeats, rules.heartbeat_interval, rules.heartbeats_failed_max}};
    config.world = {rules.clock_start, rules.clock_speed};
    config.matches.in_flight_max = rules.requests_max;
    config.matches.news_portion = rules.news_portion;
    config.ledger = rules.ledger;
    return config;
}

// Often a pass takes a few messages only, so that what is left over comes in the next; else all, as the daemon does.
LoopConfig Process::loop_config(Random& random) {
    LoopConfig config;
    if (random.chance(0.5)) return config;
    config.share_least = static_cast<std::size_t>(random.between(1, 3));
    config.messages_max = static_cast<std::size_t>(random.between(1, 8));
    config.callbacks_max = static_cast<std::size_t>(random.between(20, 100));
    return config;
}

Process::Process(Parts parts, std::uint64_t seed, RecoveredState recovered)
    : parts_(std::move(parts)),
      random_(seed),
      log_(parts_.clock, no_log_, LogLevel::error),
      gateway_(parts_.clock, parts_.network, parts_.gateway, Random(random_.next())),
      loop_(parts_.clock, log_, loop_config(random_)),
      loop_events_(&loop_.events()),
      core_(config(parts_.rules),
            Core::Parts{loop_, log_, *this, *this, parts_.entropy, parts_.clock, parts_.clock.wall()},
            std::move(recovered)),
      commands_("commands", commands_max, waiter_,
                [this](const Pass& pass, Command& command) {
                    parts_.at_point(PassPoint::message);
                    command(pass);
                    // Noted where they are given, before anything else happens to their matches.
                    for (const AnsweredQuestion& answered : core_.take_answered()) answered_over_http(pass, answered);
                }),
      outcomes_("store", outcomes_max, waiter_, [this](const Pass& pass, BatchOutcome& outcome) {
          core_.store_outcome(pass, std::move(outcome));
          for (const AnsweredQuestion& answered : core_.take_answered()) answered_over_http(pass, answered);
      }) {
    loop_.add_source(commands_);
    loop_.add_source(outcomes_);
    for (const Port port : ports) {
        auto& source = sources_[static_cast<std::size_t>(port)];
        source = std::make_unique<NetSource<Process, StoppableNet>>(net_, port, *this);
        loop_.add_source(*source);
    }
    loop_.on_flush([this](const Pass& pass) {
        parts_.at_point(PassPoint::flush);
        core_.end_of_pass(pass);
        for (const AnsweredQuestion& answered : core_.take_answered()) answered_over_http(pass, answered);
        // Judged by the time of this pass, also when it was stopped: then the clock is ahead of it.
        parts_.court.pass_ended(pass.now, pass.running, core_,
                                {.events = loop_.events().waiting(), .timers = loop_.timers().has_due()});
    });
    loop_.events().subscribe_all([this](const EventView& event) {
        parts_.at_point(PassPoint::event);
        parts_.court.happened(event);
    });
    loop_.timers().start({.first_delay = look_at_date_every, .interval = look_at_date_every},
                         [this](const TimerFired& fired) {
                             parts_.at_point(PassPoint::timer);
                             core_.observe_wall(fired.pass, parts_.clock.wall());
                         });
    parts_.court.run_began(loop_.time().now(), loop_.time().running(), core_);
}

void Process::StoppableNet::turn_without_thread() {
    process.parts_.at_point(PassPoint::reading);
    process.gateway_.turn_without_thread();
}

void Process::StoppableNet::catch_up() {
    process.parts_.at_point(PassPoint::catching_up);
    process.gateway_.catch_up();
}

void Process::command(Command command) {
    // A full queue refuses, and whoever asked is told so.
    static_cast<void>(commands_.post(std::move(command)));
}

void Process::outcome(BatchOutcome outcome) {
    MUSTER_CHECK(outcomes_.post(std::move(outcome)), "every outcome has room");
}

void Process::drain(const OperatorDrain& wish) {
    command([this, wish](const Pass&) {
        parts_.court.drained(wish, published());
        core_.drain(wish.server, wish.draining);
    });
}

void Process::abort(LobbyId lobby) {
    command([this, lobby](const Pass& pass) { core_.abort_match(pass, lobby, ""); });
}

void Process::kick(AccountId player) {
    command([this, player](const Pass& pass) {
        parts_.court.kicked(player, published());
        core_.kick(pass, player, "");
    });
}

void Process::remove_server(ServerId server) {
    command([this, server](const Pass& pass) { core_.remove_server(pass, server); });
}

void Process::set_clock(const OperatorClock& wish) {
    command([this, wish](const Pass& pass) {
        parts_.court.clock_set(wish, published());
        core_.set_clock(pass, wish.time, wish.speed);
    });
}

void Process::shut_down() {
    command([this](const Pass& pass) {
        parts_.court.shut_down(published());
        core_.shut_down(pass);
    });
}

// To the judges the API is a matchmaker with a link of its own that never ends.
template <class M>
void Process::heard_over_http(const M& question) {
    std::vector<std::byte> frame;
    encode(question, ByteOrder::little, frame);
    parts_.court.heard(api_link, Port::matchmakers, M::code, std::span(frame).subspan(frame_head_size), published());
}

void Process::ask(const AllocationRequest& request) {
    command([this, request](const Pass& pass) {
        const std::uint64_t number = next_question_++;
        asked_[number] = {request.lobby, false};
        heard_over_http(request);
        core_.allocate(pass, {number}, request);
        parts_.court.handled(published());
    });
}

void Process::ask(const MatchPlayers& list) {
    command([this, list = MatchPlayers(list)](const Pass& pass) {
        const std::uint64_t number = next_question_++;
        asked_[number] = {list.lobby, true};
        heard_over_http(list);
        core_.set_players(pass, {number}, list);
        parts_.court.handled(published());
    });
}

void Process::cancel(LobbyId lobby, std::string reason) {
    command(
        [this, lobby, reason = std::move(reason)](const Pass& pass) { core_.cancel_match(pass, {}, lobby, reason); });
}

void Process::answered_over_http(const Pass& pass, const AnsweredQuestion& answered) {
    const auto asked = asked_.find(answered.number);
    if (asked == asked_.end()) {
        return parts_.court.object(
            {"invariant 4", "a question over HTTP is answered that nobody asked, or twice", {}, {}, pass.now});
    }
    const auto [lobby, list] = asked->second;
    asked_.erase(asked);
    std::vector<std::byte> frame;
    const auto put = [&]<class M>(const M& message) { encode(message, ByteOrder::little, frame); };
    const auto refusal = [&] { return LobbyRefused{lobby, ErrorText(text(answered.verdict.error()))}; };
    if (list) {
        MatchPlayersResponse response;
        if (answered.verdict) {
            response.answer = LobbyAccepted{lobby};
        } else {
            response.answer = refusal();
        }
        put(response);
    } else {
        AllocationResponse response;
        if (answered.verdict) {
            response.answer = *answered.verdict;
        } else {
            response.answer = refusal();
        }
        put(response);
    }
    parts_.court.said(api_link, Port::matchmakers, frame, published());
}

bool Process::turn() {
    loop_.turn();
    loop_wake_ = loop_.planned();
    if (const LinkNumber cut = gateway_.cut_while_reading(); cut != 0) {
        parts_.court.object(
            {"fault 71", "a link is cut for what Muster sends it, though its peer reads", {}, {}, parts_.clock.now()});
    }
    return flush();
}

std::optional<Time> Process::next_wake() const {
    const Time now = parts_.clock.now();
    const auto waits = [](const auto& source) { return source->depth() > 0; };
    if (commands_.depth() > 0 || outcomes_.depth() > 0 || std::any_of(sources_.begin(), sources_.end(), waits))
        return now;
    std::optional<Time> wake = loop_wake_;
    const auto no_later_than = [&wake](Time time) { wake = wake ? std::min(*wake, time) : time; };
    if (gateway_.has_something()) no_later_than(now + worker_late_by);
    // What the ledger could not hand over is tried again, as the daemon does.
    if (core_.ledger().waiting()) no_later_than(now + Ledger::retry_every);
    return wake;
}

std::optional<Time> Process::planned() const {
    return loop_wake_ ? std::optional(std::max(*loop_wake_, parts_.clock.now())) : std::nullopt;
}

const Process::Known* Process::known(ConnectionId id) const {
    const auto found = known_.find(id.slot);
    const bool is_it = found != known_.end() && found->second.generation == id.generation && found->second.link != 0;
    return is_it ? &found->second : nullptr;
}

bool Process::outlives(ConnectionId id) {
    Known& before = known_[id.slot];
    if (before.generation >= id.generation) return false;
    if (before.link != 0) parts_.court.closed(before.link, before.port, published());
    before = {id.generation, 0, Port::servers};
    return true;
}

void Process::opened(const Pass& pass, ConnectionId id, Port port, const IpAddress& peer, std::string_view name) {
    parts_.at_point(PassPoint::message);
    if (outlives(id)) {
        const LinkNumber link = gateway_.link_of(id);
        known_[id.slot] = {id.generation, link, port};
        parts_.court.opened(link, port, published());
    }
    core_.opened(pass, id, port, peer, name);
}

void Process::frame(const Pass& pass, ConnectionId id, const PeerFrame& frame) {
    parts_.at_point(PassPoint::message);
    const Known* from = known(id);
    if (!from) return core_.frame(pass, id, frame);  // outlived: core has to know by itself
    if (parts_.sabotage.fails(from->link, from->port, frame.code)) throw std::runtime_error("a handler fails");
    parts_.court.heard(from->link, from->port, frame.code, frame.payload, published());
    if (parts_.sabotage.hears(from->link, frame.code, frame.payload)) core_.frame(pass, id, frame);
    parts_.court.handled(published());
}

void Process::malformed(const Pass& pass, ConnectionId id, WireError fault) {
    core_.malformed(pass, id, fault);
}

void Process::gave_up(const Pass& pass, ConnectionId id, LinkFault fault) {
    core_.gave_up(pass, id, fault);
}

void Process::paused(const Pass& pass, ConnectionId id) {
    core_.paused(pass, id);
}

void Process::resumed(const Pass& pass, ConnectionId id) {
    core_.resumed(pass, id);
}

void Process::drained(ConnectionId id) {
    core_.drained(id);
}

void Process::closed(const Pass& pass, ConnectionId id) {
    parts_.at_point(PassPoint::message);
    if (const Known* from = known(id)) {
        parts_.court.closed(from->link, from->port, published());
        known_[id.slot].link = 0;
    } else {
        outlives(id);
    }
    core_.closed(pass, id);
    gateway_.forget(id);
}

void Process::handler_failed(const Pass& pass, ConnectionId id) {
    ++handlers_failed_;
    core_.handler_failed(pass, id);
}

// A broadcast may be several frames at once.
void Process::send(ConnectionId to, std::span<const std::byte> frames) {
    const Known* peer = known(to);
    if (!peer) return;
    for (std::size_t used = 0; used < frames.size();) {
        const FrameSplit split = next_frame(frames.subspan(used), default_byte_order(peer->port), length_most);
        MUSTER_CHECK(split.kind == FrameSplit::Kind::frame, "core sends whole frames");
        const auto frame = frames.subspan(used, split.size);
        parts_.sabotage.send({peer->link, peer->port, split.code, {frame.begin(), frame.end()}}, leaving_);
        used += split.size;
    }
    for (SentFrame& one : leaving_) {
        parts_.court.said(one.link, one.port, one.bytes, published());
        outbox_.push_back(std::move(one));
    }
    leaving_.clear();
}

void Process::report_drained(ConnectionId id) {
    drain_reports_.push_back(id);
}

void Process::greeted(ConnectionId id) {
    if (const Known* peer = known(id)) gateway_.greeted(peer->link);
}

void Process::close(ConnectionId id) {
    const Known* peer = known(id);
    if (!peer) return;
    parts_.court.close_asked(peer->link, peer->port, published());
    outbox_.push_back({peer->link, peer->port, 0, {}});
}

bool Process::submit(RecordBatch&& batch) {
    if (dead_) return true;
    dead_ = !parts_.step();
    return dead_ || parts_.disk.submit(std::move(batch));
}

// The frames of a link leave together, as far as the machine lives to see it.
bool Process::flush() {
    std::vector<std::byte> together;
    for (std::size_t i = 0; i < outbox_.size() && !dead_; ++i) {
        SentFrame& frame = outbox_[i];
        dead_ = !parts_.step();
        if (!dead_ && frame.bytes.empty()) gateway_.close(frame.link);
        if (!dead_ && !frame.bytes.empty()) {
            ++frames_sent_;
            if (together.empty()) {
                together = std::move(frame.bytes);
            } else {
                together.insert(together.end(), frame.bytes.begin(), frame.bytes.end());
            }
        }
        const bool more =
            !dead_ && i + 1 < outbox_.size() && outbox_[i + 1].link == frame.link && !outbox_[i + 1].bytes.empty();
        if (!more && !together.empty()) gateway_.send(frame.link, std::exchange(together, {}));
    }
    outbox_.clear();
    for (const ConnectionId id : std::exchange(drain_reports_, {})) {
        if (const Known* peer = known(id); peer && !dead_) gateway_.report_drained(peer->link);
    }
    return !dead_;
}

}  // namespace muster::sim
