// What a reload of the config comes to, once it and its certificates were found good.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/log.h"
#include "config/config_load.h"
#include "config/config_reload.h"
#include "daemon/tls_watch.h"

namespace muster {

// Reads both again, and tells what is wrong or waits for a restart. Nothing when it is refused: all stays as it was.
inline std::optional<ConfigReload> accepted_reload(const Config& running, const ConfigSource& source, TlsWatch& tls,
                                                   Log& log) {
    auto reload = reload_config(running, source);
    std::vector<std::string> files;
    if (!reload) {
        for (const std::string& problem : reload.error()) log.error("Reload refused: {}", problem);
        return std::nullopt;
    }
    if (const auto problem = tls.take_new(reload->config, files)) {
        log.error("Reload refused: {}", *problem);
        return std::nullopt;
    }
    reload->now.insert(reload->now.end(), files.begin(), files.end());
    for (const std::string& warning : reload->warnings) log.warning("{}", warning);
    for (const std::string& change : reload->at_restart) log.warning("Changes at the next restart: {}", change);
    if (reload->now.empty() && reload->at_restart.empty()) log.info("Reloaded; nothing changed");
    return std::move(*reload);
}

}  // namespace muster
