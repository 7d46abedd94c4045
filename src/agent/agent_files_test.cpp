// The layer's files: logs, records, the state folder.
#include <sys/stat.h>

#include <fstream>
#include <string>

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <unistd.h>

#include "agent/proc.h"
#include "agent/process_log.h"
#include "agent/process_record.h"
#include "agent/state_folder.h"
#include "testing/test_folder.h"

namespace muster {
namespace {

void append(const FileDescriptor& file, const std::string& text) {
    REQUIRE(write(file.number(), text.data(), text.size()) == static_cast<ssize_t>(text.size()));
}

TEST_CASE("G-9: a full log is rotated while its writer goes on and the oldest goes") {
    const TestFolder folder;
    const ProcessLog log(folder.path() / "a.log", 100, 3);
    const auto file = log.open();
    REQUIRE(file);
    for (int round = 1; round <= 4; ++round) {
        for (int line = 0; line < 11; ++line) append(*file, "round " + std::to_string(round) + " ..\n");
        log.rotate_if_full();
        CHECK(log.size() == 0);
    }
    append(*file, "last\n");
    CHECK_FALSE(std::filesystem::exists(folder.path() / "a.log.3"));
    const std::string all = log.tail(10'000);
    CHECK(all.find("round 1") == std::string::npos);
    CHECK(all.find("round 3") < all.find("round 4"));
    CHECK(all.ends_with("last\n"));
    CHECK(log.tail(20) == "round 4 ..\nlast\n" + std::string());
}

TEST_CASE("fault 93: a log far beyond its limit costs no more than the limit to rotate") {
    const TestFolder folder;
    const ProcessLog log(folder.path() / "a.log", 1000, 2);
    const auto file = log.open();
    REQUIRE(file);
    append(*file, std::string(100'000, 'x'));
    log.rotate_if_full();
    CHECK(log.size() == 0);
    CHECK(std::filesystem::file_size(folder.path() / "a.log.1") == 1000);
}

TEST_CASE("G-5: the last output of a life begins where the life began") {
    const TestFolder folder;
    const ProcessLog log(folder.path() / "a.log", 100, 2);
    const auto file = log.open();
    append(*file, "first life\n");
    const std::int64_t from = log.size();
    append(*file, "second life\n");
    CHECK(log.tail_from(from, 1000) == "second life\n");
    CHECK(log.tail_from(from, 5) == "life\n");
    append(*file, std::string(200, 'x'));
    log.rotate_if_full();
    append(*file, "third\n");
    CHECK(log.tail_from(from, 1000) == "third\n");
}

TEST_CASE("G-9: whoever reads a log on in pieces gets all of it, and no character in two") {
    const TestFolder folder;
    const ProcessLog log(folder.path() / "a.log", 1000, 2);
    const auto file = log.open();
    REQUIRE(file);
    const std::string written = "first line\r\nzwölf Boxkämpfer €€€ 😀😀\nbad \xC3 byte \x80\x80\x80\x80\x80\nlast";
    append(*file, written);
    CHECK(log.read_on(0, 10).text == "first line");
    CHECK(log.read_on(0, 10).end == 10);
    for (std::size_t bytes = 4; bytes < 20; ++bytes) {
        std::string read;
        std::string shown;
        std::int64_t at = 0;
        while (at < log.size()) {
            const ProcessLog::Piece piece = log.read_on(at, bytes);
            REQUIRE(piece.end > at);
            CHECK(piece.text.size() <= bytes);
            read += piece.text;
            shown += safe_output(piece.text);
            at = piece.end;
        }
        CHECK(read == written);
        CHECK(shown == safe_output(written));
    }
    CHECK(log.read_on(log.size(), 10).text.empty());
    CHECK(log.read_on(0, 1).end == 1);
    append(*file, std::string(1000, 'x'));
    log.rotate_if_full();
    append(*file, "anew");
    CHECK(log.read_on(500, 10).text == "anew");
    CHECK(log.read_on(500, 10).end == 4);
}

TEST_CASE("G-9: control characters in shown output are harmless and lines stay lines") {
    CHECK(safe_output("a\tb\r\n\x1b[2Jx\n") == "a\tb\n\\x1b[2Jx\n");
    CHECK(safe_output("") == "");
    CHECK(safe_output("no end") == "no end");
}

ProcessRecord whole_record() {
    ProcessRecord record{.name = "arena-1",
                         .run = "arena",
                         .fingerprint = "00ff",
                         .sdk = SdkKind::agones,
                         .pid = 4242,
                         .start_ticks = 99,
                         .boot = "boot",
                         .life = "abcd",
                         .port = 7001,
                         .started_at = UnixMs{5},
                         .restarts = 3,
                         .was_ready = true,
                         .sdk_state = "{\"state\":\"Ready\"}",
                         .cgroup = "/sys/fs/cgroup/x",
                         .log_from = 17};
    record.match = MatchHeld{.match = {.lobby = LobbyId(7), .game_type = -1, .game_mode = 2, .token = "t\"\n"},
                             .stage = MatchHeld::Stage::ready};
    record.last_exit = ProcessExit{{.signal = 11}, UnixMs{4}, std::chrono::seconds(9), "signal 11 (SIGSEGV)"};
    return record;
}

TEST_CASE("G-7: what is written down of a process is read back whole") {
    const ProcessRecord record = whole_record();
    const auto back = parse_process_record(to_json(record));
    REQUIRE(back);
    CHECK(to_json(*back) == to_json(record));
    CHECK(back->match->match == record.match->match);
    CHECK(back->match->stage == MatchHeld::Stage::ready);
    REQUIRE(back->last_exit);
    CHECK(back->last_exit->status == ExitStatus{.signal = 11});
    CHECK(back->last_exit->ran == std::chrono::seconds(9));
    CHECK(back->last_exit->reason == "signal 11 (SIGSEGV)");

    ProcessRecord unseen = record;
    unseen.last_exit->ran.reset();
    const auto unseen_back = parse_process_record(to_json(unseen));
    REQUIRE(unseen_back);
    CHECK_FALSE(unseen_back->last_exit->ran);
}

TEST_CASE("G-5, G-7: a process that waits for its next start is written down without a pid") {
    ProcessRecord record = whole_record();
    record.pid = 0;
    record.port = 0;
    record.match.reset();
    CHECK_FALSE(parse_process_record(to_json(record)));  // for what?
    record.starts_at = UnixMs{77};
    record.pace = {{UnixMs{5}, UnixMs{6}}, std::chrono::seconds(8), true};
    const auto back = parse_process_record(to_json(record));
    REQUIRE(back);
    CHECK(to_json(*back) == to_json(record));
    CHECK(back->starts_at == UnixMs{77});
    CHECK(back->pace.failures == std::vector<UnixMs>{UnixMs{5}, UnixMs{6}});
    CHECK(back->pace.next == std::chrono::seconds(8));
    CHECK(back->pace.crash_loop);
    record.pid = 4242;
    CHECK_FALSE(parse_process_record(to_json(record)));  // one that runs waits for nothing
    std::string wrong = to_json(*back);
    wrong.replace(wrong.find("[5,6]"), 5, "[5,-6]");
    CHECK_FALSE(parse_process_record(wrong));
}

TEST_CASE("G-7: a record that is damaged at any byte adopts nobody by accident") {
    const std::string whole = to_json(whole_record());
    for (std::size_t cut = 0; cut < whole.size(); ++cut) CHECK_FALSE(parse_process_record(whole.substr(0, cut)));
    CHECK_FALSE(parse_process_record("{}"));
    CHECK_FALSE(parse_process_record("[1]"));
    std::string wrong = whole;
    wrong.replace(wrong.find("4242"), 4, "   1");  // never a process of ours
    CHECK_FALSE(parse_process_record(wrong));
}

TEST_CASE("G-7: a config has another fingerprint exactly when its processes differ") {
    RunConfig run;
    run.command = {"./server"};
    RunConfig more = run;
    more.count = more.count_max = 5;
    CHECK(fingerprint(run) == fingerprint(more));
    RunConfig other = run;
    other.command = {"./server", ""};
    CHECK(fingerprint(run) != fingerprint(other));
    other = run;
    other.env = {{"A", "1"}};
    CHECK(fingerprint(run) != fingerprint(other));
    other = run;
    other.stop_grace += std::chrono::seconds(1);
    CHECK(fingerprint(run) != fingerprint(other));
}

TEST_CASE("G-7: a copy of a state folder that an agent uses is refused, and free once that agent is gone") {
    const TestFolder folder;
    {
        const auto original = StateFolder::open(folder.path() / "state");
        REQUIRE(original);
        std::filesystem::copy(folder.path() / "state", folder.path() / "copy",
                              std::filesystem::copy_options::recursive);
        const auto copy = StateFolder::open(folder.path() / "copy");
        REQUIRE_FALSE(copy);
        CHECK(copy.error().in_use);
        CHECK(copy.error().text.find(fmt::format("is a copy of the folder that another agent (pid {}) uses",
                                                 getpid())) != std::string::npos);
    }
    CHECK(StateFolder::open(folder.path() / "copy"));
}

TEST_CASE("G-7: the state folder belongs to one agent at a time") {
    const TestFolder folder;
    auto one = StateFolder::open(folder.path() / "state");
    REQUIRE(one);
    const auto two = StateFolder::open(folder.path() / "state");
    REQUIRE_FALSE(two);
    CHECK(two.error().text.find(fmt::format("another agent (pid {}) uses this folder", getpid())) != std::string::npos);
    CHECK(two.error().in_use);
    CHECK(one->write(whole_record()));
    CHECK(one->write_counts({{"arena", {3, 1}}, {"b", {0, 2}}}));
    folder.write("state/processes/arena-2.json", to_json(whole_record()));  // says that it is another
    folder.write("state/processes/arena-3.json", "{");
    REQUIRE(one->records().size() == 1);
    CHECK(one->records()[0].name == "arena-1");
    CHECK(one->counts() == std::map<std::string, OperatorCount>{{"arena", {3, 1}}, {"b", {0, 2}}});
    one->remove_record("arena-1");
    CHECK(one->records().empty());
}

TEST_CASE("G-3: what an operator set and the disk refuses is told, and what was set before stays") {
    const TestFolder folder;
    auto state = StateFolder::open(folder.path() / "state");
    REQUIRE(state);
    REQUIRE(state->write_counts({{"arena", {3, 1}}}));
    REQUIRE(state->write_draining(true));
    // Something else is where the draft of a file would be, and where a file is to be removed.
    std::filesystem::create_directory(state->path() / "counts.new");
    CHECK_FALSE(state->write_counts({{"arena", {1, 1}}}));
    CHECK(state->counts() == std::map<std::string, OperatorCount>{{"arena", {3, 1}}});
    std::filesystem::remove(state->path() / "draining");
    std::filesystem::create_directories(state->path() / "draining" / "in_the_way");
    CHECK_FALSE(state->write_draining(false));
    CHECK(state->draining());
}

TEST_CASE("G-11: a state folder that cannot be made is told with its path") {
    const auto folder = StateFolder::open("/proc/no/such");
    REQUIRE_FALSE(folder);
    CHECK(folder.error().text.starts_with("/proc/no/such: cannot be made"));
}

TEST_CASE("G-11: a folder that others use does not become the state folder, and stays as it was") {
    const TestFolder folder;
    const auto shared = folder.path() / "shared";
    const auto mode = [&shared] { return std::filesystem::status(shared).permissions(); };
    std::filesystem::create_directory(shared);
    std::filesystem::permissions(shared, std::filesystem::perms::all);
    auto refused = StateFolder::open(shared);
    REQUIRE_FALSE(refused);
    CHECK(refused.error().text == shared.string() +
                                      ": others may write to this folder; give the path of one that is the "
                                      "agent's alone");
    CHECK(mode() == std::filesystem::perms::all);

    const auto readable = std::filesystem::perms(0755);
    std::filesystem::permissions(shared, readable);
    folder.write("shared/photos", "");
    refused = StateFolder::open(shared);
    REQUIRE_FALSE(refused);
    CHECK(refused.error().text == shared.string() +
                                      ": holds photos, which is not the agent's; give the path of a new or "
                                      "empty folder");
    CHECK(mode() == readable);

    std::filesystem::remove(shared / "photos");
    {
        CHECK(StateFolder::open(shared));
    }
    CHECK(mode() == std::filesystem::perms(0700));
    folder.write("shared/photos", "");  // whoever puts something there later does not stop the next agent
    CHECK(StateFolder::open(shared));
}

TEST_CASE("G-11: a link in place of a folder in the state folder is refused, and nothing is written through it") {
    const TestFolder folder;
    for (const char* part : {"logs", "processes"}) {
        const auto state = folder.path() / "state";
        const auto elsewhere = folder.path() / "elsewhere";
        std::filesystem::create_directories(state);
        std::filesystem::permissions(state, std::filesystem::perms(0700));
        std::filesystem::create_directories(elsewhere);
        std::filesystem::create_symlink(elsewhere, state / part);
        const auto refused = StateFolder::open(state);
        REQUIRE_FALSE(refused);
        CHECK(refused.error().text ==
              fmt::format("{}: is a symbolic link; remove it, or put a folder in its place", (state / part).string()));
        CHECK_FALSE(refused.error().in_use);
        CHECK(std::filesystem::is_empty(elsewhere));
        std::filesystem::remove_all(state);
    }
}

TEST_CASE("G-9, fault 93: whatever a process puts in place of its files, nobody waits for it") {
    const TestFolder folder;
    const auto state = StateFolder::open(folder.path() / "state");
    REQUIRE(state);
    const ProcessLog log(state->log_file("arena-1"), 10, 2);
    const auto other = folder.path() / "other";
    folder.write("other", "somebody's");
    for (const bool is_link : {false, true}) {
        const auto replace = [&](const std::filesystem::path& file) {
            std::filesystem::remove(file);
            if (is_link) {
                std::filesystem::create_symlink(other, file);
            } else {
                REQUIRE(mkfifo(file.c_str(), 0600) == 0);
            }
        };
        replace(state->log_file("arena-1"));
        CHECK(log.tail(100).empty());
        CHECK(log.size() == 0);
        log.rotate_if_full();
        REQUIRE(log.open());
        CHECK(std::filesystem::is_regular_file(std::filesystem::symlink_status(state->log_file("arena-1"))));
        replace(folder.path() / "state/processes/arena-1.json");
        CHECK(state->records().empty());
        replace(folder.path() / "state/processes/arena-1.json.new");
        static_cast<void>(state->write(whole_record()));
    }
    CHECK(text_of_file(other) == "somebody's");
}

TEST_CASE("G-7: a state folder that was removed is made again with its id, unless another agent has it") {
    const TestFolder folder;
    const auto state = folder.path() / "state";
    auto opened = StateFolder::open(state);
    REQUIRE(opened);
    CHECK(opened->intact());
    std::filesystem::remove_all(state);
    CHECK_FALSE(opened->intact());
    REQUIRE(opened->restore());
    CHECK(opened->intact());
    CHECK(opened->write(whole_record()));
    CHECK_FALSE(StateFolder::open(state));  // it is locked again
    std::filesystem::remove_all(state);
    const auto other = StateFolder::open(state);
    REQUIRE(other);
    CHECK_FALSE(opened->restore());
    CHECK(other->id() != opened->id());
}

TEST_CASE("G-7: a state folder that was moved away under its agent stays locked, and is never adopted twice") {
    const TestFolder folder;
    const auto state = folder.path() / "state";
    const auto moved = folder.path() / "moved";
    auto opened = StateFolder::open(state);
    REQUIRE(opened);
    CHECK(opened->write(whole_record()));
    std::filesystem::rename(state, moved);
    CHECK_FALSE(opened->intact());
    REQUIRE(opened->restore());
    CHECK(opened->intact());
    for (const auto& path : {state, moved}) {
        const auto other = StateFolder::open(path);
        REQUIRE_FALSE(other);
        CHECK(other.error().text ==
              fmt::format("{}: another agent (pid {}) uses this folder; stop it, or give this one another state",
                          path.string(), getpid()));
    }
    opened = Failure(StateRefusal{});
    CHECK(StateFolder::open(moved));
}

TEST_CASE("G-7: a state folder keeps its id, and one that is no id is replaced") {
    const TestFolder folder;
    const auto state = folder.path() / "state";
    std::string id;
    {
        const auto opened = StateFolder::open(state);
        REQUIRE(opened);
        id = opened->id();
        CHECK(id.size() == 36);
    }
    {
        const auto again = StateFolder::open(state);
        REQUIRE(again);
        CHECK(again->id() == id);
    }
    std::ofstream(state / "id") << "half";
    const auto damaged = StateFolder::open(state);
    REQUIRE(damaged);
    CHECK(damaged->id().size() == 36);
    CHECK(damaged->id() != id);
}

}  // namespace
}  // namespace muster
