// A supervisor under virtual time, and a host that does what it is told at once.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <doctest/doctest.h>

#include "agent/supervisor.h"
#include "base/seeded_entropy.h"
#include "base/virtual_clock.h"

namespace muster {

struct SupervisorFixture {
    VirtualClock clock;
    SeededEntropy entropy{1};
    Supervisor supervisor{PortRange{7000, 7009}, entropy};
    std::vector<RunConfig> runs;
    PortRange ports{7000, 7009};

    // What the host did with the orders so far.
    std::vector<Order> done;
    std::set<std::uint16_t> foreign_ports;  // that somebody else has
    bool spawns_work = true;
    std::int32_t last_pid = 100;
    std::size_t news_of_nobody = 0;  // of a process that cannot be found when they are told

    static RunConfig arena() {
        RunConfig run;
        run.name = "arena";
        run.command = {"./server"};
        run.sdk = SdkKind::none;
        run.count = run.count_max = 1;
        return run;
    }
    static RunConfig agones(std::int32_t count = 1) {
        RunConfig run = arena();
        run.sdk = SdkKind::agones;
        run.count = run.count_max = count;
        return run;
    }
    Moment now() const { return {clock.now(), clock.wall()}; }

    void configure(std::vector<RunConfig> wanted) {
        runs = std::move(wanted);
        supervisor.configure(now(), ports, runs);
        work();
    }
    // Does what is due and what was ordered, until nothing is left.
    void work() {
        supervisor.tick(now());
        for (;;) {
            const std::vector<Order> orders = supervisor.take_orders();
            if (orders.empty()) return;
            for (const Order& order : orders) {
                done.push_back(order);
                if (const auto* start = std::get_if<StartProcess>(&order)) launch(*start);
                if (const auto* told = std::get_if<ProcessNews>(&order))
                    news_of_nobody += supervisor.find(told->process) ? 0 : 1;
            }
        }
    }
    void launch(const StartProcess& start) {
        if (foreign_ports.contains(start.port)) return supervisor.port_taken(now(), start.process);
        if (!spawns_work) return supervisor.spawn_failed(now(), start.process, "No such file or directory");
        supervisor.spawned(now(), start.process, ++last_pid);
    }
    // Moves the time in the steps that next_tick() asks for.
    void run_for(Duration span) {
        const Time until = clock.now() + span;
        for (;;) {
            const auto next = supervisor.next_tick();
            if (!next || *next > until) break;
            if (*next > clock.now()) clock.advance_to(*next);
            work();
        }
        clock.advance_to(until);
        work();
    }

    const Process& process(std::string_view name = "arena-1") const {
        const Process* found = supervisor.find(name);
        REQUIRE(found);
        return *found;
    }
    ProcessState state(std::string_view name = "arena-1") const { return process(name).state; }
    ProcessId id(std::string_view name = "arena-1") const { return process(name).id; }

    void bind_port(std::string_view name = "arena-1") {
        supervisor.port_bound(now(), id(name));
        work();
    }
    void exit(ExitStatus status, std::string_view name = "arena-1") {
        supervisor.exited(now(), id(name), status);
        work();
    }
    void say(SdkFact fact, std::string_view name = "arena-1") {
        supervisor.heard(now(), id(name), fact);
        work();
    }
    void offer(std::int32_t lobby, std::string_view name = "arena-1") {
        supervisor.offered(now(), id(name), {.lobby = LobbyId(lobby), .token = "token"});
        work();
    }
    // As the layer of sdk = "none" does: told at once, ready at once.
    void play(std::int32_t lobby, std::string_view name = "arena-1") {
        offer(lobby, name);
        say({SdkFact::Kind::match_ready, LobbyId(lobby)}, name);
    }

    template <class T>
    std::vector<T> orders_of() const {
        std::vector<T> found;
        for (const Order& order : done)
            if (const T* each = std::get_if<T>(&order)) found.push_back(*each);
        return found;
    }
    template <class T>
    std::size_t count_of() const {
        return orders_of<T>().size();
    }
    std::size_t news(ProcessNews::Kind kind) const {
        std::size_t count = 0;
        for (const ProcessNews& each : orders_of<ProcessNews>()) count += each.kind == kind ? 1 : 0;
        return count;
    }
    std::vector<TellMatch::What> told() const {
        std::vector<TellMatch::What> all;
        for (const TellMatch& each : orders_of<TellMatch>()) all.push_back(each.what);
        return all;
    }
    std::int32_t alive() const {
        std::int32_t count = 0;
        for (const Process* each : supervisor.processes()) count += each->pid ? 1 : 0;
        return count;
    }
};

inline constexpr ExitStatus clean_exit{.code = 0};
inline constexpr ExitStatus crash{.signal = 11};

}  // namespace muster
