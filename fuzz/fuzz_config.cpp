// A config file and an environment of any bytes: refused with the place and the key, or whole; a bad reload keeps what
// runs, and what was read can be printed and read again.
//
// An input is a byte for how many variables there are, those (a byte for the key, or a name of its own, and the value),
// then the file.
#include <sys/mman.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <unistd.h>

#include "base/check.h"
#include "config/config_keys.h"
#include "config/config_load.h"
#include "config/config_print.h"
#include "config/config_reload.h"
#include "config/config_serving.h"
#include "config/config_value.h"
#include "fuzz/fuzz_input.h"
#include "fuzz/fuzz_target.h"

namespace muster::fuzz {
namespace {

constexpr std::size_t variables_max = 4;

// A file in memory with a path of its own.
class MemoryFile {
public:
    explicit MemoryFile(const char* name)
        : descriptor_(memfd_create(name, 0)), path_("/proc/self/fd/" + std::to_string(descriptor_)) {
        MUSTER_CHECK(descriptor_ >= 0, "there is memory for a file");
    }

    const std::string& path() const { return path_; }

    void set(std::string_view text) {
        const bool cut = ftruncate(descriptor_, 0) == 0;
        const auto written = pwrite(descriptor_, text.data(), text.size(), 0);
        MUSTER_CHECK(cut && written == static_cast<ssize_t>(text.size()), "the file is written");
    }

private:
    int descriptor_;
    std::string path_;
};

// Variables and their texts. The names live as long as this.
struct Given {
    std::vector<std::pair<std::string, std::string>> variables;
    std::string_view file;

    explicit Given(FuzzInput& input) {
        const auto keys = config_keys();
        const std::size_t count = input.below(variables_max + 1);
        for (std::size_t i = 0; i < count; ++i) {
            const std::uint8_t key = input.byte();
            std::string name =
                key < keys.size() ? keys[key].environment_variable() : "MUSTER_" + std::string(input.text());
            variables.emplace_back(std::move(name), std::string(input.text()));
        }
        file = input.rest();
    }
    Environment environment() const {
        Environment all;
        for (const auto& [name, value] : variables) all.push_back({name, value});
        return all;
    }
    // What is never printed. With it a secret's file is not read, so there need not be one.
    Environment secrets() const {
        Environment all = environment();
        std::erase_if(all, [](const EnvironmentVariable& variable) {
            return std::ranges::none_of(config_keys(), [&](const ConfigKey& key) {
                return std::holds_alternative<SecretKey>(key.type) && key.environment_variable() == variable.name;
            });
        });
        return all;
    }
};

bool names_its_place(std::string_view problem, const std::string& path) {
    if (problem.starts_with(path) || problem.starts_with("MUSTER_") || problem.starts_with("and ")) return true;
    const std::size_t key = problem.find(": ");
    const std::string_view after = key == problem.npos ? std::string_view{} : problem.substr(key + 2);
    return find_key_by_full_name(after.substr(0, after.find(':'))) != nullptr ||
           find_key_by_full_name(problem.substr(0, problem.find(' '))) != nullptr;
}

bool same(const Config& one, const Config& other, const ConfigKey& key) {
    return std::holds_alternative<SecretKey>(key.type) || same_value(key, one, other);
}

void check_loaded(const LoadedConfig& loaded, const Environment& secrets) {
    static MemoryFile printed("printed");
    const std::string text = effective_config_text(loaded);
    printed.set(text);
    const auto again = load_config({printed.path(), secrets});
    MUSTER_CHECK(again.has_value(), "what is printed can be read");
    for (const ConfigKey& key : config_keys())
        MUSTER_CHECK(same(loaded.config, again->config, key), "what is printed is what was read");
    MUSTER_CHECK(effective_config_json(loaded).size() > 2, "it can be had as JSON");
}

void check_reload(const ConfigSource& source, const Config& wanted) {
    static const Config running;
    const auto reload = reload_config(running, source);
    if (!reload) {
        MUSTER_CHECK(!reload.error().empty(), "a refusal has its reasons");
        return;
    }
    for (const ConfigKey& key : config_keys()) {
        const Config& expected = key.effect == TakesEffect::at_reload ? wanted : running;
        MUSTER_CHECK(same_value(key, reload->config, expected), "a reload takes what can change, and nothing else");
    }
    MUSTER_CHECK(problems_of_serving(reload->config).empty(), "a reload leaves no door open");
}

void judge(FuzzInput& input) {
    static MemoryFile file("config");
    const Given given(input);
    file.set(given.file);
    const ConfigSource source{file.path(), given.environment()};
    const auto loaded = load_config(source);
    if (loaded) {
        check_loaded(*loaded, given.secrets());
        return check_reload(source, loaded->config);
    }
    MUSTER_CHECK(!loaded.error().empty(), "a refusal has its reasons");
    for (const std::string& problem : loaded.error())
        MUSTER_CHECK(names_its_place(problem, file.path()), "a reason says where it is");
}

}  // namespace
}  // namespace muster::fuzz

FUZZ_TARGET("fault 17, X-1: a config of any bytes is refused by place and key, or whole, printed and read again") {
    muster::fuzz::FuzzInput input(data, size);
    muster::fuzz::judge(input);
    return 0;
}
