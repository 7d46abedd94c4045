// The fleet by region: what it holds and how full it is.
#pragma once

#include "cli/json_value.h"
#include "cli/text_table.h"

namespace muster {

// Of the API's list of regions.
TextTable region_table(const JsonValue& regions);

}  // namespace muster
