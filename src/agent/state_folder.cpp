#include "agent/state_folder.h"

#include <sys/file.h>
#include <sys/stat.h>

#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstring>
#include <sstream>
#include <thread>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "agent/proc.h"
#include "base/entropy.h"
#include "base/uuid.h"

namespace muster {
namespace {

using namespace std::chrono_literals;

// An agent that was killed while it started a process leaves the lock to that process, until it has become its own
// program. So the lock is waited for, and who has it then sees every process that an earlier agent has started.
constexpr Duration lock_patience = 2s;
constexpr Duration lock_look = 20ms;

}  // namespace

Result<StateFolder, std::string> StateFolder::open(const std::filesystem::path& path) {
    StateFolder opened(std::filesystem::absolute(path));
    if (std::string problem = opened.occupy(lock_patience); !problem.empty()) return Failure(std::move(problem));
    if (!opened.find_id()) return Failure(fmt::format("{}: cannot be written", (opened.path_ / "id").string()));
    return opened;
}

std::string StateFolder::occupy(Duration patience) {
    std::error_code error;
    for (const char* part : {"", "logs", "processes"}) {
        const std::filesystem::path folder = *part ? path_ / part : path_;
        if (!std::filesystem::is_directory(folder, error)) std::filesystem::create_directories(folder, error);
        if (error) return fmt::format("{}: cannot be made: {}", folder.string(), error.message());
    }
    // What the processes print, and their match tokens, are nobody else's business.
    chmod(path_.c_str(), 0700);
    const std::filesystem::path lock_file = path_ / "lock";
    FileDescriptor lock(::open(lock_file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (!lock) return fmt::format("{}: cannot be written: {}", path_.string(), std::strerror(errno));
    const auto until = std::chrono::steady_clock::now() + patience;
    while (flock(lock.number(), LOCK_EX | LOCK_NB) != 0) {
        if (std::chrono::steady_clock::now() < until) {
            std::this_thread::sleep_for(lock_look);
            continue;
        }
        return fmt::format("{}: another agent uses this folder; stop it, or give this one another state",
                           path_.string());
    }
    lock_ = std::move(lock);
    return {};
}

bool StateFolder::intact() const {
    struct stat held{};
    struct stat there{};
    return fstat(lock_.number(), &held) == 0 && stat((path_ / "lock").c_str(), &there) == 0 &&
           held.st_dev == there.st_dev && held.st_ino == there.st_ino;
}

bool StateFolder::restore() {
    return occupy(Duration::zero()).empty() && write_file(path_ / "id", id_);
}

bool StateFolder::find_id() {
    constexpr std::size_t uuid_length = 36;
    id_ = read_small_file(path_ / "id", uuid_length);
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
    return write_file(record_file(record.name), to_json(record) + "\n");
}

bool StateFolder::write_file(const std::filesystem::path& file, std::string_view text) const {
    std::error_code error;
    std::filesystem::create_directories(file.parent_path(), error);
    const std::filesystem::path draft = file.string() + ".new";
    {
        // No sync: when the machine goes down, so do the processes that this speaks of.
        const FileDescriptor out(::open(draft.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600));
        if (!out || ::write(out.number(), text.data(), text.size()) != static_cast<ssize_t>(text.size())) return false;
    }
    return rename(draft.c_str(), file.c_str()) == 0;
}

void StateFolder::remove_record(std::string_view process) const {
    std::error_code ignored;
    std::filesystem::remove(record_file(process), ignored);
    std::filesystem::remove(match_file(process), ignored);
}

std::vector<ProcessRecord> StateFolder::records() const {
    std::vector<ProcessRecord> found;
    std::error_code error;
    for (const auto& entry : std::filesystem::directory_iterator(path_ / "processes", error)) {
        if (entry.path().extension() != ".json") continue;
        auto record = parse_process_record(read_small_file(entry.path()));
        // Its name names files: it must be this one's.
        if (record && record_file(record->name) == entry.path()) found.push_back(std::move(*record));
    }
    return found;
}

bool StateFolder::write_counts(const std::map<std::string, std::int32_t>& counts) const {
    std::string text;
    for (const auto& [run, count] : counts) text += fmt::format("{} {}\n", run, count);
    return write_file(path_ / "counts", text);
}

std::map<std::string, std::int32_t> StateFolder::counts() const {
    std::map<std::string, std::int32_t> counts;
    std::istringstream in(read_small_file(path_ / "counts"));
    std::string run;
    std::int32_t count = 0;
    while (in >> run >> count) counts[run] = count;
    return counts;
}

}  // namespace muster
