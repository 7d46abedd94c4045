#include "http/metrics_text.h"

#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>

#include <doctest/doctest.h>

using namespace muster;

namespace {

// Without the collector's own counter.
std::string text_of(const Metrics& metrics) {
    const std::string text = metrics.text();
    std::string out;
    for (std::size_t from = 0; from < text.size();) {
        const std::size_t end = text.find('\n', from) + 1;
        const std::string line = text.substr(from, end - from);
        if (line.find("muster_metrics_failed_collections_total") == std::string::npos) out += line;
        from = end;
    }
    return out;
}

}  // namespace

TEST_CASE("O-2: series are sorted by name and labels, whatever the order they are told in") {
    const Metric messages{"muster_messages_total",
                          "Messages taken",
                          MetricType::counter,
                          {{{{"port", "servers"}}, 3}, {{{"port", "matchmakers"}}, 2}},
                          {}};
    const std::string expected =
        "# HELP muster_connections Open connections\n"
        "# TYPE muster_connections gauge\n"
        "muster_connections 1.5\n"
        "# HELP muster_messages_total Messages taken\n"
        "# TYPE muster_messages_total counter\n"
        "muster_messages_total{port=\"matchmakers\"} 2\n"
        "muster_messages_total{port=\"players\"} 4\n"
        "muster_messages_total{port=\"servers\"} 3\n";
    const Metric of_players{
        "muster_messages_total", "Messages taken", MetricType::counter, {{{{"port", "players"}}, 4}}, {}};
    const Metric connections = gauge("muster_connections", "Open connections", 1.5);
    {
        Metrics metrics;
        metrics.add([&] { return std::vector<Metric>{messages, connections}; });
        metrics.add([&] { return std::vector<Metric>{of_players}; });
        CHECK(text_of(metrics) == expected);
    }
    {
        Metrics metrics;
        metrics.add([&] { return std::vector<Metric>{of_players}; });
        metrics.add([&] { return std::vector<Metric>{connections, messages}; });
        CHECK(text_of(metrics) == expected);
    }
}

TEST_CASE("O-2: a histogram has its buckets, the one of infinity, its sum and its count") {
    Metrics metrics;
    metrics.add([] {
        return std::vector<Metric>{{"muster_allocation_seconds",
                                    "How long allocations took",
                                    MetricType::histogram,
                                    {},
                                    {{{{"region", "EU"}}, {{0.1, 2}, {5, 3}}, 4, 12.25}}}};
    });
    CHECK(text_of(metrics) ==
          "# HELP muster_allocation_seconds How long allocations took\n"
          "# TYPE muster_allocation_seconds histogram\n"
          "muster_allocation_seconds_count{region=\"EU\"} 4\n"
          "muster_allocation_seconds_sum{region=\"EU\"} 12.25\n"
          "muster_allocation_seconds_bucket{region=\"EU\",le=\"0.1\"} 2\n"
          "muster_allocation_seconds_bucket{region=\"EU\",le=\"5\"} 3\n"
          "muster_allocation_seconds_bucket{region=\"EU\",le=\"+Inf\"} 4\n");
}

TEST_CASE("O-2: figures are read at each scrape, large ones exactly") {
    std::uint64_t count = (std::uint64_t{1} << 53) - 1;
    Metrics metrics;
    metrics.add([&] { return std::vector<Metric>{counter("muster_x_total", "X", static_cast<double>(count))}; });
    CHECK(text_of(metrics).find("muster_x_total 9007199254740991\n") != std::string::npos);
    count = 7;
    CHECK(text_of(metrics).find("muster_x_total 7\n") != std::string::npos);
}

TEST_CASE("fault 45: a hostile label cannot fake a series, and odd numbers have their names") {
    Metrics metrics;
    metrics.add([] {
        return std::vector<Metric>{
            {"muster_x",
             "X",
             MetricType::gauge,
             {{{{"a", "\"} 1\nfake 2\\"}}, std::nan("")}, {{{"a", "z"}}, std::numeric_limits<double>::infinity()}},
             {}}};
    });
    const std::string text = text_of(metrics);
    CHECK(text.find("muster_x{a=\"\\\"} 1\\nfake 2\\\\\"} NaN\n") != std::string::npos);
    CHECK(text.find("muster_x{a=\"z\"} +Inf\n") != std::string::npos);
    CHECK(text.find("\nfake") == std::string::npos);
}

TEST_CASE("of two series with the same labels the first counts") {
    Metrics metrics;
    metrics.add([] { return std::vector<Metric>{gauge("muster_x", "X", 1), gauge("muster_x", "X", 2)}; });
    CHECK(text_of(metrics) == "# HELP muster_x X\n# TYPE muster_x gauge\nmuster_x 1\n");
}

TEST_CASE("a part that fails to tell its figures is left out and counted, the others are there") {
    Metrics metrics;
    metrics.add([]() -> std::vector<Metric> { throw std::runtime_error("no figures"); });
    metrics.add([] { return std::vector<Metric>{gauge("muster_x", "X", 1)}; });
    CHECK(metrics.text().find("muster_metrics_failed_collections_total 1\n") != std::string::npos);
    const std::string text = metrics.text();
    CHECK(text.find("muster_metrics_failed_collections_total 2\n") != std::string::npos);
    CHECK(text.find("muster_x 1\n") != std::string::npos);
}
