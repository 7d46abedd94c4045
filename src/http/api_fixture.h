// The API under test: a game that is played by hand, a thread that is turned by hand, and who asks.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/log.h"
#include "base/no_log.h"
#include "base/seeded_entropy.h"
#include "base/virtual_clock.h"
#include "http/api.h"

namespace muster::testing {

using namespace std::chrono_literals;

// Turned by hand: what was posted runs at turn(), what is due at the clock's time too.
class HandThread final : public HttpThread {
public:
    explicit HandThread(const Clock& clock) : clock_(clock) {}
    void post(std::function<void()> work) override { due_.emplace(clock_.now(), std::move(work)); }
    void after(Duration delay, std::function<void()> work) override {
        if (fails) throw std::bad_alloc();
        due_.emplace(clock_.now() + delay, std::move(work));
    }
    void in_turn(std::function<void()> work) override { work(); }
    void turn() {
        while (!due_.empty() && due_.begin()->first <= clock_.now()) {
            const auto work = std::move(due_.begin()->second);
            due_.erase(due_.begin());
            work();
        }
    }

    bool fails = false;

private:
    const Clock& clock_;
    std::multimap<Time, std::function<void()>> due_;
};

class PlayedGame final : public ApiGame {
public:
    bool ask_for_fleet(std::uint64_t number, Time) override {
        ++fleet_asked;
        fleet_number = number;
        return takes;
    }
    bool ask_for_players(std::uint64_t number, Time) override {
        ++players_asked;
        players_number = number;
        return takes;
    }
    bool ask_for_hosts(std::uint64_t number, Time) override {
        ++hosts_asked;
        hosts_number = number;
        return takes;
    }
    bool act(std::uint64_t number, const Action& action, const ActionCaller& caller, Time) override {
        acts.push_back({number, action, caller.address, caller.request_id, caller.role, caller.operator_name});
        return takes;
    }
    ProcessFigures figures() override { return {}; }

    struct Act {
        std::uint64_t number;
        Action action;
        std::string who;
        std::string request_id;
        Role role;
        std::string operator_name;
    };
    bool takes = true;
    int fleet_asked = 0;  // how often
    int players_asked = 0;
    int hosts_asked = 0;
    std::uint64_t fleet_number = 0;  // of the latest question
    std::uint64_t players_number = 0;
    std::uint64_t hosts_number = 0;
    std::vector<Act> acts;
};

class NoArchive final : public EventArchive {
public:
    EventsFound find(const EventSearch& search) override { return {{}, search.from, true}; }
};

struct ApiAnswer {
    unsigned status = 0;  // 0: none yet
    std::string body;
    std::shared_ptr<HttpStream> stream;
    std::vector<HttpHeader> headers;

    std::string header(std::string_view name) const {
        for (const HttpHeader& each : headers) {
            if (each.name == name) return each.value;
        }
        return {};
    }
};

struct Asking {
    Asking() { api.add_routes(routes); }

    std::shared_ptr<ApiAnswer> send(std::string method, std::string_view target, std::string body = {},
                                    std::vector<HttpHeader> headers = {{"Content-Type", "application/json"}}) {
        HttpRequest request;
        request.method = std::move(method);
        request.path = "/api/v1" + std::string(target.substr(0, target.find('?')));
        if (target.find('?') != target.npos) request.query = target.substr(target.find('?') + 1);
        request.headers = std::move(headers);
        request.body = std::move(body);
        request.known_host = true;
        request.peer = *IpAddress::parse("10.1.2.3");
        auto answer = std::make_shared<ApiAnswer>();
        routes.handle(std::move(request), HttpResponder([answer](HttpResponse&& got) {
                          *answer = {got.status, got.body, got.stream, got.headers};
                      }));
        thread->turn();
        return answer;
    }
    // With a view at hand when one is wanted.
    ApiAnswer get(std::string_view target, const std::string& token = {}) {
        const int fleet = game.fleet_asked;
        const int players = game.players_asked;
        const int host_questions = game.hosts_asked;
        std::vector<HttpHeader> headers;
        if (!token.empty()) headers.push_back({"Authorization", "Bearer " + token});
        const auto answer = send("GET", target, {}, std::move(headers));
        if (game.fleet_asked > fleet) made(1ms);
        if (game.players_asked > players)
            api.made(game.players_number, std::make_shared<const PlayersView>(sessions), 1ms);
        if (game.hosts_asked > host_questions)
            api.made(game.hosts_number, std::make_shared<const HostsView>(hosts), 1ms);
        return *answer;
    }
    // The game answers the latest question about the fleet, or the one of that number.
    void made(Duration cost) { made(game.fleet_number, cost); }
    void made(std::uint64_t number, Duration cost) { api.made(number, std::make_shared<const FleetView>(view), cost); }
    void add_servers(std::int32_t count) {
        for (std::int32_t id = 1; id <= count; ++id) {
            ServerRow row;
            row.id = ServerId(id);
            row.region = RegionId(id % 2 == 0 ? 2 : 0);
            row.status = id % 3 == 0 ? ServerStatus::full : ServerStatus::available;
            row.ip = *IpAddress::parse("10.0.0.1");
            view.servers.push_back(row);
        }
    }
    static std::vector<int> ids(const std::string& body, const std::string& name = "id") {
        std::vector<int> out;
        const std::string key = "{\"" + name + "\":";
        for (std::size_t at = body.find(key); at != body.npos; at = body.find(key, at + 1))
            out.push_back(std::stoi(body.substr(at + key.size())));
        return out;
    }

    VirtualClock clock;
    std::shared_ptr<HandThread> thread = std::make_shared<HandThread>(clock);
    PlayedGame game;
    NoLog sink;
    Log log{clock, sink};
    AdminGate gate{clock, log, {false, true, nullptr}};
    EventRing ring;
    NoArchive archive;
    OverMatches over;
    OperatorBook operators;
    BlockBook blocks;
    SeededEntropy entropy{1};
    FleetView view;
    PlayersView sessions;
    HostsView hosts;
    Api api{Api::Parts{game, gate, ring, archive, slow_reads, over, clock, thread, operators, blocks, entropy}};
    SlowReadThread slow_reads;
    Routes routes;
};

}  // namespace muster::testing
