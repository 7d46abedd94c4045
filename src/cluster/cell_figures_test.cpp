#include "cluster/cell_figures.h"

#include <string>
#include <utility>

#include <doctest/doctest.h>

using namespace muster;

namespace {

CellAnswer of_cell(std::string cell, std::string body, unsigned status = 200) {
    return {std::move(cell), HttpResponse{status, "application/json", std::move(body)}};
}

const char* const eu_overview =
    R"({"time_ms":5000,"version":"1","uptime_s":90,"health":{"status":"warn","reasons":["Node x is lost","EU is full"]},)"
    R"("regions":[{"id":2,"name":"EU"}],"had_servers":false,"allocations":{"requests":3,"failures":{"full":1},)"
    R"("p50_ms":5.5,"p95_ms":9.5,"p99_ms":9.9,"latency_ms":{"buckets_ms":[10.5,20.5],"counts":[4,0,0]}},)"
    R"("clock":{"day":2,"speed":60},"loop":{"ticks_per_second":30.5,"tick_max_ms":1.5},"store":{"up":true,"queue_depth":1},)"
    R"("matchmakers":2})";
const char* const us_overview =
    R"({"time_ms":5100,"version":"1","uptime_s":30,"health":{"status":"bad","reasons":["Node x is lost"]},)"
    R"("regions":[{"id":1,"name":"US"}],"had_servers":true,"allocations":{"requests":4,"failures":{"full":2,"slow":1},)"
    R"("p50_ms":15.5,"p95_ms":19.5,"p99_ms":19.9,"latency_ms":{"buckets_ms":[10.5,20.5],"counts":[0,4,0]}},)"
    R"("clock":{"day":2,"speed":60},"loop":{"ticks_per_second":20.5,"tick_max_ms":2.5},"store":{"up":false,"queue_depth":2},)"
    R"("matchmakers":3})";

bool has(const HttpResponse& response, const char* part) {
    return response.body.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("N-11: the overview of all cells has the sums, the percentiles of all, and the worst health") {
    const HttpResponse merged = merged_overviews({of_cell("eu", eu_overview), of_cell("us", us_overview)});
    CHECK(merged.status == 200);
    for (const char* part : {
             R"("time_ms":5100,"version":"1","uptime_s":30,)",
             R"("health":{"status":"bad","reasons":["Node x is lost","EU is full"]})",
             R"("regions":[{"id":1,"name":"US"},{"id":2,"name":"EU"}],"had_servers":true)",
             R"("requests":7,"failures":{"full":3,"slow":1})",
             R"("p50_ms":10.5)",
             R"("counts":[4,4,0])",
             R"("buckets_ms":[10.5,20.5])",
             R"("clock":{"day":2,"speed":60})",
             R"("loop":{"ticks_per_second":20.5,"tick_max_ms":2.5})",
             R"("store":{"up":false,"queue_depth":3})",
             R"("matchmakers":3)",
         }) {
        CAPTURE(part);
        CAPTURE(merged.body);
        CHECK(has(merged, part));
    }
    CHECK_FALSE(has(merged, "partial"));
}

TEST_CASE("N-11: an overview that a cell is missing in says so, and its health is bad") {
    const HttpResponse partial = merged_overviews({of_cell("eu", eu_overview), {"us", std::nullopt}});
    CHECK(has(partial, R"("status":"bad","reasons":["No answer of cell us","Node x is lost","EU is full"])"));
    CHECK(has(partial, R"("partial":true,"missing_cells":["us"])"));
    CHECK(merged_overviews({{"eu", std::nullopt}, of_cell("us", "{}", 503)}).status == 503);
    CHECK(merged_overviews({of_cell("eu", "no", 401), of_cell("us", "no", 401)}).status == 401);
    CHECK(merged_overviews({of_cell("eu", "[]"), of_cell("us", us_overview)}).status == 503);
}

TEST_CASE("N-11: samples of all cells are summed from when all have some, and no sum falls where one is missing") {
    const std::string head = R"({"every_ms":2000,"allocation_buckets_ms":[1.5],"player_buckets_ms":[],"samples":[)";
    const std::string eu = head + R"({"time_ms":2100,"uptime_s":9,"requests":1,"regions":[{"id":2}]},)"
                                  R"({"time_ms":4100,"uptime_s":11,"requests":5,"regions":[{"id":2}]},)"
                                  R"({"time_ms":6100,"uptime_s":13,"requests":6,"regions":[{"id":2}]},)"
                                  R"({"time_ms":8100,"uptime_s":15,"requests":7,"regions":[{"id":2}]}]})";
    const std::string us = head + R"({"time_ms":5900,"uptime_s":2,"requests":10,"regions":[{"id":0}]},)"
                                  R"({"time_ms":8000,"uptime_s":4,"requests":20,"regions":[{"id":0}]}]})";
    CHECK(merged_histories({of_cell("eu", eu), of_cell("us", us)}).body ==
          head + R"({"time_ms":5900,"uptime_s":2,"requests":15,"regions":[{"id":0},{"id":2}]},)"
                 R"({"time_ms":6100,"uptime_s":2,"requests":16,"regions":[{"id":0},{"id":2}]},)"
                 R"({"time_ms":8100,"uptime_s":4,"requests":27,"regions":[{"id":0},{"id":2}]}]})"
                 "\n");
    CHECK(has(merged_histories({of_cell("eu", eu), of_cell("us", head + "]}")}), R"("samples":[])"));
    CHECK(has(merged_histories({of_cell("eu", eu), {"us", std::nullopt}}), R"("missing_cells":["us"])"));
}
