// How a process of a host stands, and what a report of it is sent for (G-5, G-12).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "protocol/field_types.h"

namespace muster {

enum class ProcessState : std::int8_t {
    starting = 0,    // it runs, and cannot take a match yet
    ready = 1,       // it can
    allocated = 2,   // it has one, or took one by itself
    unhealthy = 3,   // its SDK said so; it is being ended
    stopping = 4,    // it is being ended
    backoff = 5,     // it ended and will be started again soon
    crash_loop = 6,  // it ended too often; one try every five minutes
    stopped = 7,     // it ended and is not wanted now
};

template <>
struct EnumRange<ProcessState> {
    static constexpr auto first = ProcessState::starting;
    static constexpr auto last = ProcessState::stopped;
};
inline constexpr std::size_t process_state_count = 8;

constexpr std::string_view to_string(ProcessState state) {
    switch (state) {
        case ProcessState::starting:
            return "starting";
        case ProcessState::ready:
            return "ready";
        case ProcessState::allocated:
            return "allocated";
        case ProcessState::unhealthy:
            return "unhealthy";
        case ProcessState::stopping:
            return "stopping";
        case ProcessState::backoff:
            return "backoff";
        case ProcessState::crash_loop:
            return "crash_loop";
        case ProcessState::stopped:
            return "stopped";
    }
    return "";
}

// `none` tells how the process stands, as after each hello; all others that this has happened just now.
enum class ReportedNews : std::int8_t { none = 0, started = 1, ready = 2, exited = 3, unhealthy = 4, crash_loop = 5 };

template <>
struct EnumRange<ReportedNews> {
    static constexpr auto first = ReportedNews::none;
    static constexpr auto last = ReportedNews::crash_loop;
};

constexpr std::string_view to_string(ReportedNews news) {
    switch (news) {
        case ReportedNews::none:
            return "none";
        case ReportedNews::started:
            return "started";
        case ReportedNews::ready:
            return "ready";
        case ReportedNews::exited:
            return "exited";
        case ReportedNews::unhealthy:
            return "unhealthy";
        case ReportedNews::crash_loop:
            return "crash_loop";
    }
    return "";
}

}  // namespace muster
