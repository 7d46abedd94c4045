#include "process/ports_file.h"

#include <fstream>
#include <iterator>
#include <string>

#include <doctest/doctest.h>

#include "testing/test_folder.h"

using namespace muster;

namespace {

std::string content(const std::filesystem::path& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
}

std::size_t files_in(const std::filesystem::path& folder) {
    return static_cast<std::size_t>(
        std::distance(std::filesystem::directory_iterator(folder), std::filesystem::directory_iterator{}));
}

}  // namespace

TEST_CASE("the ports file holds the open ports as JSON, and nothing else is left beside it") {
    const TestFolder folder;
    const auto path = folder.path() / "ports.json";
    {
        PortsFile file(path);
        file.write({"127.0.0.1:1", "127.0.0.1:2", "127.0.0.1:3", "[::1]:4"});
        CHECK(
            content(path) ==
            "{\"servers\":\"127.0.0.1:1\",\"matchmakers\":\"127.0.0.1:2\",\"players\":\"127.0.0.1:3\",\"http\":\"[::1]:"
            "4\"}\n");
        CHECK(files_in(folder.path()) == 1);
    }
    CHECK(files_in(folder.path()) == 0);
}

TEST_CASE("what an earlier run left is not taken for ours") {
    const TestFolder folder;
    const auto path = folder.write("ports.json", "{\"http\":\"127.0.0.1:9\"}");
    PortsFile file(path);
    CHECK_FALSE(std::filesystem::exists(path));
    file.write({{}, {}, {}, "127.0.0.1:4"});
    CHECK(content(path) == "{\"http\":\"127.0.0.1:4\"}\n");
}

TEST_CASE("a ports file that cannot be written says which, before any port is open") {
    CHECK_THROWS_WITH_AS(PortsFile("/nonexistent/ports.json"),
                         "cannot write the ports file /nonexistent/ports.json: No such file or directory",
                         PortsFileError);
}
