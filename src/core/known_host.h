// A host and its processes, as its agent told of them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/ids.h"
#include "base/ip_address.h"
#include "base/time.h"
#include "core/link_table.h"
#include "protocol/host_messages.h"
#include "runtime/timers.h"

namespace muster {

// Names of hosts, processes and runs stand in paths, so they have few letters.
inline bool is_host_name(std::string_view name) {
    const auto fits = [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' ||
               c == '.';
    };
    return !name.empty() && name != "." && name != ".." && std::all_of(name.begin(), name.end(), fits);
}

// How much of something the store has.
struct StoredState {
    bool written = false;  // there is a record of it
    bool stale = true;     // which is not what is known now
};

struct HostProcess {
    ProcessReport last;   // as it was told, brought within bounds; its news is none
    bool told = true;     // since the last hello
    ServerId own_server;  // of one that registers itself: who it is in the fleet, once that is certain
    std::int32_t own_matches = 0;
    bool own_told = false;  // the agent has been told these two
    StoredState stored;

    // Who it is in the fleet; 0 when it is nobody there.
    ServerId server() const { return own_server.value != 0 ? own_server : last.server; }
};

struct KnownHost {
    HostNumber number;
    std::string name;
    std::string address;  // where players reach it; empty: not known
    RegionId region;
    std::string version;
    float cpu_percent = 0;
    float memory_percent = 0;
    bool draining = false;
    UnixMs joined_at;
    UnixMs lost_at;                    // 0 while it is connected, or awaited
    ConnectionId link;                 // no generation: it has none
    IpAddress peer;                    // where its link comes from, or came from
    Time last_seen;                    // running time, as is the next
    std::optional<Time> unread_since;  // while Muster does not read its link
    bool listing = false;              // between its hello and its first report
    std::map<std::string, HostProcess, std::less<>> processes;
    StoredState stored;
    TimerId due;  // its silence; of an awaited one its loss; of a lost one its forgetting
    // Of the present minute.
    Time minute_began;
    std::uint32_t events_in_minute = 0;

    bool connected() const { return link.generation != 0; }
    bool lost() const { return lost_at.value != 0; }
    // Muster has restarted, and it had a link before.
    bool awaited() const { return !connected() && !lost(); }
    Time heard_until(Time running) const { return unread_since.value_or(running); }
};

}  // namespace muster
