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

// Reads both again, and tells what is wrong. Nothing when it is refused: all stays as it was. Refused is also what the
// next start would refuse, such as certificates for a port that has TLS only then.
inline std::optional<ConfigReload> accepted_reload(const Config& running, const ConfigSource& source, TlsWatch& tls,
                                                   Log& log) {
    auto reload = reload_config(running, source);
    std::vector<std::string> files;
    if (!reload) {
        for (const std::string& problem : reload.error()) log.error("Reload refused: {}", problem);
        return std::nullopt;
    }
    auto problem = tls.problem_at_start(reload->at_next_start);
    if (!problem) problem = tls.take_new(reload->config, files);
    if (problem) {
        log.error("Reload refused: {}", *problem);
        return std::nullopt;
    }
    reload->now.insert(reload->now.end(), files.begin(), files.end());
    for (const std::string& warning : reload->warnings) log.warning("{}", warning);
    return std::move(*reload);
}

// Once it holds: whoever reads that something has changed, or the line at the end, can rely on it.
inline void tell_reloaded(Log& log, const ConfigReload& reload) {
    for (const std::string& change : reload.at_restart) log.warning("Changes at the next restart: {}", change);
    for (const std::string& change : reload.now) log.info("Changed {}", change);
    if (reload.now.empty() && reload.at_restart.empty()) return log.info("Reloaded; nothing changed");
    log.info("Reloaded: {} changed, {} at the next restart", reload.now.size(), reload.at_restart.size());
}

}  // namespace muster
