// One event as one line, for people.
#pragma once

#include <cstddef>
#include <string>

#include "cli/json_value.h"
#include "cli/listing.h"

namespace muster {

struct EventLineForm {
    bool colours = false;
    std::size_t moment_columns = 0;  // at least so many for the time, so that lines of several days stand in columns
};

// "14:03:22.120  match.allocated    lobby_id=5 region=EU took=12ms": the time, the type, and what else there is to
// know, without what is empty. What others named is made safe.
std::string event_line(const JsonValue& event, const RegionNames& regions, const EventLineForm& form);

}  // namespace muster
