#include "sim/process.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/check.h"
#include "protocol/frame_reader.h"

namespace muster::sim {
namespace {

using namespace std::chrono_literals;

constexpr Duration look_at_date_every = 1s;
constexpr std::uint16_t length_most = 65535;  // of a frame that core sends

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
    return config;
}

Process::Process(Parts parts, std::uint64_t seed, const RecoveredState& recovered)
    : parts_(std::move(parts)),
      random_(seed),
      log_(parts_.clock, no_log_, LogLevel::error),
      loop_(parts_.clock, log_),
      loop_events_(&loop_.events()),
      core_(config(parts_.rules),
            Core::Parts{loop_, log_, *this, *this, parts_.entropy, parts_.clock, parts_.clock.wall()}, recovered) {
    loop_.add_source(*this);
    loop_.on_flush([this](const Pass& pass) { core_.end_of_pass(pass); });
    loop_.events().subscribe_all([this](const EventView& event) { parts_.court.happened(event); });
    loop_.timers().start({.first_delay = look_at_date_every, .interval = look_at_date_every},
                         [this](const TimerFired& fired) { core_.observe_wall(fired.pass, parts_.clock.wall()); });
    parts_.court.run_began(loop_.time().now(), loop_.time().running(), core_);
}

void Process::accepted(LinkNumber link, Port port, const IpAddress& peer) {
    Socket& socket = sockets_[link];
    socket.port = port;
    Inbound& message = inbox_.emplace_back();
    message.kind = Inbound::Kind::opened;
    message.link = link;
    message.port = port;
    message.peer = peer;
}

bool Process::bytes(LinkNumber link, std::span<const std::byte> bytes) {
    const auto found = sockets_.find(link);
    if (found == sockets_.end() || found->second.deaf) return false;
    Socket& socket = found->second;
    socket.arrived.insert(socket.arrived.end(), bytes.begin(), bytes.end());
    std::size_t used = 0;
    while (!socket.deaf) {
        const FrameSplit split = next_frame(std::span(socket.arrived).subspan(used), default_byte_order(socket.port),
                                            default_length_max(socket.port));
        if (split.kind == FrameSplit::Kind::need_more) break;
        Inbound& message = inbox_.emplace_back();
        message.link = link;
        message.port = socket.port;
        if (split.kind == FrameSplit::Kind::error) {
            message.kind = Inbound::Kind::malformed;
            message.fault = split.error;
            socket.deaf = true;
            break;
        }
        message.kind = Inbound::Kind::frame;
        message.code = split.code;
        message.payload.assign(split.payload.begin(), split.payload.end());
        used += split.size;
        ++socket.whole_frames;
    }
    socket.arrived.erase(socket.arrived.begin(), socket.arrived.begin() + static_cast<std::ptrdiff_t>(used));
    return !socket.deaf && !socket.arrived.empty();
}

std::uint64_t Process::whole_frames(LinkNumber link) const {
    const auto found = sockets_.find(link);
    return found == sockets_.end() ? 0 : found->second.whole_frames;
}

void Process::frame_deadline(LinkNumber link, std::uint64_t whole_frames) {
    const auto found = sockets_.find(link);
    if (found == sockets_.end() || found->second.deaf || found->second.whole_frames != whole_frames) return;
    found->second.deaf = true;
    Inbound& message = inbox_.emplace_back();
    message.kind = Inbound::Kind::deadline;
    message.link = link;
    message.given_up = LinkFault::frame_deadline;
}

void Process::ended(LinkNumber link) {
    Inbound& message = inbox_.emplace_back();
    message.kind = Inbound::Kind::closed;
    message.link = link;
}

void Process::handshake_deadline(LinkNumber link) {
    const auto found = sockets_.find(link);
    if (found == sockets_.end() || found->second.greeted) return;
    Inbound& message = inbox_.emplace_back();
    message.kind = Inbound::Kind::deadline;
    message.link = link;
}

void Process::outcome(const BatchOutcome& outcome) {
    Inbound& message = inbox_.emplace_back();
    message.kind = Inbound::Kind::outcome;
    message.outcome = outcome;
}

void Process::drain(const OperatorDrain& wish) {
    Inbound& message = inbox_.emplace_back();
    message.kind = Inbound::Kind::drain;
    message.drain = wish;
}

void Process::abort(LobbyId lobby) {
    Inbound& message = inbox_.emplace_back();
    message.kind = Inbound::Kind::abort;
    message.lobby = lobby;
}

void Process::kick(AccountId player) {
    Inbound& message = inbox_.emplace_back();
    message.kind = Inbound::Kind::kick;
    message.player = player;
}

void Process::set_clock(const OperatorClock& wish) {
    Inbound& message = inbox_.emplace_back();
    message.kind = Inbound::Kind::set_clock;
    message.clock = wish;
}

void Process::shut_down() {
    inbox_.emplace_back().kind = Inbound::Kind::shut_down;
}

bool Process::turn() {
    loop_.turn();
    parts_.court.pass_ended(loop_.time().now(), loop_.time().running(), core_, loop_.events().waiting());
    return flush();
}

std::optional<Time> Process::next_wake() const {
    if (!inbox_.empty()) return parts_.clock.now();
    std::optional<Time> wake = loop_.next_wake();
    // What the ledger could not hand over is tried again, as the daemon does.
    if (core_.ledger().waiting()) {
        const Time retry = parts_.clock.now() + Ledger::retry_every;
        wake = wake ? std::min(*wake, retry) : retry;
    }
    return wake;
}

std::optional<Time> Process::planned() const {
    const std::optional<Time> wake = loop_.next_wake();
    return wake ? std::optional(std::max(*wake, parts_.clock.now())) : std::nullopt;
}

// Often a pass takes one message only, so that each is judged alone; else it takes all there are, as under load.
bool Process::refill() {
    quota_ = random_.chance(0.6) ? 1 : inbox_.size();
    return !inbox_.empty();
}

bool Process::handle_next(const Pass& pass) {
    if (inbox_.empty() || quota_ == 0) return false;
    --quota_;
    const Inbound message = std::move(inbox_.front());
    inbox_.pop_front();
    handle(pass, message);
    return true;
}

void Process::handle(const Pass& pass, const Inbound& message) {
    const auto socket = sockets_.find(message.link);
    const bool has_link = socket != sockets_.end() && socket->second.id.generation != 0;
    switch (message.kind) {
        case Inbound::Kind::opened:
            return open_socket(pass, message);
        case Inbound::Kind::frame:
            if (!has_link) return;
            parts_.court.heard(message.link, message.port, message.code, message.payload, published());
            if (parts_.sabotage.hears(message.link, message.code, message.payload)) {
                core_.frame(pass, socket->second.id, PeerFrame{message.code, message.payload, pass.now, 0});
            }
            return parts_.court.handled(published());
        case Inbound::Kind::malformed:
            if (has_link) core_.malformed(pass, socket->second.id, message.fault);
            return;
        case Inbound::Kind::deadline:
            if (has_link && (!socket->second.greeted || message.given_up == LinkFault::frame_deadline))
                core_.gave_up(pass, socket->second.id, message.given_up);
            return;
        case Inbound::Kind::drained:
            if (has_link) core_.drained(socket->second.id);
            return;
        case Inbound::Kind::closed:
            if (has_link) close_socket(pass, message.link);
            return;
        case Inbound::Kind::outcome:
            return core_.store_outcome(pass, message.outcome);
        case Inbound::Kind::drain:
            parts_.court.drained(message.drain, published());
            core_.drain(message.drain.server, message.drain.draining);
            return;
        case Inbound::Kind::abort:
            core_.abort_match(pass, message.lobby, "");
            return;
        case Inbound::Kind::kick:
            parts_.court.kicked(message.player, published());
            core_.kick(pass, message.player, "");
            return;
        case Inbound::Kind::set_clock:
            parts_.court.clock_set(message.clock, published());
            return core_.set_clock(pass, message.clock.time, message.clock.speed);
        case Inbound::Kind::shut_down:
            parts_.court.shut_down(published());
            return core_.shut_down(pass);
    }
}

void Process::open_socket(const Pass& pass, const Inbound& message) {
    // Slots are spread over two network workers, and used again.
    std::uint32_t slot = 0;
    if (free_slots_.empty()) {
        slot = static_cast<std::uint32_t>(by_slot_.size());
        by_slot_.push_back(0);
        generations_.push_back(0);
    } else {
        slot = free_slots_.back();
        free_slots_.pop_back();
    }
    by_slot_[slot] = message.link;
    Socket& socket = sockets_[message.link];
    socket.id = ConnectionId{(slot & 1) << 24 | slot >> 1, ++generations_[slot]};
    parts_.court.opened(message.link, message.port, published());
    core_.opened(pass, socket.id, message.port, message.peer);
}

void Process::close_socket(const Pass& pass, LinkNumber link) {
    const ConnectionId id = sockets_[link].id;
    parts_.court.closed(link, published());
    core_.closed(pass, id);
    const std::uint32_t slot = (id.slot & 0xFFFFFF) << 1 | id.slot >> 24;
    by_slot_[slot] = 0;
    free_slots_.push_back(slot);
    sockets_.erase(link);
}

LinkNumber Process::link_of(ConnectionId id) const {
    const std::size_t slot = (id.slot & 0xFFFFFF) << 1 | id.slot >> 24;
    if (slot >= by_slot_.size() || generations_[slot] != id.generation) return 0;
    return by_slot_[slot];
}

// A broadcast may be several frames at once.
void Process::send(ConnectionId to, std::span<const std::byte> frames) {
    const LinkNumber link = link_of(to);
    if (link == 0) return;
    const Port port = sockets_[link].port;
    std::vector<SentFrame> leaving;
    for (std::size_t used = 0; used < frames.size();) {
        const FrameSplit split = next_frame(frames.subspan(used), default_byte_order(port), length_most);
        MUSTER_CHECK(split.kind == FrameSplit::Kind::frame, "core sends whole frames");
        const auto frame = frames.subspan(used, split.size);
        parts_.sabotage.send({link, port, split.code, {frame.begin(), frame.end()}}, leaving);
        used += split.size;
    }
    for (SentFrame& one : leaving) {
        parts_.court.said(one.link, one.port, one.bytes, published());
        outbox_.push_back(std::move(one));
    }
}

// The network takes all that it is given.
void Process::report_drained(ConnectionId id) {
    const LinkNumber link = link_of(id);
    if (link == 0) return;
    Inbound& message = inbox_.emplace_back();
    message.kind = Inbound::Kind::drained;
    message.link = link;
}

void Process::greeted(ConnectionId link) {
    if (const LinkNumber number = link_of(link)) sockets_[number].greeted = true;
}

void Process::close(ConnectionId id) {
    const LinkNumber link = link_of(id);
    if (link == 0) return;
    sockets_[link].greeted = true;
    parts_.court.close_asked(link, published());
    outbox_.push_back({link, Port::servers, 0, {}});
}

bool Process::submit(RecordBatch&& batch) {
    if (dead_) return true;
    dead_ = !parts_.step();
    return dead_ || parts_.disk.submit(std::move(batch));
}

bool Process::flush() {
    for (SentFrame& frame : outbox_) {
        if (dead_) break;
        dead_ = !parts_.step();
        if (dead_) break;
        if (frame.bytes.empty()) {
            parts_.network.close_to_peer(frame.link);
        } else {
            ++frames_sent_;
            parts_.network.send_to_peer(frame.link, std::move(frame.bytes));
        }
    }
    outbox_.clear();
    return !dead_;
}

}  // namespace muster::sim
