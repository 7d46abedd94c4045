// The C interface's handles, and what its functions share.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <functional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "muster/client.h"
#include "muster/clock_estimate.h"
#include "muster/game_server.h"
#include "muster/matchmaker.h"
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

    void forget_unsent() {
        unsent.clear();
        unsent_from = 0;
    }

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

// So far from the ends of its range that no sum with one overflows.
inline Duration c_duration(std::int64_t microseconds) {
    constexpr std::int64_t most = std::chrono::microseconds(std::chrono::hours(24 * 365 * 100)).count();
    return std::chrono::microseconds(std::clamp(microseconds, -most, most));
}

inline Time c_time(std::int64_t microseconds) {
    return Time(c_duration(microseconds));
}

inline std::string c_string(const char* text) {
    return text ? text : "";
}

// Options of the size that the caller was compiled with: what it does not know of is zero. All have had on_error as
// their last member since 0.1, so anything shorter was never filled in. Throws std::invalid_argument.
template <class Options>
Options known_part(const Options* options) {
    if (!options) throw std::invalid_argument("options must not be NULL");
    constexpr std::size_t least = offsetof(Options, on_error) + sizeof(Options::on_error);
    if (options->size < least) throw std::invalid_argument("size must be sizeof the struct");
    Options known{};
    std::memcpy(static_cast<void*>(&known), options, std::min(options->size, sizeof known));
    return known;
}

// A time of 0 leaves the default.
inline void set_time(Duration& option, std::int64_t microseconds) {
    if (microseconds != 0) option = c_duration(microseconds);
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

// The same for what needs a handle: false without one. A command that gives a bool gives it on.
template <class Handle, class Command>
bool attempt_on(Handle* handle, Command command) noexcept {
    if (!handle) return false;
    if constexpr (std::is_same_v<decltype(command(*handle)), bool>) {
        bool done = false;
        return attempt([&] { done = command(*handle); }) && done;
    } else {
        return attempt([&] { command(*handle); });
    }
}

// A list that the caller gives by its start and length; none may start nowhere.
inline bool is_list(const void* start, std::size_t count) {
    return start || count == 0;
}

}  // namespace muster::sdk
