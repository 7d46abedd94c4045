#include "core/host_records.h"

#include <map>
#include <string>
#include <utility>
#include <variant>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "core/hosts_fixture.h"

using namespace muster;
using namespace muster::testing;

namespace {

// What the next start reads of the hosts.
RecoveredState stored_hosts(const std::vector<Record>& durable) {
    std::map<std::string, HostRecord> hosts;
    std::map<std::pair<std::string, std::string>, HostProcessRecord> processes;
    for (const Record& record : durable) {
        if (const auto* host = std::get_if<HostRecord>(&record)) hosts[host->name] = *host;
        if (const auto* process = std::get_if<HostProcessRecord>(&record))
            processes[{process->host, process->name}] = *process;
        if (const auto* gone = std::get_if<HostProcessForgotten>(&record)) processes.erase({gone->host, gone->name});
        if (const auto* forgotten = std::get_if<HostForgotten>(&record)) {
            hosts.erase(forgotten->name);
            std::erase_if(processes, [&](const auto& each) { return each.first.first == forgotten->name; });
        }
    }
    RecoveredState state;
    for (const auto& [name, host] : hosts) state.hosts.push_back(host);
    for (const auto& [key, process] : processes) state.host_processes.push_back(process);
    return state;
}

template <class R>
std::size_t written(const CoreWorld& world) {
    std::size_t count = 0;
    for (const Record& record : world.store.durable) count += std::holds_alternative<R>(record) ? 1 : 0;
    return count;
}

// A host with two processes, of which one has crashed.
RecoveredState state_with_a_host() {
    HostWorld before;
    const ConnectionId link = before.join_host();
    before.send(link, running("arena-1"));
    before.send(link, killed("arena-2", 7002));
    before.send(link, HostReport{1, 2, true});
    return stored_hosts(before.store.durable);
}

struct Restarted : HostWorld {
    Restarted() : HostWorld(state_with_a_host()) {}
};

}  // namespace

TEST_CASE_FIXTURE(Restarted, "G-12: after a restart of Muster a host is awaited, and lost when it does not return") {
    const HostsView awaited = view();
    REQUIRE(awaited.hosts.size() == 1);
    CHECK_FALSE(awaited.hosts[0].connected);
    CHECK(awaited.hosts[0].lost_at.value == 0);
    CHECK(awaited.hosts[0].address == "10.0.0.1");
    CHECK(awaited.hosts[0].draining);
    REQUIRE(awaited.hosts[0].processes.size() == 2);
    CHECK(awaited.hosts[0].processes[0].pid == 77);
    CHECK(awaited.hosts[0].processes[1].exit_signal == 9);
    CHECK(awaited.hosts[0].processes[1].exit_reason == "signal 9 (SIGKILL)");
    CHECK(awaited.hosts[0].processes[1].last_lines.empty());  // output may hold secrets, and is not stored
    CHECK(core->hosts().counts().awaited == 1);
    CHECK(core->hosts().counts().lost == 0);

    advance(HostsConfig{}.awaited_max - 1ms);
    CHECK(host().awaited());
    CHECK(events_named("host.left") == 0);
    advance(1ms);
    CHECK(host().lost());
    CHECK(events_named("host.left") == 1);
    CHECK(core->hosts().counts().lost == 1);
    CHECK(core->hosts().counts().losses == 1);
    CHECK(view().hosts.at(0).processes.size() == 2);
    CHECK(log_lines.has("Host eu-1 is lost: Not back since Muster's restart"));
}

TEST_CASE_FIXTURE(Restarted, "G-12: an awaited host that returns is the same, and was never lost") {
    advance(HostsConfig{}.awaited_max - 1s);
    const ConnectionId link = join_host();
    send(link, running("arena-1"));
    CHECK(host().processes.size() == 2);
    send(link, HostReport{});
    CHECK(host().processes.size() == 1);
    CHECK(host().connected());
    advance(5s);
    CHECK(host().connected());
    CHECK(events_named("host.left") == 0);
    CHECK(events_named("host.joined") == 1);
    CHECK(stored_hosts(store.durable).host_processes.size() == 0);  // arena-1 is as it was, so it was not written again
    CHECK(written<HostProcessForgotten>(*this) == 1);
}

TEST_CASE("G-12: a host that was lost is lost after a restart, too, and forgotten a day after its loss") {
    HostWorld before;
    const ConnectionId link = before.join_host();
    before.send(link, running("arena-1"));
    before.send(link, HostReport{});
    before.disconnect(link);
    const RecoveredState stored = stored_hosts(before.store.durable);
    REQUIRE(stored.hosts.size() == 1);
    CHECK(stored.hosts[0].lost_at.value > 0);

    HostWorld after(stored);
    CHECK(after.host().lost());
    CHECK(after.events_named("host.left") == 0);
    after.advance(HostsConfig{}.lost_kept - 1s);
    CHECK(after.core->hosts().size() == 1);
    after.advance(2s);
    CHECK(after.core->hosts().size() == 0);
    CHECK(after.events_named("host.forgotten") == 1);
    CHECK(written<HostForgotten>(after) == 1);

    // One whose time was over while Muster was away, and one that was lost by a clock that is ahead.
    RecoveredState odd = stored;
    odd.hosts[0].lost_at = UnixMs{1};
    HostWorld late(odd);
    late.advance(1s);
    CHECK(late.core->hosts().size() == 0);
    odd.hosts[0].lost_at = UnixMs{late.clock.wall().value * 2};
    HostWorld ahead(odd);
    ahead.advance(HostsConfig{}.lost_kept - 1s);
    CHECK(ahead.core->hosts().size() == 1);
    ahead.advance(2s);
    CHECK(ahead.core->hosts().size() == 0);
}

TEST_CASE_FIXTURE(Restarted, "G-12: an operator forgets a host that is not connected, and only such a one") {
    using Forgetting = Hosts::Forgetting;
    const auto forget = [this](std::string_view name) {
        Forgetting verdict{};
        in_pass([&](const Pass&) { verdict = core->forget_host(name); });
        return verdict;
    };
    const ConnectionId link = join_host(hello_of_host("eu-2"));
    send(link, HostReport{});
    CHECK(forget("nobody") == Forgetting::unknown);
    CHECK(forget("eu-2") == Forgetting::connected);
    CHECK(host("eu-2").connected());
    CHECK(forget("eu-1") == Forgetting::done);
    CHECK(forget("eu-1") == Forgetting::unknown);
    CHECK(events_named("host.forgotten") == 1);
    CHECK(written<HostForgotten>(*this) == 1);
    advance(HostsConfig{}.awaited_max + 1s);
    CHECK(events_named("host.left") == 1);  // of eu-2, which was silent
    // It comes back as a new one.
    join_host();
    CHECK(host().processes.empty());
}

TEST_CASE_FIXTURE(HostWorld, "G-12: of a host and its processes only what has changed is written") {
    const ConnectionId link = join_host();
    send(link, running("arena-1"));
    send(link, running("arena-2"));
    CHECK(written<HostRecord>(*this) == 0);
    send(link, HostReport{});
    CHECK(written<HostRecord>(*this) == 1);
    CHECK(written<HostProcessRecord>(*this) == 2);
    for (int i = 0; i < 5; ++i) {
        advance(5s);
        send(link, running("arena-1"));
        send(link, HostReport{float(i), float(i), false});
    }
    CHECK(written<HostRecord>(*this) == 1);
    CHECK(written<HostProcessRecord>(*this) == 2);
    send(link, killed("arena-1"));
    send(link, HostReport{0, 0, true});
    CHECK(written<HostRecord>(*this) == 2);
    CHECK(written<HostProcessRecord>(*this) == 3);
    send(link, ProcessGone{"arena-2"});
    CHECK(written<HostProcessForgotten>(*this) == 1);
    send(link, HostGoodbye{});
    CHECK(written<HostForgotten>(*this) == 1);
    CHECK(stored_hosts(store.durable).hosts.empty());
    CHECK(stored_hosts(store.durable).host_processes.empty());
}

TEST_CASE_FIXTURE(HostWorld, "G-12: the server of a process that registers itself is stored, as it is shown") {
    const ConnectionId link = join_host();
    const TestServer server = join(*this, 7001);
    ProcessReport report = running("arena-1");
    report.registers_itself = true;
    send(link, report);
    report_of(link);
    CHECK(next<ProcessMatches>(link).server == server.id);
    report_of(link);
    const RecoveredState stored = stored_hosts(store.durable);
    REQUIRE(stored.host_processes.size() == 1);
    CHECK(stored.host_processes[0].server == server.id);
    HostWorld after(stored);
    CHECK(after.view().hosts.at(0).processes.at(0).server == server.id);
}

TEST_CASE_FIXTURE(HostWorld,
                  "G-12, fault 4: while the store is down nothing of hosts piles up, and then it is written") {
    store.fault = StoreFault::full;
    const ConnectionId link = join_host();
    advance(1s);
    REQUIRE_FALSE(core->ledger().store_up());
    const std::size_t waiting = core->ledger().records_waiting() - core->ledger().events_waiting();
    for (int i = 0; i < 500; ++i) {
        ProcessReport report = running(fmt::format("p-{}", i % 50));
        report.restarts = i;
        send(link, report);
        send(link, HostReport{0, 0, i % 2 == 0});
    }
    CHECK(core->ledger().records_waiting() - core->ledger().events_waiting() <= waiting + 1);
    store.fault = StoreFault::none;
    advance(2s);
    REQUIRE(core->ledger().store_up());
    send(link, HostReport{});
    CHECK(stored_hosts(store.durable).hosts.size() == 1);
    CHECK(stored_hosts(store.durable).host_processes.size() == 50);
}

TEST_CASE_FIXTURE(HostWorld, "G-12: hosts are written only while the store has little else to do") {
    const ConnectionId link = join_host();
    store.holding = true;
    std::int32_t restarts = 0;
    for (std::size_t i = 0; i < 2 * HostRecords::queue_max; ++i) {
        ProcessReport report = running("arena-1");
        report.restarts = ++restarts;
        send(link, report);
        send(link, HostReport{});
    }
    const Ledger& ledger = core->ledger();
    CHECK(ledger.records_waiting() + ledger.records_in_flight() <= HostRecords::queue_max + 2);
    store.holding = false;
    commit();
    send(link, HostReport{});
    CHECK(stored_hosts(store.durable).host_processes.at(0).restarts == restarts);
}

TEST_CASE_FIXTURE(HostWorld, "G-12: a host with many processes is written in parts, one a report") {
    const ConnectionId link = join_host();
    const std::size_t many = HostRecords::processes_saved_max + 10;
    for (std::size_t i = 0; i < many; ++i) send(link, running(fmt::format("p-{}", i)));
    send(link, HostReport{});
    CHECK(written<HostProcessRecord>(*this) == HostRecords::processes_saved_max);
    send(link, HostReport{});
    CHECK(written<HostProcessRecord>(*this) == many);
    send(link, HostReport{});
    CHECK(written<HostProcessRecord>(*this) == many);
}

TEST_CASE("G-12: of more hosts than there is room for the rest is forgotten at the start") {
    RecoveredState stored;
    for (std::size_t i = 0; i < Hosts::hosts_max + 3; ++i)
        stored.hosts.push_back({fmt::format("h-{:04}", i), "", CoreWorld::eu, "1.0", false, UnixMs{1}, UnixMs{}});
    HostWorld world(stored);
    CHECK(world.core->hosts().size() == Hosts::hosts_max);
    CHECK(written<HostForgotten>(world) == 3);
    // An awaited one makes room only when no lost one can.
    world.join_host(hello_of_host("late"));
    CHECK(world.core->hosts().size() == Hosts::hosts_max);
    CHECK(world.core->hosts().find("h-0000") == nullptr);
}
