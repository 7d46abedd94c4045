// What a game process sends to the SDK servers of the agent, REST requests of Agones and heartbeats of the GSDK:
// whatever comes is answered or refused with a code, and the sessions keep their rules.
//
// An input is requests, one after another: a byte for the method and which SDK, a byte for the path, the size of the
// body and the body. Between them time passes.
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>

#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>

#include "agones/answer_json.h"
#include "agones/rest.h"
#include "agones/session.h"
#include "base/check.h"
#include "fuzz/fuzz_input.h"
#include "fuzz/fuzz_target.h"
#include "gsdk/heartbeat_json.h"
#include "gsdk/session.h"

namespace muster::fuzz {
namespace {

constexpr std::string_view methods[] = {"POST", "GET", "PUT", "PATCH"};
constexpr std::string_view paths[] = {"/ready",
                                      "/allocate",
                                      "/shutdown",
                                      "/health",
                                      "/gameserver",
                                      "/metadata/label",
                                      "/metadata/annotation",
                                      "/reserve",
                                      "/alpha/player/connect",
                                      "/alpha/player/disconnect",
                                      "/alpha/player/capacity",
                                      "/alpha/player/count",
                                      "/alpha/player/connected",
                                      "/alpha/player/connected/a",
                                      "/v1beta1/counters/rooms",
                                      "/v1beta1/lists/players",
                                      "/v1beta1/lists/players:addValue",
                                      "/v1beta1/lists/players:removeValue",
                                      "/watch/gameserver"};

agones::Process process() {
    agones::Process made;
    made.name = "host-game-1";
    made.player_tracking = true;
    made.counters["rooms"] = {1, 10};
    made.lists["players"] = {3, {"first"}};
    return made;
}

void check_rules(const agones::GameServer& server) {
    const auto& rooms = server.counters.at("rooms");
    MUSTER_CHECK(rooms.count >= 0 && rooms.count <= rooms.capacity, "a counter stays in its range");
    const auto& list = server.lists.at("players");
    MUSTER_CHECK(std::ssize(list.values) <= list.capacity, "a list stays in its capacity");
    MUSTER_CHECK(list.capacity <= agones::list_capacity_max, "a capacity has a limit");
    std::size_t bytes = 0;
    for (const auto& [key, value] : server.labels) bytes += key.size() + value.size();
    MUSTER_CHECK(bytes <= agones::metadata_bytes_max + 1024, "labels have a limit");
}

struct Both {
    Time now{std::chrono::hours(1)};
    agones::Session server{process(), {now, UnixMs{1'700'000'000'000}, "uid"}};
    gsdk::Session host{gsdk::Process{}, now};

    void ask_agones(std::string_view method, std::string_view path, std::string_view body) {
        const auto before = server.present();
        const auto asked = agones::rest_call({method, path, "updateMask=capacity", body});
        std::string text;
        if (!asked) {
            text = to_json(asked.error());
        } else if (const auto* call = std::get_if<agones::Call>(&*asked)) {
            const auto reply = server.call(now, *call);
            text = reply ? to_json(*reply) : to_json(reply.error());
            MUSTER_CHECK(reply || before == server.present(), "a refusal changes nothing");
        } else {
            text = watch_json(*server.present());
        }
        MUSTER_CHECK(boost::json::parse(text).is_object(), "an answer is JSON");
        check_rules(*server.present());
        const bool was_over = before->state == agones::State::shutdown || before->state == agones::State::unhealthy;
        MUSTER_CHECK(!was_over || server.present()->state == before->state, "what is over stays over");
    }

    void beat(std::string_view body) {
        const auto heartbeat = gsdk::heartbeat_of(body);
        const auto answer = heartbeat ? host.heartbeat(now, *heartbeat) : gsdk::HeartbeatAnswer{};
        MUSTER_CHECK(boost::json::parse(to_json(answer)).at("operation").is_string(), "an answer says what to do");
    }
};

}  // namespace
}  // namespace muster::fuzz

using namespace muster;
using namespace muster::fuzz;

FUZZ_TARGET("fault 93: bodies of a hostile game process are answered, and the sessions keep their rules") {
    Both both;
    FuzzInput in(data, size);
    while (!in.empty()) {
        const std::uint8_t how = in.byte();
        const std::uint8_t which = in.byte();
        const std::string body(in.text());
        both.now += std::chrono::milliseconds(how * 10);
        if (how & 0x80)
            both.beat(body);
        else
            both.ask_agones(methods[how % std::size(methods)], paths[which % std::size(paths)], body);
        if ((how & 0x70) == 0x70) {
            both.server.offer(both.now, {LobbyId{which}, 1, 2, "token"});
            both.host.offer({LobbyId{which}, 1, 2, "token"}, "guid");
        }
        both.server.tick(both.now);
        both.host.tick(both.now);
        both.server.take_changes();
        MUSTER_CHECK(both.server.take_facts().size() < 8 && both.host.take_facts().size() < 8, "facts are few");
    }
    MUSTER_CHECK(agones::Session::restored(process(), both.now, UnixMs{0}, both.server.saved()),
                 "what is saved is restored");
    return 0;
}
