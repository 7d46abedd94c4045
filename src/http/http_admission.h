// The connections of the HTTP server: who is served, and who makes room for a newcomer at a limit (S-7).
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/ip_address.h"
#include "base/time.h"
#include "http/http_connection.h"
#include "http/http_quota.h"
#include "http/http_server.h"
#include "tls/giving_way.h"

namespace muster {

// HTTP thread only, but for what is said.
class HttpAdmission {
public:
    HttpAdmission(const HttpQuota::Limits& limits, std::shared_ptr<HttpShared> shared)
        : quota_(limits), shared_(std::move(shared)) {}

    const HttpQuota::Limits& limits() const { return quota_.limits(); }
    // Open connections stay, even above the new limits.
    void set_limits(const HttpQuota::Limits& limits) { quota_.set_limits(limits); }

    // Whether the address has brought so many newcomers in this second that this one is refused: each costs a TLS
    // handshake.
    bool comes_too_often(const IpAddress& from);

    // Serves it if there is room; false when there is none, which changes nothing. In a full port with TLS,
    // connections that have not finished their handshake give way to newcomers of addresses with fewer of them.
    bool admit_if_room(const std::shared_ptr<HttpConnection>& connection);
    // Whether most connections have not finished their TLS handshake, of those that there were when the port was last
    // full. Turns for the others would make no room.
    bool is_flooded() const;
    // Serves it in place of one that has waited long enough for its peer; else serves probes only, for loopback, or
    // turns it away.
    void admit_anyway(const std::shared_ptr<HttpConnection>& connection);

    void ended(HttpConnection* connection);
    bool empty() const { return served_.empty() && beside_.empty(); }
    // A copy, since connections leave as they end.
    std::vector<std::shared_ptr<HttpConnection>> all() const;

    // Any thread.
    void tell(HttpFigures& figures) const;

private:
    // What a connection may ask for.
    enum class Kind : std::uint8_t { served, probes_only, turned_away };
    struct Admitted {
        std::shared_ptr<HttpConnection> connection;
        IpAddress peer;
        Kind as = Kind::served;
    };

    void admit(const std::shared_ptr<HttpConnection>& connection, Kind as);
    Kind kind_for(const IpAddress& peer);
    bool one_gives_way(const IpAddress& newcomer);
    void list_unproven(Time now);
    bool let_one_go(HttpRefusal refusal, const IpAddress& newcomer);
    void let_go_of_oldest_probe();
    std::size_t count_beside(Kind as) const;
    std::size_t beside_the_served(std::size_t most) const;
    void changed();

    HttpQuota quota_;
    const std::shared_ptr<HttpShared> shared_;
    using Connections = std::unordered_map<HttpConnection*, Admitted>;
    Connections served_;
    Connections beside_;                                 // the few others
    std::optional<Time> none_may_go_until_;              // in a flood: not to be looked for again before
    GivingWay<std::weak_ptr<HttpConnection>> unproven_;  // those that have not finished their TLS handshake

    // Any thread.
    std::atomic<std::uint64_t> count_{0};
    std::atomic<std::uint64_t> refused_per_ip_{0};
    std::atomic<std::uint64_t> refused_per_port_{0};
    std::atomic<std::uint64_t> refused_accept_rate_{0};
    std::atomic<std::uint64_t> let_go_{0};
};

}  // namespace muster
