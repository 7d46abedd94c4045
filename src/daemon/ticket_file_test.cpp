#include "daemon/ticket_file.h"

#include <sys/stat.h>

#include <filesystem>
#include <string>

#include <doctest/doctest.h>
#include <unistd.h>

#include "testing/test_folder.h"

using namespace muster;

namespace {

constexpr std::int64_t begun = 1'800'000'000;

struct Kept {
    TestFolder folder;
    std::string path = (folder.path() / "muster.db.tickets").string();
    mode_t mode() const {
        struct stat about{};
        REQUIRE(stat(path.c_str(), &about) == 0);
        return about.st_mode & 0777;
    }
};

}  // namespace

TEST_CASE_FIXTURE(Kept, "S-1: keys of tickets outlive the process, in a file that nobody else may read") {
    TicketFile first(path);
    CHECK(first.open(begun).empty());
    CHECK(mode() == 0600);
    TicketFile second(path);
    CHECK(second.open(begun + 60).empty());
    CHECK(second.keys()->to_text() == first.keys()->to_text());
    CHECK(second.keys()->find(first.keys()->newest()->name));
}

TEST_CASE_FIXTURE(Kept, "S-1: a new key is in the file before the process ends") {
    TicketFile first(path);
    CHECK(first.open(begun).empty());
    CHECK(first.renew(begun + TicketKeys::seals_seconds).empty());
    TicketFile second(path);
    CHECK(second.open(begun + TicketKeys::seals_seconds).empty());
    CHECK(second.keys()->newest()->name == first.keys()->newest()->name);
}

TEST_CASE_FIXTURE(Kept, "S-1: a file that others may read is not believed, is told and replaced") {
    TicketFile first(path);
    CHECK(first.open(begun).empty());
    REQUIRE(chmod(path.c_str(), 0640) == 0);
    TicketFile second(path);
    CHECK(second.open(begun).find("others may have read") != std::string::npos);
    CHECK_FALSE(second.keys()->find(first.keys()->newest()->name));
    CHECK(mode() == 0600);
    CHECK(TicketFile(path).open(begun).empty());
}

TEST_CASE_FIXTURE(Kept, "S-1: a file of something else, cut off, or led elsewhere is replaced") {
    for (const char* bytes : {"", "nothing", "1800000000 00\n", "\n\n\n"}) {
        CAPTURE(bytes);
        folder.write("muster.db.tickets", bytes);
        REQUIRE(chmod(path.c_str(), 0600) == 0);
        TicketFile file(path);
        CHECK(file.open(begun).empty() == (*bytes == '\0'));
        CHECK(TicketFile(path).open(begun).empty());
    }
    std::filesystem::remove(path);
    const auto elsewhere = folder.write("elsewhere", "of somebody");
    std::filesystem::create_symlink(elsewhere, path);
    CHECK_FALSE(TicketFile(path).open(begun).empty());
    CHECK(std::filesystem::file_size(elsewhere) == 11);
    CHECK_FALSE(std::filesystem::is_symlink(path));
}

TEST_CASE("S-1: where nothing can be written there are keys all the same, and it is told") {
    TicketFile file("/proc/nowhere/muster.db.tickets");
    CHECK(file.open(begun).find("cannot be written") != std::string::npos);
    CHECK(file.keys()->newest());
    TicketFile in_memory("");
    CHECK(in_memory.open(begun).empty());
    CHECK(in_memory.renew(begun + TicketKeys::seals_seconds).empty());
}
