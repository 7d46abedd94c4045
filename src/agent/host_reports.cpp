#include "agent/host_reports.h"

#include <algorithm>
#include <utility>

#include "agent/process_log.h"
#include "protocol/text.h"

namespace muster {

ReportedNews reported(ProcessNews::Kind kind) {
    switch (kind) {
        case ProcessNews::Kind::started:
            return ReportedNews::started;
        case ProcessNews::Kind::ready:
            return ReportedNews::ready;
        case ProcessNews::Kind::exited:
            return ReportedNews::exited;
        case ProcessNews::Kind::unhealthy:
            return ReportedNews::unhealthy;
        case ProcessNews::Kind::crash_loop:
            return ReportedNews::crash_loop;
        case ProcessNews::Kind::changed:
            break;
    }
    return ReportedNews::none;
}

std::string last_lines_of(std::string_view output, std::size_t bytes_max) {
    while (output.ends_with('\n')) output.remove_suffix(1);
    // Making it harmless never makes it shorter by more than the carriage returns.
    constexpr std::size_t look_back = 2;
    if (output.size() > bytes_max * look_back) output.remove_prefix(output.size() - bytes_max * look_back);
    std::string safe = safe_output(output);
    if (safe.size() <= bytes_max) return safe;
    safe.erase(0, safe.size() - bytes_max);
    const std::size_t line = safe.find('\n');
    if (line != std::string::npos && line + 1 < safe.size()) {
        safe.erase(0, line + 1);
        return safe;
    }
    // Its first character may have been cut.
    const auto continues = [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U; };
    safe.erase(safe.begin(), std::find_if_not(safe.begin(), safe.end(), continues));
    return safe;
}

void HostReports::registered(ProcessId process, ServerId server) {
    if (server.value == 0) {
        servers_.erase(process);
    } else {
        servers_[process] = server;
    }
}

void HostReports::ended(ProcessId process, std::string_view output) {
    last_lines_[process] = last_lines_of(output, LastLinesText::size_max);
    servers_.erase(process);
}

ProcessReport HostReports::of(const Process& process, ReportedNews news) {
    ProcessReport report;
    report.news = news;
    report.process = ProcessNameText::cut(process.name);
    report.run = RunNameText::cut(process.run->name);
    report.state = process.state;
    report.pid = process.pid.value_or(0);
    report.game_port = process.port;
    if (const auto server = servers_.find(process.id); server != servers_.end()) report.server = server->second;
    report.registers_itself = process.run->sdk == SdkKind::muster;
    report.started_at = process.started_at;
    report.restarts = process.restarts;
    if (process.last_exit) {
        report.exit_at = process.last_exit->at;
        report.exit_code = process.last_exit->status.code.value_or(-1);
        report.exit_signal = process.last_exit->status.signal.value_or(0);
        report.exit_reason = ReasonText::cut(process.last_exit->reason);
        if (const auto lines = last_lines_.find(process.id); lines != last_lines_.end())
            report.last_lines = LastLinesText(lines->second);
    }
    told_[process.name] = process.id;
    return report;
}

std::vector<std::string> HostReports::take_gone(const std::vector<const Process*>& present) {
    std::set<std::string_view> names;
    for (const Process* each : present) names.insert(each->name);
    std::vector<std::string> gone;
    for (const auto& [name, process] : told_)
        if (!names.contains(name)) gone.push_back(name);
    for (const std::string& name : gone) {
        const auto told = told_.find(name);
        servers_.erase(told->second);
        last_lines_.erase(told->second);
        told_.erase(told);
    }
    return gone;
}

}  // namespace muster
