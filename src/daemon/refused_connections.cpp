#include "daemon/refused_connections.h"

#include <fmt/format.h>

namespace muster {
namespace {

std::string explained(AcceptRefusal why, const Config& config) {
    switch (why) {
        case AcceptRefusal::per_ip:
            return fmt::format(
                "one address may have limits.connections_per_ip = {}; raise it where a host runs more processes, or "
                "many peers share an address",
                config.limits.connections_per_ip);
        case AcceptRefusal::per_port:
            return fmt::format("the port may have limits.connections_per_port = {}",
                               config.limits.connections_per_port);
        case AcceptRefusal::accept_rate:
            return fmt::format("one address may come limits.accepts_per_second_ip = {} times a second",
                               config.limits.accepts_per_second_ip);
        case AcceptRefusal::descriptors:
            return "the open files that are left are kept for others; raise the hard limit (systemd: LimitNOFILE=)";
    }
    return {};
}

}  // namespace

std::vector<std::string> RefusedConnections::look(Time now, const std::vector<Count>& counts, const Config& config) {
    std::vector<std::string> sentences;
    for (const Count& count : counts) {
        Kind& kind = kinds_[static_cast<std::size_t>(count.port)][static_cast<std::size_t>(count.why)];
        if (count.total > kind.seen) {
            kind.seen = count.total;
            kind.seen_at = now;
            kind.sentence = fmt::format("at the {} port, the last of {}: {}", to_string(count.port),
                                        count.last.to_string(), explained(count.why, config));
        }
        if (kind.seen == kind.told || (kind.told_at && now - *kind.told_at < told_every)) continue;
        const std::uint64_t more = kind.seen - kind.told;
        sentences.push_back(
            fmt::format("Refused {} {} {}", more, more == 1 ? "connection" : "connections", kind.sentence));
        kind.told = kind.seen;
        kind.told_at = now;
    }
    return sentences;
}

std::string RefusedConnections::warning(Time now) const {
    for (const auto& port : kinds_) {
        for (const AcceptRefusal why : accept_refusals) {
            const Kind& kind = port[static_cast<std::size_t>(why)];
            if (why == AcceptRefusal::accept_rate || !kind.seen_at || now - *kind.seen_at >= shown_for) continue;
            return "Connections are refused " + kind.sentence;
        }
    }
    return {};
}

void RefusedConnections::look_at(const Network& network, const Config& config, Time now, Log& log, Health& health) {
    std::vector<Count> counts;
    for (const Port port : ports)
        for (const AcceptRefusal why : accept_refusals)
            if (const auto last = network.last_refused(port, why))
                counts.push_back({port, why, network.figures().of(port).refused[why].value(), *last});
    for (const std::string& sentence : look(now, counts, config)) log.warning("{}", sentence);
    health.set_refusal_warning(warning(now));
}

}  // namespace muster
