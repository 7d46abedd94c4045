#include "http/cluster_view.h"

#include <doctest/doctest.h>

using namespace muster;

TEST_CASE("N-11: the view of the cluster is told in full") {
    ClusterView view;
    view.node = "one";
    view.nodes = {{"one", "10.0.0.1:11030", "0.1.0", true}, {"two", "10.0.0.2:11030", "0.1.0", false}};
    view.cells = {{"main", {0, 2}, true, "one", 7, 40, 1'234}};
    view.engine_ms = 0.5;
    CHECK(
        cluster_json(view) ==
        R"({"node":"one","nodes":[{"name":"one","address":"10.0.0.1:11030","version":"0.1.0","alive":true},)"
        R"({"name":"two","address":"10.0.0.2:11030","version":"0.1.0","alive":false}],)"
        R"("cells":[{"name":"main","regions":[0,2],"players":true,"owner":"one","term":7,"batch":40,"since_ms":1234}],)"
        R"("engine_ms":0.5})"
        "\n");
}

TEST_CASE("N-11: a lost node is a warning with its reason, a cell without an owner an alarm") {
    ClusterView view;
    view.nodes = {{"one", "a:1", "0.1.0", true}};
    view.cells = {{"main", {}, true, "one", 1, 1, 1}};
    CHECK(verdict_of(view).warnings.empty());
    CHECK(verdict_of(view).problems.empty());
    view.nodes.push_back({"two", "b:1", "0.1.0", false});
    view.cells.front().owner.clear();
    CHECK(verdict_of(view).warnings == std::vector<std::string>{"Node two (b:1) is lost: its heartbeat stopped"});
    CHECK(verdict_of(view).problems == std::vector<std::string>{"Cell main has no owner"});
    // Until another node takes it, the cell's row names the one that was lost.
    view.cells.front().owner = "two";
    CHECK(verdict_of(view).problems == std::vector<std::string>{"Cell main has no owner: node two is lost"});
}
