#include "http/metrics_text.h"

#include <cmath>
#include <exception>
#include <iterator>
#include <map>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/check.h"

namespace muster {
namespace {

// The text format of Prometheus, version 0.0.4.

std::string_view name_of(MetricType type) {
    switch (type) {
        case MetricType::counter:
            return "counter";
        case MetricType::gauge:
            return "gauge";
        case MetricType::histogram:
            return "histogram";
    }
    return "untyped";
}

std::string number_text(double value) {
    if (std::isnan(value)) return "NaN";
    if (std::isinf(value)) return value > 0 ? "+Inf" : "-Inf";
    constexpr double exact_max = 9007199254740992.0;  // 2^53: whole numbers up to here are exact
    if (std::abs(value) < exact_max && std::trunc(value) == value) return fmt::format("{:.0f}", value);
    return fmt::format("{}", value);
}

std::string escaped(std::string_view text, bool in_quotes) {
    std::string out;
    for (const char c : text) {
        if (c == '\\' || (c == '"' && in_quotes)) out += '\\';
        if (c == '\n') {
            out += "\\n";
        } else {
            out += c;
        }
    }
    return out;
}

// {a="b",c="d"}, or nothing.
std::string label_text(const std::vector<MetricLabel>& labels) {
    std::string out;
    for (const MetricLabel& label : labels)
        out += fmt::format("{}{}=\"{}\"", out.empty() ? "{" : ",", label.name, escaped(label.value, true));
    return out.empty() ? out : out + "}";
}

void write_line(std::string& out, const std::string& name, const std::vector<MetricLabel>& labels, double value) {
    out += fmt::format("{}{} {}\n", name, label_text(labels), number_text(value));
}

std::string series_of(const std::string& name, const MetricHistogram& histogram) {
    std::string out;
    write_line(out, name + "_count", histogram.labels, static_cast<double>(histogram.count));
    write_line(out, name + "_sum", histogram.labels, histogram.sum);
    const auto write_bucket = [&](std::string bound, std::uint64_t count) {
        std::vector<MetricLabel> labels = histogram.labels;
        labels.push_back({"le", std::move(bound)});
        write_line(out, name + "_bucket", labels, static_cast<double>(count));
    };
    for (const MetricBucket& bucket : histogram.buckets)
        write_bucket(number_text(bucket.upper_bound), bucket.cumulative_count);
    write_bucket("+Inf", histogram.count);
    return out;
}

// All that was told under one name. Sorted by labels; the first of equal ones stays.
struct Family {
    std::string help;
    MetricType type = MetricType::gauge;
    std::map<std::vector<MetricLabel>, std::string> series;
};

std::string serialize(const std::vector<Metric>& metrics) {
    std::map<std::string, Family> by_name;
    for (const Metric& metric : metrics) {
        Family& family = by_name.try_emplace(metric.name, Family{metric.help, metric.type, {}}).first->second;
        MUSTER_CHECK(family.type == metric.type, "a metric is of one type");
        for (const MetricSample& sample : metric.samples) {
            std::string line;
            write_line(line, metric.name, sample.labels, sample.value);
            family.series.try_emplace(sample.labels, std::move(line));
        }
        for (const MetricHistogram& histogram : metric.histograms)
            family.series.try_emplace(histogram.labels, series_of(metric.name, histogram));
    }
    std::string out;
    for (const auto& [name, family] : by_name) {
        out +=
            fmt::format("# HELP {} {}\n# TYPE {} {}\n", name, escaped(family.help, false), name, name_of(family.type));
        for (const auto& [labels, text] : family.series) out += text;
    }
    return out;
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

void add_metrics_route(Routes& routes, const Metrics& metrics, MetricsGuard refusal) {
    routes.add(
        "GET", "/metrics",
        [&metrics, refusal = std::move(refusal)](HttpRequest&& request, HttpResponder&& responder) {
            if (auto refused = refusal(request)) return responder.send(std::move(*refused));
            responder.send({200, "text/plain; version=0.0.4; charset=utf-8", metrics.text(), {}});
        },
        Routes::Hosts::any);
}

}  // namespace muster
