// The C interface's handles, and what its functions share.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "muster/matchmaker.h"
#include "muster/client.h"
#include "muster/clock_estimate.h"
#include "muster/game_server.h"
#include "muster/muster.h"
#include "muster/outcome.h"
#include "muster/player.h"
#include "muster/time.h"

// NOLINTBEGIN(readability-identifier-naming): the names are the C interface's.

// A client with the bytes that the caller's buffer had no room for.
struct muster_client {
    muster_client() = default;
    muster_client(const muster_client&) = delete;
    muster_client& operator=(const muster_client&) = delete;
    virtual ~muster_client() = default;
    virtual muster::sdk::Client& client() = 0;
    virtual const muster::sdk::ClockEstimate& clock() const = 0;
    virtual muster::sdk::LinkState link_state() const = 0;

    std::vector<std::byte> unsent;
    std::size_t unsent_from = 0;
};

struct muster_game_server final : muster_client {
    muster_game_server(muster::sdk::GameServerOptions options, muster::sdk::GameServerCallbacks callbacks)
        : server(std::move(options), std::move(callbacks)) {}
    muster::sdk::Client& client() override { return server; }
    const muster::sdk::ClockEstimate& clock() const override { return server.clock(); }
    muster::sdk::LinkState link_state() const override { return server.link_state(); }

    muster::sdk::GameServer server;
};

struct muster_matchmaker final : muster_client {
    muster_matchmaker(muster::sdk::MatchmakerOptions options, muster::sdk::MatchmakerCallbacks callbacks)
        : matchmaker(std::move(options), std::move(callbacks)) {}
    muster::sdk::Client& client() override { return matchmaker; }
    const muster::sdk::ClockEstimate& clock() const override { return matchmaker.clock(); }
    muster::sdk::LinkState link_state() const override { return matchmaker.link_state(); }

    muster::sdk::Matchmaker matchmaker;
};

struct muster_player final : muster_client {
    muster_player(muster::sdk::PlayerOptions options, muster::sdk::PlayerCallbacks callbacks)
        : player(options, std::move(callbacks)) {}
    muster::sdk::Client& client() override { return player; }
    const muster::sdk::ClockEstimate& clock() const override { return player.clock(); }
    muster::sdk::LinkState link_state() const override { return player.link_state(); }

    muster::sdk::Player player;
};

// NOLINTEND(readability-identifier-naming)

namespace muster::sdk {

inline Time c_time(std::int64_t microseconds) {
    return Time(std::chrono::microseconds(microseconds));
}

inline std::string c_string(const char* text) {
    return text ? text : "";
}

// Options of the size that the caller was compiled with: what it does not know of is zero.
template <class Options>
Options known_part(const Options& options) {
    Options known{};
    std::memcpy(static_cast<void*>(&known), &options, std::min(options.size, sizeof known));
    return known;
}

// A time of 0 leaves the default.
inline void set_time(Duration& option, std::int64_t microseconds) {
    if (microseconds != 0) option = std::chrono::microseconds(microseconds);
}

inline std::function<void(const Outcome&)> c_on_error(muster_on_error on_error, void* user) {
    if (!on_error) return {};
    return [on_error, user](const Outcome& error) { on_error(user, static_cast<int>(error.code), error.text.c_str()); };
}

// Runs `make`; when it throws, says why and returns null.
template <class Make>
auto made_or_null(Make make, char* why, std::size_t why_size) noexcept -> decltype(make()) {
    std::string_view said;
    try {
        return make();
    } catch (const std::exception& error) {
        said = error.what();
        if (why && why_size > 0) {
            const std::size_t size = std::min(said.size(), why_size - 1);
            std::memcpy(why, said.data(), size);
            why[size] = '\0';
        }
    } catch (...) {
        if (why && why_size > 0) why[0] = '\0';
    }
    return nullptr;
}

// Runs a command. Only lack of memory makes one throw; false then.
template <class Command>
bool attempt(Command command) noexcept {
    try {
        command();
        return true;
    } catch (...) {
        return false;
    }
}

}  // namespace muster::sdk
