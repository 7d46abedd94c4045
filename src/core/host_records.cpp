#include "core/host_records.h"

#include <string>
#include <tuple>

namespace muster {
namespace {

HostRecord record_of(const KnownHost& host) {
    return {host.name, host.address, host.region, host.version, host.draining, host.joined_at, host.lost_at};
}

HostProcessRecord record_of(const KnownHost& host, const HostProcess& process) {
    const ProcessReport& last = process.last;
    return {host.name,      last.process.string(), last.run.string(),        last.state,    last.pid,
            last.game_port, process.server(),      last.started_at,          last.restarts, last.exit_at,
            last.exit_code, last.exit_signal,      last.exit_reason.string()};
}

}  // namespace

bool HostRecords::takes_more() const {
    return ledger_.store_up() && ledger_.records_waiting() + ledger_.records_in_flight() <= queue_max;
}

void HostRecords::save(KnownHost& host) {
    if (!takes_more()) return;
    if (host.stored.stale) ledger_.write(record_of(host));
    host.stored = {.written = true, .stale = false};
    std::size_t room = processes_saved_max;
    for (auto& [name, process] : host.processes) {
        if (!process.stored.stale) continue;
        if (room-- == 0) return;
        ledger_.write(record_of(host, process));
        process.stored = {.written = true, .stale = false};
    }
}

void HostRecords::forget(const KnownHost& host) {
    if (host.stored.written) ledger_.write(HostForgotten{host.name});
}

void HostRecords::forget(std::string_view host, const HostProcess& process) {
    if (process.stored.written) ledger_.write(HostProcessForgotten{std::string(host), process.last.process.string()});
}

bool HostRecords::same(const ProcessReport& one, const ProcessReport& other) {
    const auto fields = [](const ProcessReport& report) {
        return std::tie(report.process, report.run, report.state, report.pid, report.game_port, report.server,
                        report.started_at, report.restarts, report.exit_at, report.exit_code, report.exit_signal,
                        report.exit_reason);
    };
    return fields(one) == fields(other);
}

KnownHost HostRecords::recovered(const HostRecord& record) {
    KnownHost host;
    host.name = record.name;
    host.address = record.address;
    host.region = record.region;
    host.version = record.version;
    host.draining = record.draining;
    host.joined_at = record.joined_at;
    host.lost_at = record.lost_at;
    host.stored = {.written = true, .stale = false};
    return host;
}

HostProcess HostRecords::recovered(const HostProcessRecord& record) {
    HostProcess process;
    process.last.process = ProcessNameText(record.name);
    process.last.run = RunNameText(record.run);
    process.last.state = record.state;
    process.last.pid = record.pid;
    process.last.game_port = record.port;
    process.last.server = record.server;
    process.last.started_at = record.started_at;
    process.last.restarts = record.restarts;
    process.last.exit_at = record.exit_at;
    process.last.exit_code = record.exit_code;
    process.last.exit_signal = record.exit_signal;
    process.last.exit_reason = ReasonText(record.exit_reason);
    process.told = false;
    process.stored = {.written = true, .stale = false};
    return process;
}

}  // namespace muster
