// What came of a question to the agent of a host.
#pragma once

#include <cstdint>
#include <string>

namespace muster {

struct HostVerdict {
    enum class Kind : std::uint8_t {
        done,
        no_host,
        no_process,
        away,     // the host is lost
        refused,  // by the agent, with its words
        late,     // the agent has not answered
        busy,     // too many questions wait for it
    };
    std::uint64_t number = 0;  // the asker's own
    Kind kind = Kind::done;
    std::string text{};         // of a refusal; of a log that was read
    std::int64_t position = 0;  // of a log: where to read on
};

}  // namespace muster
