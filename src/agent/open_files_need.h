// How many open files the agent needs for its processes, compared with what it may have (S-7).
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "agent/run_config.h"

namespace muster {

// Of one process: its pidfd, its link to Muster, and the ports and connections of its SDK.
constexpr std::size_t open_files_of_process(SdkKind sdk) {
    switch (sdk) {
        case SdkKind::muster:
            return 1;  // it has a link of its own
        case SdkKind::none:
            return 2;
        case SdkKind::gsdk:
            return 5;
        case SdkKind::agones:
            return 8;
    }
    return 8;
}

// What an operator should know; empty when `open_files` suffices for as many processes as there may be.
inline std::string warning_of_open_files(const std::vector<RunConfig>& runs, std::size_t open_files) {
    constexpr std::size_t own_files = 64;  // logs being read, records being written, the agent's own link
    std::size_t processes = 0;
    std::size_t needed = own_files;
    for (const RunConfig& run : runs) {
        const auto most = static_cast<std::size_t>(run.count_max);
        processes += most;
        needed += most * open_files_of_process(run.sdk);
    }
    if (needed <= open_files) return {};
    return fmt::format(
        "The runs may have {} processes, which need about {} open files, and the limit is {}: those beyond it fail "
        "with "
        "\"Too many open files\". Raise the hard limit (systemd: LimitNOFILE=, shell: ulimit -Hn)",
        processes, needed, open_files);
}

}  // namespace muster
