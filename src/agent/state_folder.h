// The agent's folder: logs, and what the next agent needs to know. One agent at a time.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "agent/exit_note.h"
#include "agent/folder_lock.h"
#include "agent/id_claim.h"
#include "agent/process_record.h"
#include "base/result.h"
#include "base/time.h"

namespace muster {

// Why a folder cannot be the agent's.
struct StateRefusal {
    std::string text{};   // a sentence
    bool in_use = false;  // another agent has it
};

// A count that an operator has set for a run.
struct OperatorCount {
    std::int32_t count = 0;
    std::int32_t config = 0;  // which the config said then: it holds until the config says another
    bool operator==(const OperatorCount&) const = default;
};

class StateFolder {
public:
    // Makes it when it is not there, and locks it. Fails when it cannot be written, is not the agent's, or another
    // agent has had it, or the folder that it was copied from, for two seconds.
    static Result<StateFolder, StateRefusal> open(const std::filesystem::path& path);

    const std::filesystem::path& path() const { return path_; }
    // False when somebody has removed it, or its lock.
    bool intact() const;
    // Makes it again, with the same id. False when the disk refuses, or another agent has it meanwhile.
    bool restore();

    // The lock, for whoever starts a process: until that is done, no other agent may begin to look for processes.
    int lock_file() const { return lock_.number(); }

    // Names this folder and no other: what its agents start carries it (G-7).
    const std::string& id() const { return id_; }

    std::filesystem::path log_file(std::string_view process) const;
    std::filesystem::path match_file(std::string_view process) const;
    std::filesystem::path process_folder(std::string_view process) const;  // for its SDK's files

    // Replaced as a whole: a reader finds the old one or the new one. False when the disk refuses.
    bool write(const ProcessRecord& record) const;
    bool write_file(const std::filesystem::path& file, std::string_view text) const;
    void remove_record(std::string_view process) const;
    // Where the keeper writes how a process has ended, and what it wrote of that life.
    std::filesystem::path exit_file(std::string_view process) const;
    std::optional<ExitStatus> exit_of(std::string_view process, std::string_view life) const;
    // Every record that can be read; others are left alone.
    std::vector<ProcessRecord> records() const;
    // The files of those others.
    std::vector<std::filesystem::path> damaged_records() const;

    // Counts that operators have set, over the config's. Written as the drain is: also for the time after a power cut.
    bool write_counts(const std::map<std::string, OperatorCount>& counts) const;
    std::map<std::string, OperatorCount> counts() const;

    // Whether an operator drains this host. False, and what was written before stays, when the disk refuses.
    bool write_draining(bool draining) const;
    bool draining() const;

private:
    explicit StateFolder(std::filesystem::path path) : path_(std::move(path)) {}
    // Why a folder that is there and no agent has used should not become this one's; empty when nothing speaks against
    // it.
    std::string foreign() const;
    // Makes the folders and takes the lock, waiting for it so long; none, or why that does not work.
    std::optional<StateRefusal> occupy(Duration patience);
    // Reads the folder's id, or gives it one. False when the disk refuses.
    bool find_id();
    std::filesystem::path record_file(std::string_view process) const;
    // Every file of a record; none where the record in it cannot be read.
    std::vector<std::pair<std::filesystem::path, std::optional<ProcessRecord>>> read_records() const;

    std::filesystem::path path_;  // absolute
    FolderLock lock_;
    IdClaim claim_;
    // Of folders that were moved away under the agent: its processes are its own there, too.
    std::vector<FolderLock> moved_;
    std::string id_;
};

}  // namespace muster
