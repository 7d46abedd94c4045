// Figures as people read them.
#pragma once

#include <cstdint>
#include <string>

#include "cli/json_value.h"

namespace muster {

// "850 ms", "4.2 s", "3 min", "5 h 10 min", "2 d 3 h".
std::string span_text(double seconds);
// "12.3" below a hundred, "123" above.
std::string short_number(double value);
// "14:03:22.120" of today, with the date before it on other days; in the local time.
std::string moment_text(std::int64_t unix_ms);
// The share in per cent, such as "37 %"; "-" of nothing.
std::string share_text(double part, double whole);
// "37 %" and "0 %". Both are "-" while both are 0: nobody has measured them yet, for memory in use is never 0.
struct LoadText {
    std::string cpu;
    std::string memory;
};
LoadText load_text(const JsonValue& cpu_percent, const JsonValue& memory_percent);
// "0.4 ms", or "-" for 0: nobody has measured it yet.
std::string round_trip_text(double milliseconds);
// "203.0.113.7:27015" or "[2001:db8::7]:27015" of {"ip","port"}. Safe to show.
std::string endpoint_text(const JsonValue& row);
// "Tue. 14:30, speed 2" of {"day","hour","minute","speed"}.
std::string clock_text(const JsonValue& clock);

}  // namespace muster
