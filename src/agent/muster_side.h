// The processes as Muster sees them: one game server each, with heartbeats, offers and matches by the SDK (G-1).
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "agent/agent_tls.h"
#include "agent/order.h"
#include "agent/process.h"
#include "base/ids.h"
#include "base/time.h"
#include "muster/game_server.h"
#include "muster/tcp_runner.h"

namespace muster {

struct MusterSideOptions {
    std::vector<std::string> join;
    std::string token;
    std::string address;  // where players reach this host
    RegionId region{};
};

// What Muster said to one of them.
struct MusterSaid {
    enum class Kind : std::uint8_t { offer, abort, online, connecting, no_link, error, closed };
    ProcessId process{};
    std::uint64_t client = 0;  // of its lives' clients, which one
    Kind kind = Kind::offer;
    SdkMatch match{};    // of an offer; of an abort the lobby alone
    std::string text{};  // of an abort and an error; of no_link why
    ServerId server{};   // of online
};

// The SDK works on a thread of its own; calls come on the agent's thread, but for `wake`, which is called on the SDK's
// when there is something to take.
class MusterSide {
public:
    // With nobody at one address for this long the next is tried.
    static constexpr Duration address_patience = std::chrono::seconds(10);

    // `tls` outlives it.
    MusterSide(MusterSideOptions options, const AgentTls& tls, std::function<void()> wake);
    ~MusterSide();

    // A match that the process holds already is one that an earlier agent took. It waits until Muster has heard what
    // became of a match that an earlier life on this port left behind: it would take over the match with the server.
    void join(Time now, ProcessId process, std::uint16_t port, const std::optional<MatchHeld>& match);
    // A crash tells Muster so; what is still held is aborted.
    void leave(Time now, ProcessId process, bool crashed);
    void drain(ProcessId process, bool draining);
    void tell(const TellMatch& what);
    void report_load(ProcessId process, sdk::Load load);

    // For another client of the same Muster, such as the host's own link.
    sdk::TcpRunner& runner() { return runner_; }

    std::vector<MusterSaid> take_said();
    // Lets those go that have said goodbye, and tries the next address for those that find nobody.
    void tidy(Time now);
    bool all_left() const { return leaving_.empty(); }

    // Waits for what is to be said, three seconds at most, and closes all links without a goodbye: the servers are kept
    // for the next agent.
    void close();

private:
    struct Client {
        std::unique_ptr<sdk::GameServer> server;
        std::uint64_t number = 0;
        std::uint16_t port = 0;
        std::size_t address = 0;
        Time since{};  // it is not online
        bool online = false;
        std::set<std::string> told{};  // what is wrong, since it was online
        Time gone_at{};                // of one that is leaving
        // Of one that is leaving.
        bool crashed = false;
        bool owes_goodbye = false;        // since it was not online
        bool closed = false;              // all is said
        std::optional<SdkMatch> match{};  // the latest that it took
        bool match_ended = false;

        // Muster may hold a match for it that only its goodbye ends.
        bool leaves_a_match() const { return match && !match_ended; }
    };
    struct WaitingJoin {
        std::uint16_t port = 0;
        std::optional<MatchHeld> match{};
        std::optional<bool> draining{};
    };

    void said(MusterSaid what);
    bool is_news(Client& client, const MusterSaid& said);
    void ask_why(ProcessId process, const Client& client);
    static void take_over(Client& client, const SdkMatch& match, sdk::GameServer::MatchStage stage);
    std::optional<SdkMatch> ended_untold(std::uint16_t port) const;
    bool must_wait(std::uint16_t port) const;
    void join_waiting(Time now);
    static bool finds_nobody(Time now, Client& client);
    void try_next_address(Client& client);
    void say_goodbye(Client& client);
    template <class Command>
    void command(ProcessId process, Command command);

    const MusterSideOptions options_;
    const AgentTls& tls_;
    const std::function<void()> wake_;
    std::map<ProcessId, Client> clients_;
    std::vector<Client> leaving_;
    std::map<ProcessId, WaitingJoin> waiting_;
    std::size_t address_ = 0;  // that answered last
    std::uint64_t last_number_ = 0;

    std::mutex mutex_;
    std::vector<MusterSaid> said_;  // guarded by mutex_

    sdk::TcpRunner runner_;
};

// The address of this machine that packets to Muster ("host:port", or "muster-tls://host:port") would come from; none
// when the host is not known.
std::optional<std::string> local_address_towards(const std::string& address_of_muster);

}  // namespace muster
