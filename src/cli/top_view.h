// What `muster top` shows, made of what the API says: no terminal, no network.
#pragma once

#include <cstddef>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/json_value.h"
#include "cli/listing.h"
#include "cli/recent_allocations.h"
#include "cli/terminal.h"

namespace muster {

// What one look at the daemon gave.
struct TopSample {
    JsonValue overview;
    std::optional<std::vector<JsonValue>> servers;  // none: those of the look before
    JsonValue events;                               // the list
    std::string asked_node{};                       // the node that was asked, where several share a store
};

class TopView {
public:
    TopView(std::string url, RegionNames regions) : url_(std::move(url)), regions_(std::move(regions)) {}

    void take(TopSample sample);
    // The daemon does not answer: what was seen last stays, with this and its age said above it. Its health is unknown.
    void failed(std::string why) { trouble_ = std::move(why); }
    // Another order of the servers.
    void next_order();

    std::vector<std::string> lines(const TerminalSize& size, bool colours) const;

private:
    std::string health() const;
    std::string first_line(std::size_t columns, bool colours) const;
    std::vector<std::string> head(std::size_t columns, bool colours) const;
    std::vector<std::string> figures(std::size_t columns) const;
    std::vector<std::string> event_lines(std::size_t most, bool colours) const;

    std::string url_;
    RegionNames regions_;
    JsonValue overview_;
    std::vector<JsonValue> servers_;  // in their order
    JsonValue events_;
    std::string asked_node_;
    std::string trouble_;
    RecentAllocations allocations_;
    std::deque<double> rates_;  // of allocations, a second, the newest last
    std::size_t order_ = 1;
};

}  // namespace muster
