#include "gsdk/session.h"

#include <algorithm>
#include <cctype>
#include <exception>
#include <utility>

#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

namespace muster::gsdk {
namespace {

namespace json = boost::json;

struct NamedState {
    std::string_view name;
    GameState state;
};
constexpr NamedState states[] = {{"Initializing", GameState::initializing},
                                 {"StandingBy", GameState::standing_by},
                                 {"Active", GameState::active},
                                 {"Terminating", GameState::terminating},
                                 {"Terminated", GameState::terminated}};

bool same_word(std::string_view a, std::string_view b) {
    return std::ranges::equal(a, b, [](char left, char right) {
        return std::tolower(static_cast<unsigned char>(left)) == std::tolower(static_cast<unsigned char>(right));
    });
}

}  // namespace

GameState game_state_named(std::string_view name) {
    for (const NamedState& each : states)
        if (same_word(each.name, name)) return each.state;
    return GameState::initializing;
}

Session::Session(Process process, Time begun) : process_(process), silent_at_(begun + process_.first_heartbeat) {}

HeartbeatAnswer Session::heartbeat(Time now, const Heartbeat& beat) {
    silent_at_ = now + process_.silence;
    players_ = beat.players;
    if (!over_ && !beat.healthy && !process_.ignore_health)
        over(SdkFact::Kind::unhealthy, "it says that it is unhealthy");
    if (!over_ && beat.state != state_) entered(now, beat.state);
    if (terminating_ || over_) return {Operation::terminate, nullptr};
    if (!config_ || state_ != GameState::standing_by) return {};
    if (!std::exchange(accepted_, true)) fact(SdkFact::Kind::accepted, config_->lobby);
    return {Operation::active, &*config_};
}

void Session::offer(const SdkMatch& match, std::string session_id) {
    if (state_ != GameState::standing_by || terminating_ || over_) return;
    config_ = SessionConfig{std::move(session_id), match.token, match.lobby, match.game_type, match.game_mode, {}};
    accepted_ = perhaps_told_ = false;
}

void Session::set_players(LobbyId lobby, const std::vector<AccountId>& accounts) {
    if (config_ && config_->lobby == lobby) config_->initial_players = accounts;
}

void Session::abort(Time now, LobbyId lobby) {
    if (!config_ || config_->lobby != lobby) return;
    const bool heard_of_it = accepted_;
    config_.reset();
    accepted_ = false;
    if (heard_of_it) return terminate(now);
    // A match that it never heard of leaves it as it was.
    if (state_ == GameState::standing_by && !terminating_ && !over_) fact(SdkFact::Kind::ready);
}

void Session::stop(Time now) {
    terminate(now);
}

void Session::tick(Time now) {
    if (over_) return;
    if (terminate_due_ && *terminate_due_ <= now)
        return over(SdkFact::Kind::shutdown, "it did not end when it was asked to");
    if (!silent_at_ || *silent_at_ > now) return;
    if (now - *silent_at_ > late) {
        silent_at_ = now + process_.silence;
        return;
    }
    over(SdkFact::Kind::unhealthy, "no heartbeat in time");
}

std::optional<Time> Session::next_tick() const {
    if (over_) return std::nullopt;
    if (silent_at_ && terminate_due_) return std::min(*silent_at_, *terminate_due_);
    return silent_at_ ? silent_at_ : terminate_due_;
}

std::vector<SdkFact> Session::take_facts() {
    return std::exchange(facts_, {});
}

void Session::entered(Time now, GameState state) {
    state_ = state;
    switch (state) {
        case GameState::initializing:
            break;
        case GameState::standing_by:
            if (accepted_) {
                fact(SdkFact::Kind::match_ended, config_->lobby);
                config_.reset();
                accepted_ = false;
            }
            if (!terminating_) fact(SdkFact::Kind::ready);
            break;
        case GameState::active:
            if (config_) {
                if (!std::exchange(accepted_, true)) fact(SdkFact::Kind::accepted, config_->lobby);
                fact(SdkFact::Kind::match_ready, config_->lobby);
            } else if (perhaps_told_) {
                terminate(now);
            } else if (!terminating_) {
                fact(SdkFact::Kind::allocated_itself);
            }
            break;
        case GameState::terminating:
        case GameState::terminated:
            over(SdkFact::Kind::shutdown);
            break;
    }
}

void Session::terminate(Time now) {
    if (std::exchange(terminating_, true) || over_) return;
    terminate_due_ = now + process_.terminate_grace;
}

void Session::over(SdkFact::Kind kind, std::string reason) {
    over_ = true;
    fact(kind, {}, std::move(reason));
}

// Of several that only say how it is now, the last counts: a process that changes its mind all the time fills no
// memory.
void Session::fact(SdkFact::Kind kind, LobbyId lobby, std::string reason) {
    const auto says_how_it_is = [](SdkFact::Kind each) {
        return each == SdkFact::Kind::ready || each == SdkFact::Kind::allocated_itself;
    };
    if (!facts_.empty() && says_how_it_is(facts_.back().kind) && says_how_it_is(kind)) facts_.pop_back();
    facts_.push_back(SdkFact{kind, lobby, std::move(reason)});
}

std::string Session::saved() const {
    json::object out{{"state", states[static_cast<std::size_t>(state_)].name},
                     {"terminating", terminating_},
                     {"over", over_},
                     {"accepted", accepted_}};
    if (config_) {
        json::array players;
        for (const AccountId each : config_->initial_players) players.push_back(each.value);
        out["config"] = {{"session_id", config_->session_id}, {"cookie", config_->session_cookie},
                         {"lobby", config_->lobby.value},     {"game_type", config_->game_type},
                         {"game_mode", config_->game_mode},   {"players", std::move(players)}};
    }
    return json::serialize(out);
}

std::optional<Session> Session::restored(Process process, Time now, std::string_view saved) {
    try {
        const json::value parsed = json::parse(saved);
        const json::object& in = parsed.as_object();
        Session session(process, now);
        session.state_ = game_state_named(in.at("state").as_string());
        session.over_ = in.at("over").as_bool();
        session.accepted_ = in.at("accepted").as_bool();
        if (const auto* config = in.if_contains("config")) {
            const json::object& of = config->as_object();
            session.config_ = SessionConfig{
                std::string(of.at("session_id").as_string()),      std::string(of.at("cookie").as_string()),
                LobbyId{of.at("lobby").to_number<std::int32_t>()}, of.at("game_type").to_number<std::int8_t>(),
                of.at("game_mode").to_number<std::int8_t>(),       {}};
            if (const auto* players = of.if_contains("players"))
                for (const json::value& each : players->as_array())
                    session.config_->initial_players.emplace_back(each.to_number<AccountId::number_type>());
        }
        session.accepted_ = session.accepted_ && session.config_;
        session.perhaps_told_ = session.config_ && !session.accepted_;
        if (session.perhaps_told_) session.config_.reset();
        if (in.at("terminating").as_bool()) session.terminate(now);
        return session;
    } catch (const std::exception&) {
        return std::nullopt;  // not what saved() wrote
    }
}

}  // namespace muster::gsdk
