#include "hostsim/game.h"

#include <charconv>
#include <chrono>
#include <string>
#include <utility>

namespace muster::hostsim {

using namespace std::chrono_literals;

namespace {

Duration between(Random& random, std::chrono::milliseconds least, std::chrono::milliseconds most) {
    return std::chrono::milliseconds(random.between(least.count(), most.count()));
}

// The lobby in the object's annotations, as a game reads it.
std::optional<LobbyId> lobby_of(const agones::GameServer& object) {
    const auto found = object.annotations.find("muster.dev/lobby");
    if (object.state != agones::State::allocated || found == object.annotations.end()) return std::nullopt;
    std::int32_t number = 0;
    std::from_chars(found->second.data(), found->second.data() + found->second.size(), number);
    return LobbyId(number);
}

}  // namespace

Game::Game(SdkKind sdk, Time now, const GameHabits& habits, Random& random)
    : sdk_(sdk), random_(random.next()), habits_(habits), ready_at_(now + between(random_, 50ms, 4000ms)) {
    if (random_.chance(habits.crashes_at_start)) crash_at_ = now + between(random_, 0ms, 3000ms);
    if (random_.chance(habits.never_ready)) ready_at_ = Time::max();
    exits_on_offer_ = random_.chance(habits.exits_on_offer);
    ignores_stop_ = random_.chance(habits.ignores_stop);
    forks_ = random_.chance(habits.forks);
}

void Game::play(Time now, LobbyId lobby) {
    playing_ = lobby;
    match_ends_ = now + between(random_, 3s, 90s);
    match_crashes_ = random_.chance(habits_.crashes_in_match);
    match_hangs_ = random_.chance(habits_.hangs_in_match);
}

void Game::asked_to_stop(Time now) {
    if (!ignores_stop_ && !hung_ && !exit_at_) exit_at_ = now + between(random_, 0ms, 3000ms);
}

Game::Deed Game::act(Time now, const GameSdk& sdk) {
    if (crash_at_ && *crash_at_ <= now) return {.exit = crash_code};
    if (exit_at_ && *exit_at_ <= now) return {.exit = 0};
    if (hung_ || ready_at_ > now) return {};
    Deed deed;
    deed.fork = std::exchange(forks_, false);
    deed.bind = !std::exchange(bound_, true);
    // Long enough to be called hung, and not at once.
    if (playing_ && match_hangs_ && sdk_ != SdkKind::none && match_ends_ <= now + 10s) {
        hung_ = true;
        return deed;
    }
    if (match_is_over(now) && match_crashes_) return {.exit = crash_code};
    if (sdk_ == SdkKind::none && match_is_over(now)) return {.exit = 0};
    Deed spoken;
    if (sdk.agones) spoken = act_agones(now, *sdk.agones);
    if (sdk.gsdk) spoken = act_gsdk(now, *sdk.gsdk);
    deed.exit = spoken.exit;
    return deed;
}

Game::Deed Game::act_agones(Time now, agones::Session& session) {
    (void)session.call(now, agones::HealthPing{});
    if (!std::exchange(ready_said_, true)) (void)session.call(now, agones::Ready{});
    const auto object = session.present();
    if (object->state == agones::State::shutdown || object->state == agones::State::unhealthy) return {};
    const auto lobby = lobby_of(*object);
    if (lobby != playing_) {
        // Another match, or none: whatever it believed is off.
        if (lobby && exits_on_offer_) return {.exit = 0};
        playing_.reset();
        if (lobby) play(now, *lobby);
        if (!lobby && object->state == agones::State::allocated) (void)session.call(now, agones::Ready{});
    }
    if (!match_is_over(now)) return {};
    playing_.reset();
    (void)session.call(now, agones::Ready{});
    return {};
}

Game::Deed Game::act_gsdk(Time now, gsdk::Session& session) {
    if (match_is_over(now)) {
        playing_.reset();
        (void)session.heartbeat(now, {.state = gsdk::GameState::terminated});
        return {.exit = 0};
    }
    const auto state = active_ ? gsdk::GameState::active : gsdk::GameState::standing_by;
    const gsdk::HeartbeatAnswer answer = session.heartbeat(now, {.state = state});
    if (answer.operation == gsdk::Operation::terminate) {
        playing_.reset();
        if (!exit_at_ && !ignores_stop_) exit_at_ = now;
    }
    if (answer.operation == gsdk::Operation::active && !active_) {
        if (exits_on_offer_) return {.exit = 0};
        active_ = true;
        play(now, answer.config->lobby);
        (void)session.heartbeat(now, {.state = gsdk::GameState::active});
    }
    return {};
}

}  // namespace muster::hostsim
