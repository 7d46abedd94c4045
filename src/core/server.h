// One game server as the fleet knows it.
#pragma once

#include <algorithm>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/ids.h"
#include "base/ip_address.h"
#include "base/planted.h"
#include "base/time.h"
#include "core/candidate_index.h"
#include "core/records.h"
#include "protocol/server_status.h"
#include "runtime/timer_id.h"

namespace muster {

// Where a game server takes its players. Two registrations of one endpoint are one server.
struct Endpoint {
    IpAddress ip;
    std::uint16_t port = 0;
    friend auto operator<=>(const Endpoint&, const Endpoint&) = default;
    std::string to_string() const;
};

// There may be a hundred thousand: what few of them have is kept apart, and numbers are as wide as they need to be.
struct Server {
    ServerId id;
    Endpoint endpoint;
    RegionId region;

    bool drained_by_server : 1 = false;
    bool drained_by_operator : 1 = false;
    bool silent : 1 = false;             // its heartbeat is overdue by half an interval, or its link is lost
    bool braked : 1 = false;             // silent together with many others: Offline, but kept
    bool speaks_of_matches : 1 = false;  // has sent STARTED or ENDED
    bool validates_tokens : 1 = false;   // has asked about a token
    bool to_be_counted : 1 = false;      // no report since the restart has covered what it held before

    std::int32_t max_matches = 0;
    CandidateIndex::Place place = 0;
    std::int64_t epoch = 0;  // of the present registration (F-9)

    ConnectionId link;  // no generation: not connected
    TimerId silence;
    Time registered;  // running time, as are the next two
    Time last_heartbeat;
    Time unread_since = Time::max();  // while Muster does not read its link; else the end of time
    Time last_arrival;                // real time of the latest heartbeat, 0 before the first
    UnixMs registered_at;

    // The latest load report that made sense.
    std::int32_t reported_matches = 0;
    std::int32_t ended_since_report = 0;  // of those it counted, by its own word
    std::uint32_t reports = 0;            // how many so far
    float cpu_percent = 0;
    float memory_percent = 0;

    std::int32_t offered = 0;  // offers in flight
    std::int32_t held = 0;     // acknowledged and unfinished
    int low_reports = 0;       // heartbeats in a row that report fewer matches than are held

    // For the operator (F-11, A-13).
    std::uint32_t rtt_us = 0;
    float jitter_ms = 0;
    std::uint64_t choices = 0;

    // What its certificate proves; empty without one.
    const std::string& name() const { return rare().name; }
    void set_name(std::string_view name);
    // Of the drain that came last.
    const DrainNote& drain() const { return rare().drain; }
    void set_drain(const DrainNote& note);

    bool connected() const { return link.generation != 0; }
    // Until when we would have heard it: its silence is judged by this, not by `running`.
    Time heard_until(Time running) const { return std::min(running, unread_since); }
    bool is_read() const { return unread_since == Time::max(); }
    bool draining() const { return drained_by_server || drained_by_operator; }
    // F-7: never less than what we know it holds, whatever it says.
    std::int32_t load() const {
        return std::max(reported_matches - ended_since_report,
                        held + (planted(Bug::slot_counted_after_ack) ? 0 : offered));
    }
    // F-5.
    ServerStatus status() const {
        if (!connected() || braked) return ServerStatus::offline;
        if (draining()) return ServerStatus::draining;
        return load() >= max_matches ? ServerStatus::full : ServerStatus::available;
    }

private:
    struct Rare {
        std::string name;
        DrainNote drain;
        bool operator==(const Rare&) const = default;
    };
    const Rare& rare() const;
    void set_rare(Rare&& rare);

    std::unique_ptr<Rare> rare_;  // none: both are empty
};
static_assert(sizeof(Server) == 152);

}  // namespace muster

template <>
struct std::hash<muster::Endpoint> {
    std::size_t operator()(const muster::Endpoint& endpoint) const noexcept {
        return std::hash<muster::IpAddress>{}(endpoint.ip) * 31 + endpoint.port;
    }
};
