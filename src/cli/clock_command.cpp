// `muster clock`: the world's time, shown or set.
#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "base/json_fields.h"
#include "cli/commands.h"
#include "cli/figures.h"
#include "cli/listing.h"
#include "cli/standard_output.h"
#include "process/exit_code.h"

namespace muster {
namespace {

struct ClockArguments {
    std::vector<std::string> words;
    std::optional<std::int64_t> speed;
    bool json = false;
};

constexpr const char* how = "`muster clock set DAY HH:MM` wants a day (1 to 7, or sun to sat) and a time such as 14:30";

[[noreturn]] void misused(const std::string& what) {
    throw CommandFailure(to_int(ExitCode::usage), what);
}

std::optional<std::int64_t> number(std::string_view text, std::int64_t least, std::int64_t most) {
    std::int64_t value = 0;
    const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (failure != std::errc() || end != text.data() + text.size() || value < least || value > most)
        return std::nullopt;
    return value;
}

std::optional<std::int64_t> day_of(std::string word) {
    constexpr std::array<std::string_view, 7> days{"sun", "mon", "tue", "wed", "thu", "fri", "sat"};
    for (char& each : word) each = static_cast<char>(std::tolower(static_cast<unsigned char>(each)));
    const auto named = std::find(days.begin(), days.end(), std::string_view(word).substr(0, 3));
    if (named != days.end()) return named - days.begin() + 1;
    return number(word, 1, 7);
}

void add_time(JsonFields& wish, const std::string& day_word, const std::string& time) {
    const std::size_t colon = time.find(':');
    const auto day = day_of(day_word);
    const auto hour = number(std::string_view(time).substr(0, colon), 0, 23);
    const auto minute =
        colon == std::string::npos ? std::nullopt : number(std::string_view(time).substr(colon + 1), 0, 59);
    if (!day || !hour || !minute) misused(how);
    wish.integer("day", *day);
    wish.integer("hour", *hour);
    wish.integer("minute", *minute);
}

int run(const ClockArguments& arguments) {
    const auto& words = arguments.words;
    const bool time = words.size() == 3;
    if (!words.empty() && words[0] != "set") misused(how);
    if (words.size() == 2 || words.size() > 3 || (words.size() == 1 && !arguments.speed)) misused(how);
    if (arguments.speed && (*arguments.speed < 1 || *arguments.speed > 3600))
        misused("--speed wants a number from 1 to 3600");

    JsonFields wish;
    if (time) add_time(wish, words[1], words[2]);
    if (arguments.speed) wish.integer("speed", *arguments.speed);
    ApiClient api = ApiClient::from_environment();
    const JsonValue clock = time || arguments.speed ? api.put("/clock", wish.finish()) : api.get("/clock");
    if (arguments.json) return print_json(clock.to_json());
    return to_int(print_result(clock_text(clock) + "\n"));
}

}  // namespace

Command clock_command() {
    const auto arguments = std::make_shared<ClockArguments>();
    return {"clock",
            "Show or set the world clock",
            {{"ACTION", "set [DAY HH:MM]", "`set DAY HH:MM`, or `set` with --speed; omit it to show the clock",
              &arguments->words},
             {"--speed", "N", "Game minutes per real minute, 1 to 3600", &arguments->speed},
             json_option(arguments->json)},
            "  muster clock set tue 14:30        Tuesday (or 3), half past two\n"
            "  muster clock set --speed 60       one game hour per real minute\n",
            [arguments] { return run(*arguments); }};
}

}  // namespace muster
