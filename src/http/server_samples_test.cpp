#include "http/server_samples.h"

#include <string>

#include <doctest/doctest.h>

#include "base/json_fields.h"

using namespace muster;

namespace {

FleetView view_at(std::int64_t time, std::initializer_list<std::int32_t> ids) {
    FleetView view;
    view.time = UnixMs{time};
    for (const std::int32_t id : ids) {
        ServerRow row;
        row.id = ServerId(id);
        row.load = static_cast<std::int32_t>(time);
        row.cpu_percent = 45.2F;
        row.rtt_us = 1500;
        view.servers.push_back(row);
    }
    return view;
}

std::string history(const ServerSamples& samples, std::int32_t id) {
    JsonFields out;
    samples.describe(ServerId(id), out);
    return out.finish();
}

}  // namespace

TEST_CASE("O-2: a server's load over time is what the views showed, oldest first") {
    ServerSamples samples;
    CHECK(history(samples, 1) == R"({"history":[]})");
    samples.add(view_at(1, {1, 2}));
    samples.add(view_at(2, {2}));
    samples.add(view_at(3, {1, 2}));
    CHECK(history(samples, 1) == R"({"history":[{"time_ms":1,"matches":1,"cpu":45.2,"memory":0,"rtt_ms":1.5},)"
                                 R"({"time_ms":3,"matches":3,"cpu":45.2,"memory":0,"rtt_ms":1.5}]})");
}

TEST_CASE("O-2: only the last samples are kept, and a server that is gone is forgotten with them") {
    ServerSamples samples;
    samples.add(view_at(1, {1, 2}));
    for (int i = 2; i <= static_cast<int>(ServerSamples::kept); ++i) samples.add(view_at(i, {2}));
    CHECK(history(samples, 1).find("\"time_ms\":1,") != std::string::npos);
    CHECK(history(samples, 2).find("\"time_ms\":1,") != std::string::npos);
    samples.add(view_at(100, {2}));
    CHECK(history(samples, 1) == R"({"history":[]})");
    CHECK(history(samples, 2).find("\"time_ms\":1,") == std::string::npos);
    CHECK(history(samples, 2).find("\"time_ms\":100,") != std::string::npos);
    CHECK(samples.servers() == 1);
}

TEST_CASE("O-2: equal samples in a row are shown at each of their moments, and figures out of range at their limit") {
    ServerSamples samples;
    FleetView view = view_at(5, {1});
    view.servers[0].load = 1'000'000;
    view.servers[0].rtt_us = 4'000'000'000;
    for (int i = 0; i < 61; ++i) {
        view.time = UnixMs{i};
        samples.add(view);
    }
    const std::string shown = history(samples, 1);
    CHECK(shown.find("\"time_ms\":0,") == std::string::npos);
    for (int i = 1; i < 61; ++i) {
        const std::string moment = "\"time_ms\":" + std::to_string(i) + ",\"matches\":32767,\"cpu\":45.2,";
        CHECK(shown.find(moment) != std::string::npos);
    }
    CHECK(shown.find("\"rtt_ms\":655.35") != std::string::npos);
}
