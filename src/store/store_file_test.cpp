#include "store/store_file.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>

#include <array>
#include <fstream>
#include <iterator>

#include <doctest/doctest.h>
#include <fmt/core.h>
#include <unistd.h>

#include "store/committer.h"
#include "store/sample_records.h"
#include "store/scratch_directory.h"
#include "store/store_fault.h"

using namespace muster;

namespace {

bool write_byte(int file) {
    return write(file, "x", 1) == 1;
}

struct FileFixture {
    ScratchDirectory scratch;
    std::string path = scratch.file("muster.db");

    // A store with so many servers and events, closed again.
    void make_store(std::int32_t rows = 300) {
        Committer committer({.path = path});
        RecordBatch batch{1, {}};
        for (std::int32_t i = 1; i <= rows; ++i) {
            batch.records.emplace_back(sample_server(i));
            batch.records.emplace_back(sample_event(i, sample_now));
        }
        REQUIRE(committer.commit({&batch, 1}, sample_now) == StoreFault::none);
    }

    std::string content() const {
        std::ifstream file(path, std::ios::binary);
        return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
    }
    void write(const std::string& bytes) const { std::ofstream(path, std::ios::binary) << bytes; }
    void run_sql(const std::string& sql) const { Database(path, Database::Access::read_write).run(sql); }

    // The StoreError that opening ends in, or a sentence that none came.
    std::pair<int, std::string> refusal(StoreFileOptions options = {}) {
        options.path = path;
        try {
            const StoreFile file(options);
        } catch (const StoreError& error) {
            return {error.exit_code, error.what()};
        }
        return {0, "it was opened"};
    }
    // Refused with 65, naming the file and the fault; the file is as it was, and nothing took its place.
    void check_refused(const std::string& fault) {
        const std::string before = content();
        const auto [code, text] = refusal();
        CHECK(code == exit_damaged);
        CHECK_MESSAGE(text.starts_with(path), text);
        CHECK_MESSAGE(text.find(fault) != std::string::npos, text);
        CHECK(content() == before);
        CHECK_FALSE(std::filesystem::exists(path + ".new"));
    }
};

mode_t mode_of(const std::string& path) {
    struct stat found{};
    REQUIRE(stat(path.c_str(), &found) == 0);
    return found.st_mode & 0777;
}

}  // namespace

TEST_CASE_FIXTURE(FileFixture, "X-4: a missing file is made, with mode 0600 like all that stands beside it") {
    const mode_t old_mask = umask(0);
    {
        Committer committer({.path = path});
        const RecordBatch batch{1, {sample_server(1)}};
        REQUIRE(committer.commit({&batch, 1}, sample_now) == StoreFault::none);
        for (const char* suffix : {"", "-wal", "-shm", ".lock"}) CHECK(mode_of(path + suffix) == 0600);
    }
    umask(old_mask);
    CHECK_FALSE(std::filesystem::exists(path + "-wal"));
    CHECK_FALSE(std::filesystem::exists(path + ".new"));
    CHECK(Committer({.path = path}).recover(UnixMs{0}).servers.size() == 1);
}

TEST_CASE_FIXTURE(FileFixture, "X-4: a file that others could read is closed to them at the start") {
    make_store();
    REQUIRE(chmod(path.c_str(), 0644) == 0);
    const StoreFile file({.path = path});
    CHECK(mode_of(path) == 0600);
}

TEST_CASE_FIXTURE(FileFixture,
                  "X-4, fault 6: an empty file is a store cut to nothing, and no new one takes its place") {
    write("");
    SUBCASE("alone") {
        check_refused("is empty: bring the store back from a backup");
        CHECK(content().size() == 0);
        std::filesystem::remove(path);
        CHECK(refusal().second == "it was opened");
        CHECK(content().size() > 0);
    }
    SUBCASE("with an empty log") {
        std::ofstream(path + "-wal").flush();
        check_refused("is empty: bring the store back from a backup");
    }
    SUBCASE("with a log") {
        std::ofstream(path + "-wal") << "pages of a lost file";
        check_refused("its write-ahead log is there");
    }
    SUBCASE("with a log, and the file gone") {
        std::ofstream(path + "-wal") << "pages of a lost file";
        std::filesystem::remove(path);
        check_refused("its write-ahead log is there");
        CHECK_FALSE(std::filesystem::exists(path));
    }
}

TEST_CASE_FIXTURE(FileFixture, "fault 6: what is not a store is refused by name") {
    SUBCASE("a text") {
        write("[listen]\nservers = \"127.0.0.1:11032\"\n" + std::string(200, '#'));
        check_refused("is not a store");
    }
    SUBCASE("a short text") {
        write("hello");
        check_refused("is truncated or not a store");
    }
    SUBCASE("zeros, as a lost disk block leaves them") {
        write(std::string(8192, '\0'));
        check_refused("is not a store");
    }
    SUBCASE("another program's SQLite file") {
        write("");
        run_sql("CREATE TABLE bookmarks (url TEXT)");
        check_refused("another program's SQLite file");
    }
    SUBCASE("a directory") {
        std::filesystem::create_directory(path);
        CHECK(refusal().first == exit_damaged);
        CHECK(std::filesystem::is_directory(path));
    }
}

TEST_CASE_FIXTURE(FileFixture, "fault 6: a file of a newer version is refused, and says which versions meet") {
    make_store();
    run_sql("PRAGMA user_version = 99");
    check_refused(fmt::format("was written by a newer version of Muster (format 99, this one knows up to {})",
                              muster_migrations().size()));
}

TEST_CASE_FIXTURE(FileFixture, "fault 6: a store without its tables is refused") {
    make_store();
    run_sql("DROP TABLE match_players");
    CHECK_THROWS_WITH_AS(Committer({.path = path}),
                         (path + " does not hold the tables of its version: no such table: match_players").c_str(),
                         StoreError);
}

TEST_CASE_FIXTURE(FileFixture, "fault 6: a file truncated anywhere is refused") {
    make_store();
    const std::string whole = content();
    REQUIRE(whole.size() > 4 * 4096);
    for (const std::size_t size :
         {std::size_t{1}, std::size_t{99}, std::size_t{100}, std::size_t{512}, std::size_t{4095}, std::size_t{4096},
          whole.size() / 2, whole.size() - 4096, whole.size() - 1}) {
        CAPTURE(size);
        write(whole.substr(0, size));
        check_refused("");
    }
    write(whole);
    CHECK(refusal().second == "it was opened");
}

TEST_CASE_FIXTURE(FileFixture, "fault 6: a page overwritten with other bytes is refused, whichever it is") {
    make_store();
    const std::string whole = content();
    for (std::size_t page = 0; page < whole.size() / 4096; ++page) {
        CAPTURE(page);
        std::string damaged = whole;
        // Page 1 begins with the file's header, which is another fault.
        const std::size_t first = page == 0 ? 100 : page * 4096;
        std::fill_n(damaged.begin() + static_cast<std::ptrdiff_t>(first), 512, '\xA5');
        write(damaged);
        check_refused("is damaged");
    }
}

TEST_CASE_FIXTURE(FileFixture,
                  "fault 6: of a large file the tables of a start are checked, and its history when it is read") {
    make_store();
    const std::string whole = content();
    bool found_servers = false;
    for (std::size_t page = 1; page < whole.size() / 4096; ++page) {
        std::string damaged = whole;
        std::fill_n(damaged.begin() + static_cast<std::ptrdiff_t>(page * 4096), 512, '\xA5');
        write(damaged);
        const auto [code, text] = refusal({.checked_bytes_max = 0});
        CHECK_MESSAGE((code == 0 || code == exit_damaged), text);
        found_servers = found_servers || code == exit_damaged;
    }
    CHECK(found_servers);
}

TEST_CASE_FIXTURE(FileFixture, "X-4: a path without a directory is a file of the present one") {
    const auto before = std::filesystem::current_path();
    std::filesystem::current_path(std::filesystem::path(path).parent_path());
    path = "relative.db";
    const auto [code, text] = refusal();
    std::filesystem::current_path(before);
    CHECK_MESSAGE(code == 0, text);
}

TEST_CASE_FIXTURE(FileFixture, "X-4: what cannot be made is refused with the reason") {
    SUBCASE("no directory") {
        path = scratch.file("missing/muster.db");
        const auto [code, text] = refusal();
        CHECK(code == exit_io);
        CHECK(text == fmt::format("{}: there is no directory {}", path, scratch.file("missing")));
    }
    SUBCASE("a link to nothing, such as a disk that is not mounted") {
        std::filesystem::create_symlink(scratch.file("unmounted.db"), path);
        CHECK(refusal() == std::pair{exit_io, path + " is a link to nothing"});
        CHECK(std::filesystem::is_symlink(path));
    }
}

TEST_CASE_FIXTURE(FileFixture, "fault 7: a second daemon on the same store is refused and told who holds it") {
    const StoreFile first({.path = path});
    const std::string expected = fmt::format("{} is in use by process {}", path, getpid());
    CHECK(refusal() == std::pair{exit_in_use, expected});
    SUBCASE("through a link") {
        std::filesystem::create_symlink(path, scratch.file("other.db"));
        path = scratch.file("other.db");
        CHECK(refusal() == std::pair{exit_in_use, expected});
    }
}

TEST_CASE_FIXTURE(FileFixture, "fault 7: a second daemon is refused even when the lock file was deleted") {
    std::array<int, 2> to_child{};
    std::array<int, 2> to_parent{};
    REQUIRE(pipe(to_child.data()) == 0);
    REQUIRE(pipe(to_parent.data()) == 0);
    const pid_t child = fork();
    char byte = 'x';
    if (child == 0) {
        const StoreFile held({.path = path});
        const bool told = write_byte(to_parent[1]) && read(to_child[0], &byte, 1) == 1;
        _exit(told ? 0 : 1);
    }
    REQUIRE(read(to_parent[0], &byte, 1) == 1);
    REQUIRE(std::filesystem::remove(path + ".lock"));
    CHECK(refusal() == std::pair{exit_in_use, path + " is in use by another process"});
    REQUIRE(write_byte(to_child[1]));
    int status = 0;
    REQUIRE(waitpid(child, &status, 0) == child);
    CHECK(status == 0);
    CHECK(refusal().second == "it was opened");
    for (const int end : {to_child[0], to_child[1], to_parent[0], to_parent[1]}) close(end);
}

TEST_CASE_FIXTURE(FileFixture, "fault 7, X-4: only a regular file is ever opened or made a store") {
    struct stat before{};
    struct stat after{};
    SUBCASE("a fifo") {
        REQUIRE(mkfifo(path.c_str(), 0600) == 0);
    }
    SUBCASE("a directory") {
        REQUIRE(mkdir(path.c_str(), 0700) == 0);
    }
    SUBCASE("a link to a device") {
        std::filesystem::create_symlink("/dev/null", path);
    }
    SUBCASE("a socket") {
        const int file = socket(AF_UNIX, SOCK_STREAM, 0);
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        path.copy(address.sun_path, sizeof(address.sun_path) - 1);
        REQUIRE(bind(file, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0);
        close(file);
    }
    REQUIRE(lstat(path.c_str(), &before) == 0);
    const auto [code, text] = refusal();
    CHECK(code == exit_damaged);
    CHECK_MESSAGE((text.ends_with("is not a regular file") || text.ends_with("is a directory, not a store")), text);
    REQUIRE(lstat(path.c_str(), &after) == 0);
    CHECK(before.st_ino == after.st_ino);
    CHECK(before.st_mode == after.st_mode);
}

TEST_CASE_FIXTURE(FileFixture, "X-4: a store that is deleted, replaced or put back under a daemon is noticed") {
    Committer committer({.path = path});
    CHECK_FALSE(committer.misplaced());
    const std::string aside = scratch.file("aside.db");
    SUBCASE("the file") {
        std::filesystem::rename(path, aside);
        CHECK(committer.misplaced());
        std::filesystem::copy_file(aside, path);
        CHECK(committer.misplaced());
        std::filesystem::rename(aside, path);
    }
    SUBCASE("its log") {
        std::filesystem::rename(path + "-wal", aside);
        CHECK(committer.misplaced());
        std::filesystem::rename(aside, path + "-wal");
    }
    CHECK_FALSE(committer.misplaced());
}

TEST_CASE_FIXTURE(FileFixture,
                  "X-4: a store that is overwritten in place under a daemon is noticed, and our own writes are not") {
    Committer committer({.path = path});
    CHECK_FALSE(committer.misplaced());
    const RecordBatch batch{1, {sample_server(1)}};
    REQUIRE(committer.commit({&batch, 1}, sample_now) == StoreFault::none);
    CHECK_FALSE(committer.misplaced());
    committer.shorten_log();
    CHECK_FALSE(committer.misplaced());
    committer.empty_log();
    CHECK_FALSE(committer.misplaced());
    {
        std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
        file.seekp(0);
        file.write("SQLite format 3", 15);  // not even another byte
    }
    CHECK(committer.misplaced());
    committer.empty_log();
    CHECK(committer.misplaced());
}

TEST_CASE_FIXTURE(FileFixture, "fault 7: the lock ends with its process, however it ended") {
    const pid_t child = fork();
    if (child == 0) {
        const StoreFile held({.path = path});
        _exit(0);
    }
    int status = 0;
    REQUIRE(waitpid(child, &status, 0) == child);
    REQUIRE(status == 0);
    CHECK(std::filesystem::exists(path + ".lock"));
    CHECK(refusal().second == "it was opened");
}

TEST_CASE_FIXTURE(FileFixture, "fault 7: an operator can read the store while a daemon holds it") {
    Committer committer({.path = path});
    const RecordBatch batch{1, {sample_server(1)}};
    Database reader(path, Database::Access::read_only);
    REQUIRE(committer.commit({&batch, 1}, sample_now) == StoreFault::none);
    CHECK(reader.integer("SELECT count(*) FROM server_history") == 1);
}
