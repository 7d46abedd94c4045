#include "agones/session.h"

#include <algorithm>
#include <chrono>
#include <ctime>
#include <iterator>
#include <utility>

#include <fmt/core.h>

#include "agones/counters_and_lists.h"
#include "base/utf8.h"

namespace muster::agones {
namespace {

using std::chrono::seconds;

constexpr std::string_view sdk_prefix = "agones.dev/sdk-";
constexpr std::string_view last_allocated_key = "agones.dev/last-allocated";
constexpr std::string_view aborted_key = "muster.dev/aborted";
constexpr std::string_view match_keys[] = {"muster.dev/lobby", "muster.dev/token", "muster.dev/game-type",
                                           "muster.dev/game-mode"};
// Longer is for ever.
constexpr std::int64_t reserve_seconds_max = std::int64_t{10} * 365 * 24 * 3600;

Failure<Refused> refused(Code code, std::string message) {
    return Failure<Refused>(Refused{code, std::move(message)});
}

// Rounded up, since 0 would say that there are none.
std::int32_t whole_seconds(Duration time) {
    return static_cast<std::int32_t>(std::chrono::ceil<seconds>(time).count());
}

std::size_t bytes_of(const TextMap& map) {
    std::size_t bytes = 0;
    for (const auto& [key, value] : map) bytes += key.size() + value.size();
    return bytes;
}

}  // namespace

std::string_view to_string(State state) {
    switch (state) {
        case State::scheduled:
            return "Scheduled";
        case State::request_ready:
            return "RequestReady";
        case State::ready:
            return "Ready";
        case State::reserved:
            return "Reserved";
        case State::allocated:
            return "Allocated";
        case State::unhealthy:
            return "Unhealthy";
        case State::shutdown:
            return "Shutdown";
    }
    return "Error";
}

std::optional<State> state_named(std::string_view name) {
    for (const State each : {State::scheduled, State::request_ready, State::ready, State::reserved, State::allocated,
                             State::unhealthy, State::shutdown})
        if (to_string(each) == name) return each;
    return std::nullopt;
}

Session::Session(Process process, Life life) : process_(std::move(process)), life_(std::move(life)) {
    object_.name = process_.name;
    object_.uid = life_.uid;
    object_.created_at = unix_seconds(life_.begun);
    object_.labels = process_.labels;
    object_.labels["agones.dev/fleet"] = process_.fleet;
    object_.health = Health{process_.health_period <= Duration{0}, whole_seconds(process_.health_period),
                            process_.health_failures, whole_seconds(process_.health_delay)};
    object_.address = process_.address;
    object_.port = process_.port;
    if (process_.player_tracking) object_.players = Players{process_.player_capacity, {}};
    object_.counters = process_.counters;
    object_.lists = process_.lists;
    present_ = std::make_shared<const GameServer>(object_);
    if (process_.health_period > Duration{0})
        health_due_ = life_.begun + process_.health_delay + process_.health_period;
}

// One function for each call of the SDK.
struct Session::Answering {
    Session& session;
    Time now;

    GameServer& object() const { return session.object_; }

    Reply operator()(const Ready&) const {
        session.ready();
        return Empty{};
    }
    Reply operator()(const Allocate&) const {
        session.allocate(now);
        return Empty{};
    }
    Reply operator()(const Shutdown&) const {
        if (session.is_over()) return Empty{};
        session.shut_down(now);
        session.fact(SdkFact::Kind::shutdown);
        return Empty{};
    }
    Reply operator()(const HealthPing& ping) const {
        session.missed_pings_ = 0;
        session.pings_singly_ = !ping.by_stream;
        if (std::exchange(session.pings_lost_, false)) {
            session.health_due_ = now;
            session.regain_touch();
        }
        if (session.health_due_) {
            session.health_due_ = std::max(*session.health_due_, now + session.process_.health_period);
        }
        return Empty{};
    }
    Reply operator()(const GetGameServer&) const { return session.present_; }
    Reply operator()(const SetLabel& call) const {
        return session.set_metadata(&GameServer::labels, call.key, call.value);
    }
    Reply operator()(const SetAnnotation& call) const {
        return session.set_metadata(&GameServer::annotations, call.key, call.value);
    }
    Reply operator()(const Reserve& call) const {
        session.reserve(now, call.seconds);
        return Empty{};
    }

    Reply operator()(const PlayerConnect& call) const {
        if (!object().players) return not_tracking();
        Players& players = *object().players;
        if (std::ranges::find(players.ids, call.id) != players.ids.end()) return Flag{false};
        if (std::ssize(players.ids) >= players.capacity || players.ids.size() >= players_max)
            return refused(Code::unknown, "players are already at capacity");
        if (call.id.size() > name_bytes_max)
            return refused(Code::invalid_argument, fmt::format("a player's id has over {} bytes", name_bytes_max));
        session.change([&](GameServer& server) { server.players->ids.push_back(call.id); });
        return Flag{true};
    }
    Reply operator()(const PlayerDisconnect& call) const {
        if (!object().players) return not_tracking();
        if (!connected(call.id)) return Flag{false};
        session.change([&](GameServer& server) { std::erase(server.players->ids, call.id); });
        return Flag{true};
    }
    Reply operator()(const IsPlayerConnected& call) const {
        if (!object().players) return not_tracking();
        return Flag{connected(call.id)};
    }
    Reply operator()(const GetConnectedPlayers&) const {
        if (!object().players) return not_tracking();
        return PlayerIds{object().players->ids};
    }
    Reply operator()(const GetPlayerCount&) const {
        if (!object().players) return not_tracking();
        return Count{std::ssize(object().players->ids)};
    }
    Reply operator()(const GetPlayerCapacity&) const {
        if (!object().players) return not_tracking();
        return Count{object().players->capacity};
    }
    Reply operator()(const SetPlayerCapacity& call) const {
        if (!object().players) return not_tracking();
        if (call.count < 0) return refused(Code::invalid_argument, "a capacity is not negative");
        session.change([&](GameServer& server) { server.players->capacity = call.count; });
        return Empty{};
    }

    Reply operator()(const GetCounter& call) const { return get_counter(object().counters, call); }
    Reply operator()(const UpdateCounter& call) const {
        return updating([&](bool& changed) { return update_counter(object().counters, call, changed); });
    }
    Reply operator()(const GetList& call) const { return get_list(object().lists, call); }
    Reply operator()(const UpdateList& call) const {
        return updating([&](bool& changed) { return update_list(object().lists, call, changed); });
    }
    Reply operator()(const AddListValue& call) const {
        return updating([&](bool& changed) { return add_list_value(object().lists, call, changed); });
    }
    Reply operator()(const RemoveListValue& call) const {
        return updating([&](bool& changed) { return remove_list_value(object().lists, call, changed); });
    }

private:
    static Reply not_tracking() { return refused(Code::unknown, "PlayerTracking not enabled"); }
    bool connected(const std::string& id) const {
        return std::ranges::find(object().players->ids, id) != object().players->ids.end();
    }
    Reply updating(auto&& update) const {
        bool changed = false;
        Reply reply = update(changed);
        if (changed) session.change([](GameServer&) {});
        return reply;
    }
};

Reply Session::call(Time now, const Call& call) {
    return std::visit(Answering{*this, now}, call);
}

void Session::offer(Time now, const SdkMatch& match) {
    if (object_.state != State::ready) return;
    match_ = match;
    change([&](GameServer& server) {
        server.state = State::allocated;
        server.annotations.insert_or_assign(std::string(last_allocated_key), rfc3339(now));
        server.annotations.insert_or_assign("muster.dev/lobby", std::to_string(match.lobby.value));
        server.annotations.insert_or_assign("muster.dev/token", match.token);
        server.annotations.insert_or_assign("muster.dev/game-type", std::to_string(match.game_type));
        server.annotations.insert_or_assign("muster.dev/game-mode", std::to_string(match.game_mode));
    });
    fact(SdkFact::Kind::accepted, match.lobby);
    fact(SdkFact::Kind::match_ready, match.lobby);
}

void Session::abort(Time now, LobbyId lobby, std::string_view reason) {
    if (!match_ || match_->lobby != lobby || is_over()) return;
    match_.reset();
    abort_due_ = now + process_.abort_grace;
    change([&](GameServer& server) {
        for (const std::string_view key : match_keys) server.annotations.erase(std::string(key));
        server.annotations.insert_or_assign(std::string(aborted_key), std::string(reason));
    });
}

void Session::stop(Time now) {
    if (!is_over()) shut_down(now);
}

void Session::lose_watch(Time now) {
    watch_lost_ = true;
    lose_touch(now);
}

void Session::watched() {
    if (std::exchange(watch_lost_, false)) regain_touch();
}

void Session::lose_touch(Time now) {
    if (return_due_ || is_over()) return;
    return_due_ = now + return_time();
    fact(SdkFact::Kind::out_of_reach);
}

void Session::regain_touch() {
    if (pings_lost_ || watch_lost_ || is_over()) return;
    return_due_.reset();
    fact(SdkFact::Kind::in_reach);
}

// As long as a process that never pings is waited for.
Duration Session::return_time() const {
    if (process_.health_period <= Duration{0}) return seconds(20);
    return process_.health_delay + process_.health_failures * process_.health_period;
}

void Session::set_address(std::string address, std::uint16_t port) {
    process_.address = address;
    process_.port = port;
    if (object_.address == address && object_.port == port) return;
    change([&](GameServer& server) {
        server.address = std::move(address);
        server.port = port;
    });
}

void Session::tick(Time now) {
    if (is_over()) return;
    if (abort_due_ && *abort_due_ <= now) {
        shut_down(now);
        return fact(SdkFact::Kind::shutdown, {}, "it did not say Ready after Muster aborted its match");
    }
    if (reserved_until_ && *reserved_until_ <= now) ready();
    if (return_due_ && *return_due_ <= now) {
        return_due_.reset();
        fact(SdkFact::Kind::to_be_replaced, {}, "its SDK did not connect again after the agent was restarted");
    }
    if (!health_due_ || *health_due_ > now) return;
    ++missed_pings_;
    *health_due_ += process_.health_period;
    if (*health_due_ <= now) health_due_ = now + process_.health_period;
    if (missed_pings_ < process_.health_failures) return;
    enter(State::unhealthy);
    fact(SdkFact::Kind::unhealthy, {},
         fmt::format("no health ping in {} periods of {:g} s", missed_pings_, to_seconds(process_.health_period)));
}

std::optional<Time> Session::next_tick() const {
    if (is_over()) return std::nullopt;
    return earliest();
}

std::vector<SdkFact> Session::take_facts() {
    return std::exchange(facts_, {});
}

std::vector<SharedGameServer> Session::take_changes() {
    return std::exchange(changes_, {});
}

bool Session::is_over() const {
    return object_.state == State::unhealthy || object_.state == State::shutdown;
}

void Session::change(auto&& edit) {
    edit(object_);
    ++object_.version;
    present_ = std::make_shared<const GameServer>(object_);
    if (changes_.size() >= changes_max) changes_.erase(changes_.begin());
    changes_.push_back(present_);
}

void Session::enter(State state) {
    change([&](GameServer& server) { server.state = state; });
}

void Session::ready() {
    reserved_until_.reset();
    if (is_over() || object_.state == State::ready) return;
    drop_match();
    enter(State::request_ready);
    enter(State::ready);
    fact(SdkFact::Kind::ready);
}

void Session::allocate(Time now) {
    if (is_over() || object_.state == State::allocated) return;
    reserved_until_.reset();
    change([&](GameServer& server) {
        server.state = State::allocated;
        server.annotations.insert_or_assign(std::string(last_allocated_key), rfc3339(now));
    });
    fact(SdkFact::Kind::allocated_itself);
}

void Session::reserve(Time now, std::int64_t length_s) {
    if (is_over()) return;
    drop_match();
    reserved_until_.reset();
    if (length_s > 0 && length_s <= reserve_seconds_max) reserved_until_ = now + seconds(length_s);
    enter(State::reserved);
    fact(SdkFact::Kind::reserved);
}

void Session::shut_down(Time now) {
    change([&](GameServer& server) {
        server.state = State::shutdown;
        server.deleted_at = unix_seconds(now);
    });
}

// What was said of a match holds no longer; the object's next change tells it.
void Session::drop_match() {
    if (match_) fact(SdkFact::Kind::match_ended, match_->lobby);
    match_.reset();
    abort_due_.reset();
    for (const std::string_view key : match_keys) object_.annotations.erase(std::string(key));
    object_.annotations.erase(std::string(aborted_key));
}

// Of several that only say how it is now, the last counts: a process that changes its mind all the time fills no
// memory.
void Session::fact(SdkFact::Kind kind, LobbyId lobby, std::string reason) {
    const auto says_how_it_is = [](SdkFact::Kind each) {
        return each == SdkFact::Kind::ready || each == SdkFact::Kind::reserved ||
               each == SdkFact::Kind::allocated_itself;
    };
    if (!facts_.empty() && says_how_it_is(facts_.back().kind) && says_how_it_is(kind)) facts_.pop_back();
    facts_.push_back(SdkFact{kind, lobby, std::move(reason)});
}

Reply Session::set_metadata(TextMap GameServer::* which, const std::string& key, const std::string& value) {
    if (key.empty() || key.size() > name_bytes_max)
        return refused(Code::invalid_argument, fmt::format("a key has 1 to {} bytes", name_bytes_max));
    if (value.size() > metadata_value_bytes_max)
        return refused(Code::invalid_argument, fmt::format("a value has at most {} bytes", metadata_value_bytes_max));
    if (!is_utf8(key) || !is_utf8(value)) return refused(Code::invalid_argument, "not UTF-8");
    const std::string full = std::string(sdk_prefix) + key;
    const TextMap& map = object_.*which;
    const auto found = map.find(full);
    if (found != map.end() && found->second == value) return Empty{};
    if (bytes_of(map) + full.size() + value.size() > metadata_bytes_max)
        return refused(Code::resource_exhausted,
                       fmt::format("labels and annotations have at most {} bytes each", metadata_bytes_max));
    change([&](GameServer& server) { (server.*which).insert_or_assign(full, value); });
    return Empty{};
}

std::int64_t Session::unix_seconds(Time now) const {
    return life_.wall.value / 1000 + std::chrono::duration_cast<seconds>(now - life_.begun).count();
}

std::string Session::rfc3339(Time now) const {
    const std::time_t time = unix_seconds(now);
    std::tm parts{};
    gmtime_r(&time, &parts);
    return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z", parts.tm_year + 1900, parts.tm_mon + 1, parts.tm_mday,
                       parts.tm_hour, parts.tm_min, parts.tm_sec);
}

std::optional<Time> Session::earliest() const {
    std::optional<Time> first;
    for (const auto& due : {health_due_, reserved_until_, abort_due_, return_due_})
        if (due && (!first || *due < *first)) first = due;
    return first;
}

}  // namespace muster::agones
