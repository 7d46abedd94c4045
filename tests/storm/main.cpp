// The storm: the real program, attacked from outside. docs/STORM.md says what it does and how to read it.
//
//   storm --program PATH --preload PATH [--seed N] [--seconds N] [--sanitized] [--attacks A,B] [--faults A,B]
//         [--no-unread-deaths] [--keep]
//
// Exit 0 when the judge has no objection, 1 when it has, 64 for a bad flag.
#include <array>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <random>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/core.h>
#include <stdlib.h>

#include "plan.h"
#include "process/open_files.h"
#include "storm.h"

namespace muster::storm {
namespace {

struct Options {
    StormOptions storm;
    PlanOptions plan;
    bool keep = false;
};

class UsageError : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

std::uint64_t number(std::string_view flag, const std::string& text) {
    std::size_t used = 0;
    try {
        const std::uint64_t value = std::stoull(text, &used);
        if (used == text.size() && !text.empty()) return value;
    } catch (const std::logic_error&) {
    }
    throw UsageError(fmt::format("{} needs a number, not '{}'", flag, text));
}

// The names in `text`, separated by commas, each as the enumerator below `count` that is called so. None for "none".
template <class Kind>
std::vector<Kind> kinds(const std::string& text, int count) {
    std::vector<Kind> all;
    if (text == "none") return all;
    std::size_t at = 0;
    while (at <= text.size()) {
        const std::size_t comma = std::min(text.find(',', at), text.size());
        const std::string_view name = std::string_view(text).substr(at, comma - at);
        std::optional<Kind> found;
        for (int i = 0; i < count; ++i) {
            if (to_string(static_cast<Kind>(i)) == name) found = static_cast<Kind>(i);
        }
        if (!found) throw UsageError(fmt::format("there is no '{}'", name));
        all.push_back(*found);
        at = comma + 1;
    }
    return all;
}

// A sanitized build takes several times as long and as much; what must hold is the same.
void allow_for_sanitizers(StormOptions& storm) {
    storm.slowness = 4;
    storm.limits.latency.floor = 400ms;
    storm.limits.memory_growth_bytes = std::size_t{1} << 30;
    storm.limits.silence = 25s;
    storm.crowd.allocations_per_second = 25;
    storm.crowd.players = 60;
}

Options parse(int count, char** words) {
    Options options;
    options.plan.seed = std::random_device{}() % 1'000'000;
    const char* const is_long = std::getenv("MUSTER_TEST_LONG");
    if (is_long && std::string_view(is_long) == "1") options.plan.length = 1h;
    for (int i = 1; i < count; ++i) {
        const std::string flag = words[i];
        if (flag == "--sanitized") {
            allow_for_sanitizers(options.storm);
            continue;
        }
        if (flag == "--no-unread-deaths") {
            options.storm.crowd.unread_deaths = false;
            continue;
        }
        if (flag == "--keep") {
            options.keep = true;
            continue;
        }
        if (i + 1 >= count) throw UsageError(fmt::format("'{}' is no flag, or its value is missing", flag));
        const std::string value = words[++i];
        if (flag == "--program") {
            options.storm.program = std::filesystem::absolute(value);
        } else if (flag == "--preload") {
            options.storm.preload = std::filesystem::absolute(value);
        } else if (flag == "--seed") {
            options.plan.seed = number(flag, value);
        } else if (flag == "--seconds") {
            options.plan.length = std::chrono::seconds(number(flag, value));
        } else if (flag == "--attacks") {
            options.plan.attacks = kinds<AttackKind>(value, attack_count);
        } else if (flag == "--faults") {
            options.plan.faults = kinds<FaultKind>(value, static_cast<int>(FaultKind::kill));
            if (options.plan.faults->empty()) options.plan.faults = std::vector{FaultKind::none};
        } else {
            throw UsageError(fmt::format("there is no flag '{}'", flag));
        }
    }
    if (options.storm.program.empty()) throw UsageError("--program is missing");
    options.storm.seed = options.plan.seed;
    return options;
}

// The command that repeats the storm.
std::string command(int count, char** words, std::uint64_t seed) {
    std::string text;
    for (int i = 0; i < count; ++i) {
        if (std::string_view(words[i]) == "--seed") {
            ++i;
            continue;
        }
        text += fmt::format("{} ", words[i]);
    }
    return text + fmt::format("--seed {}", seed);
}

void print_plan(const Plan& plan) {
    fmt::print("plan: {:.0f} s of calm, then\n", seconds(plan.calm));
    for (const Life& life : plan.lives) {
        fmt::print("  {}\n", to_string(life));
        for (const Act& act : life.acts) fmt::print("    {}\n", to_string(act));
    }
}

int run(int count, char** words) {
    Options options = parse(count, words);
    raise_open_files_limit();
    const Plan plan = make_plan(options.plan);
    fmt::print("seed {}\n", options.plan.seed);
    print_plan(plan);

    std::string form = (std::filesystem::temp_directory_path() / "muster-storm-XXXXXX").string();
    if (!::mkdtemp(form.data())) throw std::runtime_error("cannot make " + form);
    options.storm.folder = form;
    std::optional<std::string> objection;
    {
        Storm storm(options.storm);
        const Moment began = now();
        objection = storm.run(plan);
        fmt::print("{} in {:.1f} s: {}\n", objection ? "an objection" : "no objection", seconds(now() - began),
                   storm.figures());
    }
    if (objection) {
        fmt::print("\nOBJECTION: {}\n\nseed {}; again with\n  {}\n", *objection, options.plan.seed,
                   command(count, words, options.plan.seed));
        print_plan(plan);
    }
    if (options.keep) {
        fmt::print("what it left is in {}\n", form);
    } else {
        std::filesystem::remove_all(form);
    }
    return objection ? 1 : 0;
}

}  // namespace
}  // namespace muster::storm

int main(int count, char** words) {
    try {
        return muster::storm::run(count, words);
    } catch (const muster::storm::UsageError& error) {
        fmt::print(stderr, "storm: {}\n", error.what());
        return 64;
    } catch (const std::exception& error) {
        fmt::print(stderr, "storm: {}\n", error.what());
        return 1;
    }
}
