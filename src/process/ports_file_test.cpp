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
    const auto path = folder.write("ports.json", "{\"http\":\"127.0.0.1:9\"}\n");
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

TEST_CASE("O-1: a ports file takes the place of an empty file or an earlier one, and of nothing else") {
    const TestFolder folder;
    const auto empty = folder.write("empty", "");
    {
        PortsFile file(empty);
        file.write({{}, {}, {}, "127.0.0.1:4"});
        CHECK(content(empty) == "{\"http\":\"127.0.0.1:4\"}\n");
    }
    const auto refused = [](const std::filesystem::path& path) {
        CHECK_THROWS_WITH_AS(
            PortsFile{path},
            (path.string() + " exists and is not a ports file; remove it, or name another file").c_str(),
            PortsFileError);
    };
    for (const std::string text : {"[listen]\n", "{\"http\":1}\n", "{\"http\":\"127.0.0.1:4\"}"}) {
        const auto path = folder.write("other", text);
        refused(path);
        CHECK(content(path) == text);
    }
    const std::string long_text = "{\"http\":\"" + std::string(600, 'x') + "\"}\n";
    const auto long_file = folder.write("long", long_text);
    refused(long_file);
    CHECK(content(long_file) == long_text);
    const auto link = folder.path() / "link";
    std::filesystem::create_symlink(empty, link);
    refused(link);
    CHECK(std::filesystem::is_symlink(link));
    refused(folder.path());
}

TEST_CASE("O-1: a ports file leaves what somebody else put in its place") {
    const TestFolder folder;
    const auto path = folder.path() / "ports.json";
    {
        PortsFile file(path);
        folder.write("ports.json", "mine");
        CHECK_THROWS_AS(file.write({{}, {}, {}, "127.0.0.1:4"}), PortsFileError);
        CHECK(content(path) == "mine");
    }
    CHECK(content(path) == "mine");
    std::filesystem::remove(path);
    {
        PortsFile file(path);
        file.write({{}, {}, {}, "127.0.0.1:4"});
        folder.write("ports.json", "mine again");
    }
    CHECK(content(path) == "mine again");
}
