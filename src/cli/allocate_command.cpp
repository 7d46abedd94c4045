// `muster allocate`: asks for a game server for a match, by hand, and waits for the answer.
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>

#include <fmt/format.h>

#include "base/entropy.h"
#include "base/json_fields.h"
#include "cli/commands.h"
#include "cli/figures.h"
#include "cli/listing.h"
#include "cli/progress.h"
#include "cli/standard_output.h"
#include "cli/terminal.h"
#include "process/exit_code.h"
#include "protocol/error_texts.h"

namespace muster {
namespace {

// The daemon gives up after 25 s; it answers before we do.
constexpr std::chrono::seconds patience{40};

struct AllocateArguments {
    std::string region;
    std::optional<std::int64_t> lobby;
    std::int64_t players = 10;
    std::int64_t game_type = 0;
    std::int64_t game_mode = 0;
    std::int64_t rating = 0;
    bool json = false;
};

// Far from the small numbers that a matchmaker counts up from.
std::int64_t some_lobby() {
    constexpr std::int64_t first = 1'000'000'000;
    std::uint32_t chance = 0;
    SystemEntropy().fill(std::as_writable_bytes(std::span(&chance, 1)));
    return first + chance % first;
}

// Why the daemon does not take the lobby's id: it was used before, or is another's.
std::string why_taken(ApiClient& api, std::int64_t lobby) try {
    const JsonValue match = api.get(fmt::format("/matches/{}", lobby));
    const std::string state(match["state"].text());
    if (state == "ended" || state == "aborted") throw NotThere(exit_failed, state);
    return fmt::format("lobby {} is matchmaker {}'s", lobby, safe_text(match["matchmaker"].text()));
} catch (const NotThere&) {
    return fmt::format("lobby {} is over; lobby ids are used once", lobby);
}

JsonValue ask(ApiClient& api, std::int64_t lobby, const std::string& wish) try {
    const Progress progress(fmt::format("lobby {} waits for a server", lobby));
    return api.post("/matches", wish);
} catch (const CommandFailure& failure) {
    if (failure.what() == text(Refusal::invalid_match_lobby_id)) {
        throw CommandFailure(failure.exit_code, why_taken(api, lobby) + "\n  leave out --lobby for a new one");
    }
    if (failure.exit_code != to_int(ExitCode::unavailable)) throw;
    // The question may have arrived, and the answer been lost.
    throw CommandFailure(
        failure.exit_code,
        fmt::format("{}\n  it may have got a server all the same: ask again with --lobby {}, and it is the same one",
                    failure.what(), lobby));
}

void check(const AllocateArguments& arguments) {
    const auto refuse = [](const char* why) { throw CommandFailure(to_int(ExitCode::usage), why); };
    const std::int64_t lobby = arguments.lobby.value_or(1);
    if (lobby < 1 || lobby > std::numeric_limits<std::int32_t>::max())
        refuse("--lobby wants a whole number from 1 to 2147483647");
    if (arguments.players < 1 || arguments.players > std::numeric_limits<std::int8_t>::max())
        refuse("--players wants a whole number from 1 to 127");
}

int allocate(const AllocateArguments& arguments) {
    check(arguments);
    ApiClient api = ApiClient::from_environment();
    const std::int64_t lobby = arguments.lobby ? *arguments.lobby : some_lobby();
    JsonFields wish;
    wish.integer("lobby_id", lobby);
    wish.integer("region", RegionNames(api).id(arguments.region));
    wish.integer("player_count", arguments.players);
    wish.integer("game_type", arguments.game_type);
    wish.integer("game_mode", arguments.game_mode);
    wish.integer("average_rating", arguments.rating);
    api.set_patience(patience);
    const JsonValue answer = ask(api, lobby, wish.finish());
    if (arguments.json) return print_json(answer.to_json());
    return to_int(print_result(described(
        {
            {"lobby", {fmt::to_string(answer["lobby_id"].integer())}},
            {"server", {fmt::to_string(answer["server_id"].integer())}},
            {"address", {endpoint_text(answer)}},
            {"token", {safe_text(answer["token"].text())}},
            {"allocated", {moment_text(answer["allocated_at_ms"].integer())}},
        },
        colours_wanted())));
}

}  // namespace

Command allocate_command() {
    const auto arguments = std::make_shared<AllocateArguments>();
    return {"allocate",
            "Allocate a game server for a match and wait for the answer",
            {{"REGION", "", "Region, by name or number", &arguments->region, true},
             {"--lobby", "N", "Lobby id (default a new one)", &arguments->lobby},
             {"--players", "N", "Number of players", &arguments->players},
             {"--game-type", "N", "Passed on to the game server", &arguments->game_type},
             {"--game-mode", "N", "Passed on to the game server", &arguments->game_mode},
             {"--rating", "N", "Average rating, kept with the match", &arguments->rating},
             json_option(arguments->json)},
            "Repeating it for the same lobby returns the same server. The token admits the lobby's players for two "
            "minutes.\n",
            [arguments] { return allocate(*arguments); }};
}

}  // namespace muster
