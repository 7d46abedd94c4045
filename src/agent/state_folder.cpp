#include "agent/state_folder.h"

#include <sys/stat.h>

#include <chrono>
#include <set>
#include <sstream>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "agent/proc.h"
#include "agent/replaced_file.h"
#include "base/entropy.h"
#include "base/safe_text.h"
#include "base/uuid.h"

namespace muster {
namespace {

using namespace std::chrono_literals;

// An agent that was killed while it started a process leaves the lock to that process, until it has become its own
// program. So the lock is waited for, and who has it then sees every process that an earlier agent has started.
constexpr Duration lock_patience = 2s;
// Folders that were moved away and stay locked; the oldest is let go first.
constexpr std::size_t moved_most = 16;

}  // namespace

Result<StateFolder, StateRefusal> StateFolder::open(const std::filesystem::path& path) {
    StateFolder opened(std::filesystem::absolute(path));
    if (std::string problem = opened.foreign(); !problem.empty()) return Failure(StateRefusal{std::move(problem)});
    if (auto refusal = opened.occupy(lock_patience)) return Failure(std::move(*refusal));
    if (!opened.find_id())
        return Failure(StateRefusal{fmt::format("{}: cannot be written", (opened.path_ / "id").string())});
    auto claim = IdClaim::take(opened.id_, lock_patience);
    if (!claim)
        return Failure(StateRefusal{
            fmt::format(
                "{}: is a copy of the folder that {} uses; its processes would have two owners. Give this agent "
                "another state, such as a new folder",
                opened.path_.string(), with_pid("another agent", claim.error().pid)),
            true});
    opened.claim_ = std::move(*claim);
    return opened;
}

std::optional<StateRefusal> StateFolder::occupy(Duration patience) {
    std::error_code error;
    for (const char* part : {"", "logs", "processes"}) {
        const std::filesystem::path folder = *part ? path_ / part : path_;
        // The folder itself may be a link that its operator made; what is in it is the agent's own.
        if (*part && std::filesystem::is_symlink(folder, error))
            return StateRefusal{
                fmt::format("{}: is a symbolic link; remove it, or put a folder in its place", folder.string())};
        if (!std::filesystem::is_directory(folder, error)) std::filesystem::create_directories(folder, error);
        if (error) return StateRefusal{fmt::format("{}: cannot be made: {}", folder.string(), error.message())};
    }
    // What the processes print, and their match tokens, are nobody else's business.
    chmod(path_.c_str(), 0700);
    auto lock = FolderLock::take(path_, patience);
    if (!lock && !lock.error().in_use)
        return StateRefusal{fmt::format("{}: cannot be written: {}", path_.string(), lock.error().why)};
    if (!lock)
        return StateRefusal{fmt::format("{}: {} uses this folder; stop it, or give this one another state",
                                        path_.string(), with_pid("another agent", lock.error().holder)),
                            true};
    lock_ = std::move(*lock);
    return std::nullopt;
}

std::string StateFolder::foreign() const {
    static const std::set<std::string> ours{"lock",       "id.new",   "logs",         "processes", "counts",
                                            "counts.new", "draining", "draining.new", "lost+found"};
    struct stat found{};
    if (stat(path_.c_str(), &found) != 0) return {};  // it is made
    std::error_code error;
    if (std::filesystem::exists(path_ / "id", error)) return {};
    if ((found.st_mode & (S_IWGRP | S_IWOTH)) != 0)
        return fmt::format("{}: others may write to this folder; give the path of one that is the agent's alone",
                           path_.string());
    for (const auto& entry : std::filesystem::directory_iterator(path_, error)) {
        if (!ours.contains(entry.path().filename().string()))
            return fmt::format("{}: holds {}, which is not the agent's; give the path of a new or empty folder",
                               path_.string(), safe_text(entry.path().filename().string()));
    }
    return {};
}

bool StateFolder::intact() const {
    return lock_.is_of(path_);
}

bool StateFolder::restore() {
    FolderLock before = std::move(lock_);
    if (occupy(Duration::zero())) {
        lock_ = std::move(before);
        return false;
    }
    std::erase_if(moved_, [](const FolderLock& each) { return each.is_removed(); });
    if (!before.is_removed()) moved_.push_back(std::move(before));
    if (moved_.size() > moved_most) moved_.erase(moved_.begin());
    return write_file(path_ / "id", id_);
}

bool StateFolder::find_id() {
    constexpr std::size_t uuid_length = 36;
    id_ = text_of_file(path_ / "id", uuid_length);
    if (id_.size() == uuid_length && id_.find_first_not_of("0123456789abcdef-") == std::string::npos) return true;
    SystemEntropy entropy;
    id_ = random_uuid(entropy);
    return write_file(path_ / "id", id_);
}

std::filesystem::path StateFolder::log_file(std::string_view process) const {
    return path_ / "logs" / fmt::format("{}.log", process);
}
std::filesystem::path StateFolder::match_file(std::string_view process) const {
    return process_folder(process) / "match.json";
}
std::filesystem::path StateFolder::process_folder(std::string_view process) const {
    return path_ / "processes" / process;
}
std::filesystem::path StateFolder::record_file(std::string_view process) const {
    return path_ / "processes" / fmt::format("{}.json", process);
}

bool StateFolder::write(const ProcessRecord& record) const {
    if (!write_file(record_file(record.name), to_json(record) + "\n")) return false;
    if (record.pid == 0) remove_file(exit_file(record.name), Kept::until_reboot);  // it is in the record
    return true;
}

std::filesystem::path StateFolder::exit_file(std::string_view process) const {
    return path_ / "processes" / fmt::format("{}.exit", process);
}
std::optional<ExitStatus> StateFolder::exit_of(std::string_view process, std::string_view life) const {
    const auto note = parse_exit_note(text_of_file(exit_file(process)));
    return note && note->life == life ? std::optional(note->status) : std::nullopt;
}

bool StateFolder::write_file(const std::filesystem::path& file, std::string_view text) const {
    std::error_code error;
    std::filesystem::create_directories(file.parent_path(), error);
    return replace_file(file, text, Kept::until_reboot);
}

void StateFolder::remove_record(std::string_view process) const {
    for (const auto& file : {record_file(process), match_file(process), exit_file(process)})
        remove_file(file, Kept::until_reboot);
}

std::vector<std::pair<std::filesystem::path, std::optional<ProcessRecord>>> StateFolder::read_records() const {
    std::vector<std::pair<std::filesystem::path, std::optional<ProcessRecord>>> found;
    std::error_code error;
    for (const auto& entry : std::filesystem::directory_iterator(path_ / "processes", error)) {
        if (entry.path().extension() != ".json") continue;
        auto record = parse_process_record(text_of_file(entry.path()));
        // Its name names files: it must be this one's.
        if (record && record_file(record->name) != entry.path()) record.reset();
        found.emplace_back(entry.path(), std::move(record));
    }
    return found;
}

std::vector<ProcessRecord> StateFolder::records() const {
    std::vector<ProcessRecord> whole;
    for (auto& [file, record] : read_records())
        if (record) whole.push_back(std::move(*record));
    return whole;
}

std::vector<std::filesystem::path> StateFolder::damaged_records() const {
    std::vector<std::filesystem::path> damaged;
    for (auto& [file, record] : read_records())
        if (!record) damaged.push_back(std::move(file));
    return damaged;
}

bool StateFolder::write_draining(bool draining) const {
    if (!draining) return remove_file(path_ / "draining", Kept::for_good);
    return replace_file(path_ / "draining", "an operator drains this host\n", Kept::for_good);
}

bool StateFolder::draining() const {
    std::error_code error;
    return std::filesystem::exists(path_ / "draining", error);
}

bool StateFolder::write_counts(const std::map<std::string, OperatorCount>& counts) const {
    std::string text;
    for (const auto& [run, set] : counts) text += fmt::format("{} {} {}\n", run, set.count, set.config);
    return replace_file(path_ / "counts", text, Kept::for_good);
}

std::map<std::string, OperatorCount> StateFolder::counts() const {
    std::map<std::string, OperatorCount> counts;
    std::istringstream in(text_of_file(path_ / "counts"));
    std::string run;
    OperatorCount set;
    while (in >> run >> set.count >> set.config) counts[run] = set;
    return counts;
}

}  // namespace muster
