#include "cli/server_table.h"

#include <algorithm>

#include <fmt/format.h>

#include "cli/figures.h"
#include "cli/terminal.h"

namespace muster {
namespace {

double key_of(const JsonValue& server, std::string_view order) {
    if (order == "load") {
        const double room = server["max_matches"].number();
        return room > 0 ? -server["matches"].number() / room : 0;
    }
    if (order == "matches") return -server["matches"].number();
    if (order == "cpu") return -server["cpu"].number();
    if (order == "memory") return -server["memory"].number();
    if (order == "heartbeat") return -server["last_heartbeat_ms_ago"].number();
    if (order == "rtt") return -server["rtt_ms"].number();
    if (order == "region") return server["region"].number();
    return server["id"].number();
}

}  // namespace

const std::vector<std::string> server_orders{"id", "load", "matches", "cpu", "memory", "heartbeat", "rtt", "region"};

void sort_servers(std::vector<JsonValue>& servers, std::string_view order) {
    std::stable_sort(servers.begin(), servers.end(), [&](const JsonValue& one, const JsonValue& other) {
        return key_of(one, order) < key_of(other, order);
    });
}

bool is_at(const JsonValue& server, std::string_view address) {
    return server["ip"].text() == address || endpoint_text(server) == address;
}

TextTable server_table(const std::vector<JsonValue>& servers, const RegionNames& regions) {
    constexpr auto right = Column::Align::right;
    TextTable table({{"ID", right},
                     {"ADDRESS"},
                     {"REGION", Column::Align::left, 6},
                     {"STATUS"},
                     {"MATCHES", right},
                     {"LOAD", right, 5},
                     {"CPU", right, 1},
                     {"MEMORY", right, 2},
                     {"HEARD", right, 4},
                     {"RTT", right, 3}});
    for (const JsonValue& server : servers) {
        const std::string status = safe_text(server["status"].text());
        const LoadText load = load_text(server["cpu"], server["memory"]);
        table.add({{fmt::to_string(server["id"].integer())},
                   {endpoint_text(server)},
                   {regions.name(server["region"].integer())},
                   {status, status_style(status)},
                   {fmt::format("{}/{}", server["matches"].integer(), server["max_matches"].integer())},
                   {share_text(server["matches"].number(), server["max_matches"].number())},
                   {load.cpu},
                   {load.memory},
                   {span_text(server["last_heartbeat_ms_ago"].number() / 1000) + " ago"},
                   {round_trip_text(server["rtt_ms"].number())}});
    }
    return table;
}

}  // namespace muster
