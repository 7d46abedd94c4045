// A model of Muster as agents meet it: servers that are kept for a while without a link, offers, matches, and a process
// that may be away and come back with what it had stored.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "agent/order.h"
#include "base/ids.h"
#include "base/time.h"

namespace muster::hostsim {

struct Endpoint {
    std::string host{};
    std::uint16_t port = 0;
    auto operator<=>(const Endpoint&) const = default;
};

struct ModelMatch {
    LobbyId lobby{};
    bool accepted = false;
    Time offer_until{};
};

struct ModelServer {
    bool online = false;
    bool draining = false;
    Time kept_until{};  // while it is not online
    std::optional<ModelMatch> match{};
    std::optional<Time> reconcile_at{};  // its client does not speak of the match
};

// How a match left Muster.
struct MatchOver {
    enum class How : std::uint8_t { ended, crashed, declined, by_operator, lost };
    Endpoint at{};
    LobbyId lobby{};
    How how = How::ended;
    bool was_accepted = false;
};

class MusterModel {
public:
    // F-6 and F-7, by the usual config.
    static constexpr Duration kept = std::chrono::seconds(30);
    static constexpr Duration reconcile_after = std::chrono::seconds(40);
    static constexpr Duration offer_time = std::chrono::seconds(5);

    bool up() const { return up_; }
    void go_down() { up_ = false; }
    // With the matches that it had acknowledged.
    void come_back(Time now);

    // A client connects; `held` is the match that it speaks of. True when Muster does not know that match: it is to be
    // dropped.
    bool handshake(Time now, const Endpoint& at, std::optional<LobbyId> held);
    void link_lost(Time now, const std::string& host);
    void tell(const Endpoint& at, LobbyId lobby, TellMatch::What what);
    void leave(const Endpoint& at, bool crashed);
    void set_draining(const Endpoint& at, bool draining);

    // Offers a new match to a free server: where, and which. None when there is no free one at that place.
    std::optional<LobbyId> offer(Time now, const Endpoint& at);
    // An operator aborts the server's match; its lobby.
    std::optional<LobbyId> abort(const Endpoint& at);
    void tick(Time now);

    const std::map<Endpoint, ModelServer>& servers() const { return servers_; }
    std::vector<MatchOver> take_over_matches();

private:
    void over(const Endpoint& at, ModelServer& server, MatchOver::How how);

    bool up_ = true;
    std::map<Endpoint, ModelServer> servers_;
    std::vector<MatchOver> over_;
    std::int32_t last_lobby_ = 0;
};

}  // namespace muster::hostsim
