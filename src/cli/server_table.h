// Game servers as a table, and in the order that is asked for.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/listing.h"
#include "cli/text_table.h"

namespace muster {

// What servers can be sorted by; the first is their own order.
extern const std::vector<std::string> server_orders;

// The greatest first, but for id and region. Ties stay as they were.
void sort_servers(std::vector<JsonValue>& servers, std::string_view order);

// Whether that is its address: "203.0.113.7", or with the port "203.0.113.7:27015" or "[2001:db8::7]:27015".
bool is_at(const JsonValue& server, std::string_view address);

TextTable server_table(const std::vector<JsonValue>& servers, const RegionNames& regions);

}  // namespace muster
