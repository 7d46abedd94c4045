#include "agent/host.h"

#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include "agent/agent_config.h"
#include "agent/bound_port.h"
#include "agent/life_mark.h"
#include "agent/lives.h"
#include "base/safe_text.h"

namespace muster {
namespace {

constexpr const char* agent_variable = "MUSTER_AGENT";          // the id of the state folder
constexpr const char* folder_variable = "MUSTER_STATE_FOLDER";  // where it is
// How often all processes of the machine are searched for those that a waiting process has started.
constexpr Duration member_look = std::chrono::milliseconds(500);

FileDescriptor open_pid(std::int32_t pid) {
    return FileDescriptor(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
}

void set(std::vector<EnvironmentEntry>& entries, std::string name, std::string value) {
    std::erase_if(entries, [&name](const EnvironmentEntry& each) { return each.name == name; });
    entries.push_back({std::move(name), std::move(value)});
}

}  // namespace

Host::Host(HostOptions options, StateFolder& folder, Log& log)
    : options_(std::move(options)),
      folder_(folder),
      log_(log),
      cgroups_(options_.name, folder.id()),
      epoll_(epoll_create1(EPOLL_CLOEXEC)) {
    // If the keeper is killed, its processes become our children, with what they left behind.
    prctl(PR_SET_CHILD_SUBREAPER, 1);
}

std::vector<EnvironmentEntry> Host::environment_of(const StartProcess& order, const Process& process,
                                                   const std::vector<EnvironmentEntry>& sdk) const {
    const ProcessWords words{order.port, process.name, options_.name, options_.region.value};
    std::vector<EnvironmentEntry> entries = inherited_environment();
    set(entries, "PORT", std::to_string(order.port));
    for (const EnvironmentEntry& each : order.run->env) set(entries, each.name, with_words(each.value, words));
    set(entries, "MUSTER_PROCESS", process.name);
    set(entries, "MUSTER_HOST", options_.name);
    set(entries, "MUSTER_REGION", std::to_string(options_.region.value));
    set(entries, life_variable, order.life);
    set(entries, agent_variable, folder_.id());
    set(entries, folder_variable, folder_.path().string());
    if (order.run->sdk == SdkKind::muster) {
        set(entries, "MUSTER_SERVERS", fmt::format("{}", fmt::join(options_.join, ",")));
        set(entries, "MUSTER_SERVER_TOKEN", options_.server_token);
        set(entries, "MUSTER_SLOTS", std::to_string(order.run->slots));
    }
    if (order.run->sdk == SdkKind::none) set(entries, "MUSTER_MATCH_FILE", folder_.match_file(process.name).string());
    for (const EnvironmentEntry& each : sdk) set(entries, each.name, each.value);
    return entries;
}

ProcessLog Host::log_of(const Entry& entry) const {
    return {folder_.log_file(entry.name), entry.config.log_size.bytes, entry.config.log_files};
}

Host::Started Host::start(const StartProcess& order, const Process& process, const std::vector<EnvironmentEntry>& sdk) {
    if (!port_is_free(order.port)) return {.how = Start::port_taken};
    const auto failed = [](std::string why) { return Started{.how = Start::failed, .why = std::move(why)}; };
    const auto program = find_program(order.run->command[0], order.run->directory, options_.search_path);
    if (!program) return failed(fmt::format("{}: there is no such program", order.run->command[0]));

    Entry entry{.name = process.name, .run = order.run->name, .life = order.life, .config = *order.run};
    const ProcessLog output = log_of(entry);
    output.rotate_if_full();
    auto file = output.open();
    if (!file) return failed(file.error());
    entry.log_from = output.size();
    std::error_code ignored;
    std::filesystem::remove(folder_.match_file(process.name), ignored);

    FileDescriptor cgroup_procs;
    if (cgroups_.usable()) {
        if (const auto cgroup = cgroups_.make(process.name, order.life)) {
            entry.cgroup = *cgroup;
            cgroup_procs = open_cgroup_procs(*cgroup);
        }
    }
    const ProcessWords words{order.port, process.name, options_.name, options_.region.value};
    LaunchPlan plan{.program = *program,
                    .words = {},
                    .environment = environment_of(order, process, sdk),
                    .directory = order.run->directory,
                    .output = file->number(),
                    .cgroup_procs = cgroup_procs.number(),
                    .ignores_usr1 = order.run->sdk == SdkKind::none,
                    .mark = life_mark(order.life)};
    for (const std::string& word : order.run->command) plan.words.push_back(with_words(word, words));
    auto launched = launch_kept(plan, entry);
    if (!launched) {
        // A keeper that was lost may have started it.
        ended_lives_.push_back({entry.life, entry.cgroup, looks});
        return failed(launched.error());
    }
    entry.pid = launched->pid;
    entry.pidfd = std::move(launched->pidfd);
    entry.start_ticks = launched->start_ticks;
    entries_[order.process] = std::move(entry);
    watch(entries_[order.process], order.process);
    return {.how = Start::started, .pid = launched->pid};
}

void Host::signal(ProcessId process, int number) {
    const auto found = entries_.find(process);
    if (found == entries_.end() || found->second.pid == 0) return;
    // By its pidfd, so that no other process can ever be hit.
    if (found->second.pidfd) {
        syscall(SYS_pidfd_send_signal, found->second.pidfd.number(), number, nullptr, 0);
    } else if (still_runs(found->second)) {
        kill(found->second.pid, number);
    }
}

bool Host::still_runs(const Entry& entry) {
    const auto stat = read_stat(entry.pid);
    return stat && stat->start_ticks == entry.start_ticks;
}

void Host::kill_all(ProcessId process) {
    const auto found = entries_.find(process);
    if (found == entries_.end() || found->second.pid == 0) return;  // then it is among the leftovers
    Entry& entry = found->second;
    signal(process, SIGKILL);
    // It leads its group, whose number is its own as long as it lives. When it has ended, its parent has killed the
    // rest.
    if (still_runs(entry)) kill(-entry.pid, SIGKILL);
    if (!entry.cgroup.empty()) end_cgroup(entry.cgroup);
    if (entry.cgroup.empty()) ended_lives_.push_back({entry.life, {}, 1});
}

std::vector<ProcessId> Host::bound(const std::vector<Awaited>& awaited, Time now) {
    std::vector<ProcessId> found;
    const BoundSockets sockets = bound_sockets();
    std::map<std::string, Awaited> perhaps;  // by life: somebody has its port, if not the process itself
    for (const Awaited& each : awaited) {
        const auto entry = entries_.find(each.process);
        if (entry == entries_.end() || entry->second.pid == 0 || !sockets.contains(each.port)) continue;
        if (has_bound(entry->second.pid, each.port, sockets))
            found.push_back(each.process);
        else
            perhaps[entry->second.life] = each;
    }
    if (perhaps.empty() || now < next_member_look_) return found;
    next_member_look_ = now + member_look;
    std::set<std::string> lives;
    for (const auto& [life, each] : perhaps) lives.insert(life);
    for (const LifeMember& member : members_of(lives, pids_but_of({}))) {
        const auto each = perhaps.find(member.life);
        if (each == perhaps.end() || !has_bound(member.pid, each->second.port, sockets)) continue;
        found.push_back(each->second.process);
        perhaps.erase(each);
    }
    return found;
}

std::set<std::int32_t> Host::pids_but_of(const std::set<std::string>& lives) const {
    std::set<std::int32_t> pids;
    for (const auto& [process, entry] : entries_)
        if (entry.pid != 0 && !lives.contains(entry.life)) pids.insert(entry.pid);
    return pids;
}

void Host::end_leftovers() {
    if (ended_lives_.empty()) return;
    std::set<std::string> lives;
    for (const EndedLife& each : ended_lives_)
        if (each.cgroup.empty() && !each.life.empty()) lives.insert(each.life);
    const std::set<std::string> had_members = kill_lives(lives);
    for (EndedLife& each : ended_lives_) {
        const bool gone = each.cgroup.empty() ? !had_members.contains(each.life) : end_cgroup(each.cgroup);
        each.looks_left = gone ? each.looks_left - 1 : looks;
        if (!each.cgroup.empty() && gone) each.looks_left = 0;
    }
    std::erase_if(ended_lives_, [](const EndedLife& each) { return each.looks_left <= 0; });
}

std::set<std::string> Host::kill_lives(const std::set<std::string>& lives) const {
    std::set<std::string> had_members;
    for (const LifeMember& each : members_of(lives, pids_but_of(lives))) {
        const FileDescriptor opened = open_pid(each.pid);
        // Opened and still of that life: it is this one that is killed.
        if (!opened || !belongs_to_life(each.pid, each.life) || !read_stat(each.pid)) continue;
        syscall(SYS_pidfd_send_signal, opened.number(), SIGKILL, nullptr, 0);
        had_members.insert(each.life);
    }
    return had_members;
}

bool Host::tell_match(ProcessId process, const SdkMatch& match) {
    const auto found = entries_.find(process);
    if (found == entries_.end() || found->second.pid == 0) return false;
    if (!folder_.write_file(folder_.match_file(found->second.name), match_file_text(match))) return false;
    signal(process, SIGUSR1);
    return true;
}

bool Host::rotate_logs() {
    bool any = false;
    for (auto& [process, entry] : entries_) {
        if (entry.pid == 0) continue;
        const ProcessLog output = log_of(entry);
        if (output.size() <= entry.config.log_size.bytes) continue;
        output.rotate_if_full();
        entry.log_from = 0;
        any = true;
    }
    return any;
}

std::string Host::last_output(ProcessId process) const {
    const auto found = entries_.find(process);
    if (found == entries_.end()) return {};
    return log_of(found->second).tail_from(found->second.log_from, last_output_max);
}

ProcessLog::Piece Host::read_log(std::string_view process, std::int64_t from, std::size_t bytes_max) const {
    const RunConfig usual;
    ProcessLog output(folder_.log_file(process), usual.log_size.bytes, usual.log_files);
    for (const auto& [id, entry] : entries_)
        if (entry.name == process) output = log_of(entry);
    if (from >= 0) return output.read_on(from, bytes_max);
    const std::int64_t size = output.size();
    return {output.tail(bytes_max), size};
}

ProcessLoad Host::read_load(ProcessId process, Time now, std::int32_t share) {
    const auto found = entries_.find(process);
    if (found == entries_.end() || found->second.pid == 0) return {};
    Entry& entry = found->second;
    CgroupFigures figures;
    if (!entry.cgroup.empty()) figures = read_cgroup(entry.cgroup);
    const auto stat = read_stat(entry.pid);
    if (!figures.cpu && stat) figures.cpu = stat->cpu;
    if (!figures.memory_bytes && stat) figures.memory_bytes = stat->memory_bytes;

    const double cores = entry.config.cpu > 0 ? entry.config.cpu : host_cores() / std::max(share, 1);
    const double memory = entry.config.memory.bytes > 0 ? static_cast<double>(entry.config.memory.bytes)
                                                        : static_cast<double>(host_memory_bytes()) / std::max(share, 1);
    ProcessLoad load;
    if (figures.cpu && entry.cpu && now > entry.cpu_read_at && *figures.cpu >= *entry.cpu)
        load.cpu_percent =
            100.0 * to_seconds(*figures.cpu - *entry.cpu) / (to_seconds(now - entry.cpu_read_at) * cores);
    if (figures.memory_bytes) load.memory_percent = 100.0 * static_cast<double>(*figures.memory_bytes) / memory;
    entry.cpu = figures.cpu;
    entry.cpu_read_at = now;
    load.cpu_percent = std::clamp(load.cpu_percent, 0.0, 100.0);
    load.memory_percent = std::clamp(load.memory_percent, 0.0, 100.0);
    return load;
}

bool Host::write_record(const Process& process, Moment at, std::string_view sdk_state) {
    const auto found = entries_.find(process.id);
    const bool runs = process.pid && found != entries_.end() && found->second.pid == *process.pid;
    if (!runs && !process.rests()) {
        remove_record(process);
        return true;
    }
    ProcessRecord record = record_of(process, at);
    record.boot = boot_;
    record.folder = folder_.id();
    record.sdk_state = sdk_state;
    if (found != entries_.end()) {
        record.start_ticks = found->second.start_ticks;
        record.cgroup = found->second.cgroup.string();
        record.log_from = found->second.log_from;
    }
    if (folder_.write(record)) return true;
    // What it said when it ran is over.
    if (!runs) remove_record(process);
    return false;
}

void Host::remove_record(const Process& process) {
    folder_.remove_record(process.name);
}

Census Host::find_survivors() {
    census_at_ = std::chrono::steady_clock::now();
    std::vector<SeenProcess> running;
    for (const std::int32_t pid : all_processes()) {
        const ProcEnvironment environment(pid);
        // By its id; or by its path, when the folder and its id were lost while no agent ran. A container has paths of
        // its own.
        const bool is_of_this_folder =
            environment.has(agent_variable, folder_.id()) ||
            (environment.has(folder_variable, folder_.path().string()) && shares_mounts(pid));
        if (pid == getpid() || !is_of_this_folder) continue;
        const auto stat = read_stat(pid);
        if (!stat) continue;
        running.push_back({pid, stat->start_ticks, environment.value(life_variable),
                           environment.value("MUSTER_PROCESS"),
                           whole_number<std::uint16_t>(environment.value("PORT")).value_or(0)});
    }
    for (const auto& file : folder_.damaged_records())
        log_.warning("{} is damaged: its process, if there is one, is ended", file.string());
    std::vector<ProcessRecord> records = folder_.records();
    drop_foreign(records, running);
    Census census = take_census(std::move(records), running, boot_);
    // Their records stay until Muster was told.
    for (const auto* ended : {&census.ended, &census.resting})
        for (const ProcessRecord& each : *ended) ended_lives_.push_back({each.life, each.cgroup, looks});
    for (const SeenProcess& each : census.unowned) {
        log_.warning("Ending process {} (pid {}): an earlier agent started it and left no record of it",
                     safe_text(each.name), each.pid);
        ended_lives_.push_back({each.life, {}, looks});
        if (cgroups_.usable() && is_plain_name(each.name) && is_plain_name(each.life))
            ended_lives_.push_back({{}, cgroups_.of(each.name, each.life), looks});
    }
    end_leftovers();  // before anything is started in their place
    return census;
}

// In a copy of a folder that got an id of its own the records are of another agent's processes: neither ours to end nor
// to tell of. What carries our folder's path is ours whatever the id: then the id was lost.
void Host::drop_foreign(std::vector<ProcessRecord>& records, const std::vector<SeenProcess>& running) const {
    std::set<std::string> lives;
    for (const SeenProcess& each : running) lives.insert(each.life);
    std::erase_if(records, [&](const ProcessRecord& record) {
        if (record.folder.empty() || record.folder == folder_.id() || lives.contains(record.life)) return false;
        log_.warning("The record of process {} is of another state folder: it is dropped", safe_text(record.name));
        folder_.remove_record(record.name);
        return true;
    });
}

bool Host::adopt(ProcessId process, const ProcessRecord& record, const RunConfig& run) {
    Entry entry{.name = record.name,
                .run = record.run,
                .life = record.life,
                .config = run,
                .pid = record.pid,
                .start_ticks = record.start_ticks,
                .pidfd = open_pid(record.pid),
                .cgroup = record.cgroup,
                .log_from = record.log_from};
    const auto stat = read_stat(record.pid);
    if (!entry.pidfd || !stat || stat->start_ticks != record.start_ticks) return false;
    entries_[process] = std::move(entry);
    watch(entries_[process], process);
    return true;
}

void Host::remember(ProcessId process, const ProcessRecord& record, const RunConfig& run) {
    entries_[process] =
        Entry{.name = record.name, .run = record.run, .life = record.life, .config = run, .log_from = record.log_from};
}

void Host::watch(Entry& entry, ProcessId process) {
    epoll_event event{};
    event.events = EPOLLIN | EPOLLONESHOT;
    event.data.u32 = static_cast<std::uint32_t>(process.value);
    epoll_ctl(epoll_.number(), EPOLL_CTL_ADD, entry.pidfd.number(), &event);
}

void Host::end_survivor(const ProcessRecord& record) {
    ended_lives_.push_back({record.life, record.cgroup, looks});
    folder_.remove_record(record.name);
}

}  // namespace muster
