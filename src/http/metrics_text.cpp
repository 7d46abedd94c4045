#include "http/metrics_text.h"

#include <algorithm>
#include <exception>
#include <iterator>
#include <limits>
#include <map>
#include <utility>

#include <prometheus/metric_family.h>
#include <prometheus/text_serializer.h>

#include "base/check.h"

namespace muster {
namespace {

prometheus::MetricType to_prometheus(MetricType type) {
    switch (type) {
        case MetricType::counter:
            return prometheus::MetricType::Counter;
        case MetricType::gauge:
            return prometheus::MetricType::Gauge;
        case MetricType::histogram:
            return prometheus::MetricType::Histogram;
    }
    return prometheus::MetricType::Untyped;
}

std::vector<prometheus::ClientMetric::Label> to_prometheus(const std::vector<MetricLabel>& labels) {
    std::vector<prometheus::ClientMetric::Label> out;
    out.reserve(labels.size());
    for (const MetricLabel& label : labels) out.push_back({label.name, label.value});
    return out;
}

prometheus::ClientMetric to_prometheus(const MetricSample& sample, MetricType type) {
    prometheus::ClientMetric out;
    out.label = to_prometheus(sample.labels);
    if (type == MetricType::counter) out.counter.value = sample.value;
    if (type == MetricType::gauge) out.gauge.value = sample.value;
    return out;
}

prometheus::ClientMetric to_prometheus(const MetricHistogram& histogram) {
    prometheus::ClientMetric out;
    out.label = to_prometheus(histogram.labels);
    out.histogram.sample_count = histogram.count;
    out.histogram.sample_sum = histogram.sum;
    for (const MetricBucket& bucket : histogram.buckets)
        out.histogram.bucket.push_back({bucket.cumulative_count, bucket.upper_bound});
    out.histogram.bucket.push_back({histogram.count, std::numeric_limits<double>::infinity()});
    return out;
}

// All that was told under one name. Sorted by labels; the first of equal ones stays.
struct Family {
    prometheus::MetricFamily head;
    std::map<std::vector<MetricLabel>, prometheus::ClientMetric> series;
};

void add(Family& family, const Metric& metric) {
    for (const MetricSample& sample : metric.samples)
        family.series.try_emplace(sample.labels, to_prometheus(sample, metric.type));
    for (const MetricHistogram& histogram : metric.histograms)
        family.series.try_emplace(histogram.labels, to_prometheus(histogram));
}

std::string serialize(const std::vector<Metric>& metrics) {
    std::map<std::string, Family> by_name;
    for (const Metric& metric : metrics) {
        Family& family = by_name[metric.name];
        if (family.head.name.empty()) family.head = {metric.name, metric.help, to_prometheus(metric.type), {}};
        MUSTER_CHECK(family.head.type == to_prometheus(metric.type), "a metric is of one type");
        add(family, metric);
    }
    std::vector<prometheus::MetricFamily> families;
    families.reserve(by_name.size());
    for (auto& [name, family] : by_name) {
        for (auto& [labels, series] : family.series) family.head.metric.push_back(std::move(series));
        families.push_back(std::move(family.head));
    }
    return prometheus::TextSerializer().Serialize(families);
}

}  // namespace

Metric counter(std::string name, std::string help, double value) {
    return {std::move(name), std::move(help), MetricType::counter, {{{}, value}}, {}};
}

Metric gauge(std::string name, std::string help, double value) {
    return {std::move(name), std::move(help), MetricType::gauge, {{{}, value}}, {}};
}

void Metrics::add(Collector collector) {
    const std::lock_guard lock(mutex_);
    collectors_.push_back(std::move(collector));
}

std::string Metrics::text() const {
    const std::lock_guard lock(mutex_);
    std::vector<Metric> all;
    for (const Collector& collector : collectors_) {
        try {
            std::vector<Metric> some = collector();
            std::move(some.begin(), some.end(), std::back_inserter(all));
        } catch (const std::exception&) {
            ++failed_collections_;
        }
    }
    all.push_back(counter("muster_metrics_failed_collections_total",
                          "Parts whose figures could not be read at a scrape",
                          static_cast<double>(failed_collections_)));
    return serialize(all);
}

void add_metrics_route(Routes& routes, const Metrics& metrics) {
    routes.add(
        "GET", "/metrics",
        [&metrics](HttpRequest&&, HttpResponder&& responder) {
            responder.send({200, "text/plain; version=0.0.4; charset=utf-8", metrics.text(), {}});
        },
        Routes::Hosts::any);
}

}  // namespace muster
