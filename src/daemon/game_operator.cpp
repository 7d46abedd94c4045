#include "daemon/game_operator.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include "core/block_value.h"
#include "core/events.h"
#include "core/matchmakers.h"
#include "core/operator_name.h"
#include "process/version.h"

namespace muster {
namespace {

// "server 3", "servers 3, 5 and 9", "servers 1, 2, … and 90 more".
std::string names_of(const std::set<ServerId>& servers) {
    constexpr std::size_t named_max = 20;
    std::string text = servers.size() == 1 ? "server" : "servers";
    std::size_t named = 0;
    for (const ServerId server : servers) {
        if (named == named_max) return fmt::format("{} and {} more", text, servers.size() - named);
        const bool last = ++named == servers.size() && named > 1;
        text += fmt::format("{} {}", last ? " and" : named > 1 ? "," : "", server.value);
    }
    return text;
}

// An action on the game thread. Tells the outcome at once or when it is durable; an allocation's and a host's come
// later.
struct Acting {
    Game::Inside& game;
    const Pass& pass;
    const ActionCaller& caller;
    const std::uint64_t number;
    const std::function<void(ActionOutcome&&)>& tell;          // at once
    const std::function<void(ActionOutcome&&)>& tell_durable;  // when all that was done so far is durable

    void operator()(const action::Drain& drain) const {
        if (!game.core.drain(drain.server, drain.draining, note(drain.reason))) return not_found();
        event::OperatorAction done = action_on(drain.draining ? "drain" : "undrain", "server", drain.server.value);
        done.server = drain.server;
        done.reason = drain.reason;
        game.events.publish(done);
        tell_durable({});
    }
    void operator()(const action::DrainMany& wish) const {
        std::set<ServerId> servers;
        ActionOutcome outcome;
        for (const ServerId id : wish.servers) {
            if (game.core.fleet().find(id)) {
                servers.insert(id);
            } else {
                outcome.missing.push_back(id.value);
            }
        }
        if (!wish.addresses.empty()) {
            game.core.fleet().for_each([&](const Server& server) {
                const auto at = [&server](const action::ServerAddress& address) {
                    return address.ip == server.endpoint.ip &&
                           address.port.value_or(server.endpoint.port) == server.endpoint.port;
                };
                if (std::ranges::any_of(wish.addresses, at)) servers.insert(server.id);
            });
        }
        for (const ServerId server : servers) game.core.drain(server, wish.draining, note(wish.reason));
        if (!servers.empty()) {
            event::OperatorAction done = action_on(wish.draining ? "drain" : "undrain", names_of(servers));
            if (servers.size() == 1) done.server = *servers.begin();
            done.reason = wish.reason;
            game.events.publish(done);
        }
        outcome.count = static_cast<std::int64_t>(servers.size());
        tell_durable(std::move(outcome));
    }
    void operator()(const action::DrainRegion& wish) const {
        const Region* region = region_of(wish.region);
        if (!region) return not_found();
        std::vector<ServerId> servers;
        game.core.fleet().for_each([&](const Server& server) {
            if (server.region == region->id) servers.push_back(server.id);
        });
        for (const ServerId server : servers) game.core.drain(server, wish.draining, note(wish.reason));
        event::OperatorAction done =
            action_on(wish.draining ? "drain" : "undrain", fmt::format("region {}", region->name));
        done.region = region->id;
        done.reason = wish.reason;
        game.events.publish(done);
        ActionOutcome outcome;
        outcome.region_id = region->id;
        outcome.count = static_cast<std::int64_t>(servers.size());
        tell_durable(std::move(outcome));
    }
    void operator()(const action::Remove& remove) const {
        if (!game.core.remove_server(pass, remove.server)) return not_found();
        event::OperatorAction done = action_on("remove", "server", remove.server.value);
        done.server = remove.server;
        done.reason = remove.reason;
        game.events.publish(done);
        tell_durable({});
    }
    void operator()(const action::AbortAll& abort) const {
        if (!game.core.fleet().find(abort.server)) return not_found();
        std::vector<LobbyId> lobbies;
        game.core.matches().for_each([&](const Match& match) {
            if (match.record.server == abort.server) lobbies.push_back(match.record.lobby);
        });
        std::size_t aborted = 0;
        for (const LobbyId lobby : lobbies) aborted += game.core.abort_match(pass, lobby, abort.reason) ? 1 : 0;
        event::OperatorAction done = action_on("abort all", "server", abort.server.value);
        done.server = abort.server;
        done.reason = abort.reason;
        game.events.publish(done);
        ActionOutcome outcome;
        outcome.count = static_cast<std::int64_t>(aborted);
        tell_durable(std::move(outcome));
    }
    void operator()(const action::Abort& abort) const {
        const bool done_so = caller.role == Role::matchmaker
                                 ? game.core.cancel_match(pass, asker(), abort.lobby, abort.reason)
                                 : game.core.abort_match(pass, abort.lobby, abort.reason);
        if (!done_so) return not_found();
        if (caller.operator_name == http_matchmaker_name)
            return tell_durable({});  // nobody's name: a backend at its work
        event::OperatorAction done = action_on("abort", "lobby", abort.lobby.value);
        done.lobby = abort.lobby;
        done.reason = abort.reason;
        game.events.publish(done);
        tell_durable({});
    }
    void operator()(const action::Kick& kick) const {
        if (!game.core.kick(pass, kick.player, kick.reason)) return not_found();
        event::OperatorAction done = action_on("kick", "player", kick.player.value);
        done.player = kick.player;
        done.reason = kick.reason;
        game.events.publish(done);
        tell({});
    }
    void operator()(const action::SetClock& wish) const {
        std::optional<GameTime> time;
        if (wish.time) {
            time = GameTime{static_cast<std::uint8_t>(wish.to.day), static_cast<std::uint8_t>(wish.to.hour),
                            static_cast<std::uint8_t>(wish.to.minute)};
        }
        game.core.set_clock(pass, time, wish.speed);
        const GameTime shown = game.core.world().shown();
        ActionOutcome outcome;
        outcome.clock = {shown.day, shown.hour, shown.minute, game.core.world().speed()};
        game.events.publish(action_on("set clock", fmt::format("day {} {:02}:{:02} speed {}", shown.day, shown.hour,
                                                               shown.minute, outcome.clock.speed)));
        tell_durable(std::move(outcome));
    }
    void operator()(const action::Allocate& wish) const {
        AllocationRequest request = wish.request;
        if (!wish.region_name.empty()) {
            // A name that is no region's is refused as a number that is none's.
            const Region* region = region_of({{}, wish.region_name});
            request.region = region ? region->id : RegionId(-1);
        }
        game.events.publish(event::MatchRequested{request.lobby, request.region,
                                                  http_matchmaker_id(caller.operator_name), caller.address,
                                                  caller.request_id, caller.operator_name});
        game.core.allocate(pass, asker(), request, caller.request_id);
    }
    void operator()(const action::Players& wish) const {
        MatchPlayers list;
        list.lobby = wish.lobby;
        list.accounts.items = wish.accounts;
        tell_kind(ActionOutcome::Kind::begun);
        game.core.set_players(pass, asker(), list);
    }
    void operator()(const action::AskHost& wish) const {
        // What was read is no action, and what cannot be asked is none.
        const KnownHost* host = game.core.hosts().find(wish.host);
        const auto told = [this, &wish, host](const char* action, std::string target) {
            if (!host || !host->connected()) return;
            event::OperatorAction done = action_on(action, std::move(target));
            done.reason = wish.reason;
            game.events.publish(done);
        };
        if (const auto* drain = std::get_if<DrainHost>(&wish.command))
            told(drain->draining ? "drain" : "undrain", fmt::format("host {}", wish.host));
        if (const auto* restart = std::get_if<RestartProcess>(&wish.command))
            told("restart", fmt::format("process {}/{}", wish.host, restart->process.view()));
        if (const auto* scale = std::get_if<ScaleRun>(&wish.command))
            told("scale", fmt::format("run {}/{} to {}", wish.host, scale->run.view(), scale->count));
        game.core.ask_host(number, wish.host, wish.command);
    }
    void operator()(const action::ForgetHost& wish) const {
        switch (game.core.forget_host(wish.host)) {
            case Hosts::Forgetting::unknown:
                return not_found();
            case Hosts::Forgetting::connected: {
                ActionOutcome outcome;
                outcome.kind = ActionOutcome::Kind::refused;
                return tell(std::move(outcome));
            }
            case Hosts::Forgetting::done:
                break;
        }
        event::OperatorAction done = action_on("forget", fmt::format("host {}", wish.host));
        done.reason = wish.reason;
        game.events.publish(done);
        tell_durable({});
    }

    void operator()(const action::AddOperator& wish) const {
        const OperatorRecord record{wish.name, wish.role, wish.token_hash, caller.who(), game.wall};
        event::OperatorAction done =
            action_on("add operator", fmt::format("{} as {}", wish.name, to_string(wish.role)));
        tell_unless_begun(game.core.add_operator(number, record, std::move(done)));
    }
    void operator()(const action::RemoveOperator& wish) const {
        tell_unless_begun(game.core.remove_operator(number, wish.name, action_on("remove operator", wish.name)));
    }
    void operator()(const action::Block& wish) const {
        event::OperatorAction done = action_on("block", fmt::format("{} {}", to_string(wish.kind), wish.value));
        done.reason = wish.reason;
        if (wish.length > Duration::zero()) done.seconds = to_seconds(wish.length);
        BlockRecord record{wish.kind, wish.value, wish.reason, caller.who(), {}, {}};
        tell_unless_begun(game.core.block(pass, number, std::move(record), wish.length, std::move(done)));
    }
    void operator()(const action::Unblock& wish) const {
        event::OperatorAction done = action_on("unblock", fmt::format("{} {}", to_string(wish.kind), wish.value));
        tell_unless_begun(game.core.unblock(number, wish.kind, wish.value, std::move(done)));
    }

private:
    Core::HttpAsker asker() const { return {number, caller.operator_name}; }
    DrainNote note(const std::string& reason) const { return {caller.who(), reason, game.wall}; }
    // What was begun is answered once it is durable.
    void tell_unless_begun(Operators::Verdict verdict) const {
        using enum Operators::Verdict;
        if (verdict == begun) tell_kind(ActionOutcome::Kind::begun);
        if (verdict == name_taken) tell_kind(ActionOutcome::Kind::taken);
        if (verdict == unknown) tell_kind(ActionOutcome::Kind::not_found);
        if (verdict == too_many) tell_kind(ActionOutcome::Kind::too_many);
    }
    void tell_unless_begun(Blocks::Verdict verdict) const {
        using enum Blocks::Verdict;
        if (verdict == begun) tell_kind(ActionOutcome::Kind::begun);
        if (verdict == unknown) tell_kind(ActionOutcome::Kind::not_found);
        if (verdict == too_many) tell_kind(ActionOutcome::Kind::too_many);
    }
    void tell_kind(ActionOutcome::Kind kind) const {
        ActionOutcome outcome;
        outcome.kind = kind;
        tell(std::move(outcome));
    }
    // Null when there is none.
    const Region* region_of(const action::RegionWish& wish) const {
        const Regions& regions = game.core.fleet().config().regions;
        const auto found = std::ranges::find_if(regions, [&wish](const Region& region) {
            return wish.name.empty() ? region.id == wish.id : region.name == wish.name;
        });
        return found == regions.end() ? nullptr : &*found;
    }
    void not_found() const { tell_kind(ActionOutcome::Kind::not_found); }
    event::OperatorAction action_on(const char* action, std::string_view kind, std::int64_t id) const {
        return action_on(action, fmt::format("{} {}", kind, id));
    }
    event::OperatorAction action_on(const char* action, std::string target) const {
        event::OperatorAction done{caller.operator_name, caller.address, action, std::move(target)};
        done.request_id = caller.request_id;
        return done;
    }
};

}  // namespace

template <class Walk>
struct GameOperator::Making {
    const std::uint64_t number;
    const Time not_after;
    Walk walk{};
    Duration cost{0};
};

bool GameOperator::ask_for_fleet(std::uint64_t number, Time not_after) {
    return walk_on(std::make_shared<Making<FleetWalk>>(Making<FleetWalk>{number, not_after}));
}

bool GameOperator::ask_for_players(std::uint64_t number, Time not_after) {
    return walk_on(std::make_shared<Making<PlayersWalk>>(Making<PlayersWalk>{number, not_after}));
}

bool GameOperator::ask_for_hosts(std::uint64_t number, Time not_after) {
    return walk_on(std::make_shared<Making<HostsWalk>>(Making<HostsWalk>{number, not_after}));
}

// One step in a pass: the loop does other things in between.
template <class Walk>
bool GameOperator::walk_on(const std::shared_ptr<Making<Walk>>& making) {
    return parts_.game.ask([this, making](const Pass& pass, Game::Inside& game) {
        if (pass.now > making->not_after) return;
        const Time begun = parts_.clock.now();
        bool was_last = making->walk.step(game.core, pass, game.wall);
        // With so much waiting for the loop that there is no room for the next step, the rest is done here and now.
        if (!was_last && !walk_on(making)) {
            while (!was_last) was_last = making->walk.step(game.core, pass, game.wall);
        }
        making->cost += parts_.clock.now() - begun;
        if (!was_last) return;
        parts_.thread->post([this, making] {
            api_->made(making->number, std::make_shared<const typename Walk::View>(making->walk.take()), making->cost);
        });
    });
}

GameOperator::GameOperator(const Parts& parts) : parts_(parts), started_(parts.clock.now()) {
    parts_.game.on_answered([this](const AnsweredQuestion& answered) {
        ActionOutcome outcome;
        const auto done = done_.extract(answered.number);
        if (!done.empty()) {
            outcome = std::move(done.mapped());
            if (!answered.verdict) outcome.kind = ActionOutcome::Kind::unstored;
        } else if (answered.verdict) {
            outcome.allocated = *answered.verdict;
        } else {
            outcome.kind = ActionOutcome::Kind::refused;
            outcome.refusal = answered.verdict.error();
        }
        acted(answered.number, std::move(outcome));
    });
    parts_.game.on_host_verdict([this](HostVerdict&& verdict) {
        ActionOutcome outcome;
        if (verdict.kind != HostVerdict::Kind::done) outcome.kind = ActionOutcome::Kind::refused;
        const std::uint64_t number = verdict.number;
        outcome.host = std::move(verdict);
        acted(number, std::move(outcome));
    });
}

void GameOperator::acted(std::uint64_t number, ActionOutcome&& outcome) {
    parts_.thread->post([this, number, outcome = std::move(outcome)] { api_->acted(number, outcome); });
}

bool GameOperator::act(std::uint64_t number, const Action& action, const ActionCaller& caller, Time not_after) {
    struct Wish {
        Action action;
        ActionCaller caller;
    };
    auto wish = std::make_shared<const Wish>(Wish{action, caller});
    return parts_.game.ask([this, number, not_after, wish](const Pass& pass, Game::Inside& game) {
        if (pass.now > not_after) return;
        const std::function<void(ActionOutcome&&)> tell = [this, number](ActionOutcome&& outcome) {
            acted(number, std::move(outcome));
        };
        const std::function<void(ActionOutcome&&)> tell_durable = [this, number, &game](ActionOutcome&& outcome) {
            ActionOutcome begun;
            begun.kind = ActionOutcome::Kind::begun;
            acted(number, std::move(begun));
            done_[number] = std::move(outcome);
            game.core.answer_when_durable(number);
        };
        std::visit(Acting{game, pass, wish->caller, number, tell, tell_durable}, wish->action);
    });
}

ProcessFigures GameOperator::figures() {
    ProcessFigures figures;
    figures.version = version();
    figures.uptime_s = to_seconds(parts_.clock.now() - started_);
    if (auto hang = parts_.health.hang()) figures.problems.push_back(std::move(*hang));
    if (auto unready = parts_.health.unreadiness()) figures.problems.push_back(std::move(*unready));
    if (const auto game = parts_.game.figures()) {
        const LoopFigures& loop = game->loop;
        figures.ticks_per_second = game->ticks_per_second;
        figures.messages_per_second = game->messages_per_second;
        figures.tick_avg_ms = loop.tick_duration_avg_ms;
        figures.tick_max_ms = loop.tick_duration_max_ms;
        figures.overruns = loop.overruns;
        figures.callback_errors =
            std::accumulate(loop.callback_errors.begin(), loop.callback_errors.end(), std::uint64_t{0});
    }
    figures.store_queue_depth = parts_.store.figures().queue_depth;
    if (parts_.node.is_member()) {
        figures.node = parts_.node.name();
        const ClusterVerdict verdict = verdict_of(parts_.node.view());
        figures.warnings = verdict.warnings;
        figures.problems.insert(figures.problems.end(), verdict.problems.begin(), verdict.problems.end());
    }
    if (std::string warning = parts_.health.certificate_warning(); !warning.empty())
        figures.warnings.push_back(std::move(warning));
    if (std::string warning = parts_.health.refusal_warning(); !warning.empty())
        figures.warnings.push_back(std::move(warning));
    return figures;
}

}  // namespace muster
