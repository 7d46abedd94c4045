#include "daemon/http_metrics.h"

#include <string>
#include <utility>

namespace muster {

std::vector<Metric> http_metrics(const HttpFigures& figures) {
    const auto of_http = [](Metric metric) {
        for (MetricSample& sample : metric.samples) sample.labels.push_back({"port", "http"});
        return metric;
    };
    Metric refused{"muster_connections_refused_total", "Connections refused by a limit", MetricType::counter, {}, {}};
    refused.samples.push_back({{{"port", "http"}, {"reason", "per_ip"}}, static_cast<double>(figures.refused_per_ip)});
    refused.samples.push_back(
        {{{"port", "http"}, {"reason", "per_port"}}, static_cast<double>(figures.refused_per_port)});
    refused.samples.push_back(
        {{{"port", "http"}, {"reason", "accept_rate"}}, static_cast<double>(figures.refused_accept_rate)});
    Metric tls_failed{
        "muster_tls_failures_total", "Connections refused for their TLS, by reason", MetricType::counter, {}, {}};
    for (const TlsFailure reason : tls_failures) {
        tls_failed.samples.push_back({{{"port", "http"}, {"reason", std::string(to_string(reason))}},
                                      static_cast<double>(figures.tls_failed[static_cast<std::size_t>(reason)])});
    }
    Metric tls_handshakes{"muster_tls_handshakes_total", "TLS handshakes finished", MetricType::counter, {}, {}};
    tls_handshakes.samples.push_back(
        {{{"port", "http"}, {"kind", "full"}}, static_cast<double>(figures.tls_handshakes)});
    return {
        std::move(tls_failed),
        std::move(tls_handshakes),
        gauge("muster_http_connections", "Open HTTP connections", static_cast<double>(figures.connections)),
        counter("muster_http_requests_total", "HTTP requests that were answered by their handler",
                static_cast<double>(figures.requests)),
        counter("muster_http_refused_requests_total", "HTTP requests that were malformed, too large or too slow",
                static_cast<double>(figures.refused_requests)),
        std::move(refused),
        counter("muster_http_connections_let_go_total",
                "HTTP connections that waited for their peer and made room for another at a limit",
                static_cast<double>(figures.let_go)),
        of_http(counter("muster_accept_errors_total", "Connections that could not be accepted",
                        static_cast<double>(figures.accept_errors))),
    };
}

}  // namespace muster
