#include "config/config_reload.h"

#include <utility>

#include <fmt/core.h>

#include "config/config_serving.h"
#include "config/config_value.h"

namespace muster {
namespace {

std::string change_text(const ConfigKey& key, const Config& running, const Config& wanted) {
    const std::string before = value_text(key, running);
    const std::string after = value_text(key, wanted);
    // Two secrets read alike, "set".
    if (before == after) return fmt::format("{}: changed", key.full_name());
    return fmt::format("{}: {} -> {}", key.full_name(), before, after);
}

}  // namespace

ConfigReload merge_reload(const Config& running, const Config& wanted) {
    ConfigReload reload{running, {}, {}, {}, wanted};
    for (const ConfigKey& key : config_keys()) {
        if (same_value(key, running, wanted)) continue;
        if (key.effect == TakesEffect::at_reload) {
            copy_value(key, wanted, reload.config);
            reload.now.push_back(change_text(key, running, wanted));
        } else {
            reload.at_restart.push_back(change_text(key, running, wanted));
        }
    }
    return reload;
}

Result<ConfigReload, ConfigProblems> reload_config(const Config& running, const ConfigSource& source) {
    auto loaded = load_config(source);
    if (!loaded) return Failure<ConfigProblems>(std::move(loaded.error()));
    ConfigReload reload = merge_reload(running, loaded->config);
    // A secret may go at once while the address that needs it stays until the restart.
    ConfigProblems problems = problems_of_serving(reload.config);
    if (!problems.empty()) return Failure<ConfigProblems>(std::move(problems));
    reload.warnings = std::move(loaded->warnings);
    return reload;
}

}  // namespace muster
