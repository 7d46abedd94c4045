// Named values on their way out: a message, an event or a log line tells its fields to a sink, and the sink decides
// what becomes of them (JSON, a log line, a row of the event history).
#pragma once

#include <cstdint>
#include <string_view>

namespace muster {

class FieldSink {
public:
    virtual ~FieldSink() = default;

    virtual void integer(std::string_view name, std::int64_t value) = 0;
    virtual void real(std::string_view name, double value) = 0;
    virtual void text(std::string_view name, std::string_view value) = 0;
    virtual void flag(std::string_view name, bool value) = 0;

    // Fields until the matching end belong to the group. Inside a list, names are ignored.
    virtual void begin_object(std::string_view name) = 0;
    virtual void end_object() = 0;
    virtual void begin_list(std::string_view name) = 0;
    virtual void end_list() = 0;
};

}  // namespace muster
