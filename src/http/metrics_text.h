// The figures of all parts as one text for Prometheus. Parts keep plain counters of their own and describe them when
// they are asked; nothing but this file knows the format.
#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "http/routes.h"

namespace muster {

struct MetricLabel {
    std::string name;
    std::string value;
    friend auto operator<=>(const MetricLabel&, const MetricLabel&) = default;
};

struct MetricSample {
    std::vector<MetricLabel> labels;
    double value = 0;
};

struct MetricBucket {
    double upper_bound = 0;
    std::uint64_t cumulative_count = 0;  // of everything up to the bound
};

struct MetricHistogram {
    std::vector<MetricLabel> labels;
    std::vector<MetricBucket> buckets;  // ascending; the one of infinity is added from `count`
    std::uint64_t count = 0;
    double sum = 0;
};

enum class MetricType : std::uint8_t { counter, gauge, histogram };

struct Metric {
    std::string name;
    std::string help;
    MetricType type = MetricType::gauge;
    std::vector<MetricSample> samples;        // of a counter or a gauge
    std::vector<MetricHistogram> histograms;  // of a histogram
};

Metric counter(std::string name, std::string help, double value);
Metric gauge(std::string name, std::string help, double value);

// Any thread.
class Metrics {
public:
    // Called at each scrape, on the thread that scrapes.
    using Collector = std::function<std::vector<Metric>()>;

    // What it refers to outlives the metrics. A collector that throws is left out of that scrape, and counted.
    void add(Collector collector);

    // Sorted by name, then by labels, so that the same figures give the same text. Metrics of one name are told
    // together; of two series with the same labels the first counts.
    std::string text() const;

private:
    mutable std::mutex mutex_;
    std::vector<Collector> collectors_;             // guarded by mutex_
    mutable std::uint64_t failed_collections_ = 0;  // guarded by mutex_
};

// GET /metrics. `refusal` says why somebody may not see them, or nothing.
using MetricsGuard = std::function<std::optional<HttpResponse>(HttpRequest&)>;
void add_metrics_route(Routes& routes, const Metrics& metrics, MetricsGuard refusal);

}  // namespace muster
