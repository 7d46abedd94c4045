#include "config/secrets.h"

#include <sys/stat.h>

#include <optional>
#include <ostream>
#include <type_traits>
#include <utility>

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <unistd.h>

#include "testing/test_folder.h"

using namespace muster;

namespace {

template <class T>
concept Streamable = requires(std::ostream& out, const T& value) { out << value; };

static_assert(!Streamable<Secret>);
static_assert(!fmt::is_formattable<Secret>::value);
static_assert(!std::is_convertible_v<Secret, std::string_view>);

struct SecretFiles {
    TestFolder folder;

    Result<SecretFile, std::string> read(std::string_view content, mode_t mode = 0600) {
        const auto path = folder.write("secret", content);
        ::chmod(path.c_str(), mode);
        return read_secret_file(path);
    }
};

}  // namespace

TEST_CASE("X-2: a secret matches itself only, and no secret matches nothing") {
    const Secret secret("correct horse");
    CHECK(secret.matches("correct horse"));
    for (const char* wrong :
         {"", "correct hors", "correct horse ", "correct horsf", "Correct horse", "correct horsecorrect horse"})
        CHECK_FALSE_MESSAGE(secret.matches(wrong), wrong);
    CHECK_FALSE(secret.matches(std::string(100'000, 'c')));
    CHECK(Secret(std::string_view("a\0b", 3)).matches(std::string_view("a\0b", 3)));
    CHECK_FALSE(Secret(std::string_view("a\0b", 3)).matches("a"));

    const Secret none;
    CHECK_FALSE(none.is_set());
    CHECK_FALSE(none.matches(""));
    CHECK_FALSE(none.matches("anything"));
    CHECK(none.reveal().empty());
}

TEST_CASE("X-2: copies of a secret share one buffer, so that there is one place to wipe") {
    std::optional<Secret> first(std::in_place, "correct horse");
    std::optional<Secret> second(first);
    CHECK(first->reveal().data() == second->reveal().data());
    first.reset();
    CHECK(second->matches("correct horse"));
    CHECK(*second == Secret("correct horse"));
    CHECK_FALSE(*second == Secret("another horse"));
    CHECK_FALSE(*second == Secret());
    CHECK(Secret() == Secret());
}

TEST_CASE_FIXTURE(SecretFiles, "X-2: a secret's file is read without its one trailing line end") {
    CHECK(read("token")->secrets.matches("token"));
    CHECK(read("token\n")->secrets.matches("token"));
    CHECK(read("token\r\n")->secrets.matches("token"));
    CHECK(read(std::string(Secret::bytes_max, 'x') + "\n")->secrets.first().size() == Secret::bytes_max);
}

TEST_CASE_FIXTURE(SecretFiles, "S-4: spaces and tabs around a secret are not part of it, and a blank line is none") {
    for (const char* file : {" token ", "\ttoken\t\r\n", "  \n\t token \t\n \t \r\n", "\r\ntoken \r"}) {
        const auto one = read(file);
        REQUIRE_MESSAGE(one, file);
        CHECK_MESSAGE(one->secrets.all().size() == 1, file);
        CHECK_MESSAGE(one->secrets.matches("token"), file);
        for (const char* wrong : {"", " ", "  ", "\t", " token", "token "})
            CHECK_FALSE_MESSAGE(one->secrets.matches(wrong), file);
    }
    CHECK(read("two words\n")->secrets.matches("two words"));
    for (const char* blank : {"\n", "\r\n", "\n\n  \n", " ", "\t\n \r\n"})
        CHECK_MESSAGE(read(blank).error() == fmt::format("cannot read {}: there is no secret in it, only blank lines",
                                                         (folder.path() / "secret").string()),
                      blank);
}

TEST_CASE_FIXTURE(SecretFiles,
                  "X-2: an empty, missing, too long or special file is refused by name, and its bytes are not told") {
    CHECK(read("").error() == fmt::format("cannot read {}: the file is empty", (folder.path() / "secret").string()));
    const std::string long_one = read(std::string(Secret::bytes_max + 1, 'x')).error();
    CHECK(long_one.find("longer than 4096 bytes") != std::string::npos);
    CHECK(long_one.find("xxx") == std::string::npos);
    CHECK_FALSE(read(std::string(1'000'000, 'x')));

    CHECK(read_secret_file(folder.path() / "missing").error().find("No such file") != std::string::npos);
    CHECK(read_secret_file(folder.path()).error().ends_with("is a directory"));
    const auto pipe = folder.path() / "pipe";
    REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
    CHECK(read_secret_file(pipe).error().ends_with("not a regular file"));
}

TEST_CASE_FIXTURE(SecretFiles,
                  "X-2: a file that others may read or write is warned about, and a group may read root's") {
    CHECK(read("token", 0600)->warnings.empty());
    CHECK(read("token", 0640)->warnings.empty() == (::geteuid() == 0));
    for (const mode_t mode : {0644, 0604, 0602, 0620, 0660}) {
        const auto open_to_others = read("token", mode);
        REQUIRE(open_to_others->warnings.size() == 1);
        CHECK(open_to_others->warnings[0].find(fmt::format("mode {:04o}", mode)) != std::string::npos);
    }
    if (::geteuid() != 0) return;
    REQUIRE(::chown(folder.write("secret", "token").c_str(), 1, 1) == 0);
    CHECK(read("token", 0640)->warnings.size() == 1);
}

TEST_CASE_FIXTURE(SecretFiles, "S-4: every line of a secret's file is valid, and empty lines say nothing") {
    const auto both = read("old token\nnew token\r\n\n\r\n");
    REQUIRE(both);
    CHECK(both->secrets.all().size() == 2);
    CHECK(both->secrets.matches("old token"));
    CHECK(both->secrets.matches("new token"));
    for (const char* wrong : {"", "old token\nnew token", "old", "new token\r", "\n"})
        CHECK_FALSE_MESSAGE(both->secrets.matches(wrong), wrong);
    CHECK(both->secrets.first() == Secret("old token"));
    CHECK_FALSE(both->secrets == Secrets(Secret("old token")));

    std::string lines;
    for (std::size_t i = 0; i < Secrets::count_max; ++i) lines += std::string(Secret::bytes_max, 'x') + "\r\n";
    CHECK(read(lines)->secrets.all().size() == Secrets::count_max);
    CHECK(read("a\nb\nc\nd\ne\nf\ng\nh\ni\nj\nk\nl\nm\nn\no\np\nq\n").error().find("more than 16 lines") !=
          std::string::npos);
}

TEST_CASE_FIXTURE(SecretFiles, "X-2: a file that is no text is one secret as a whole") {
    const std::string_view bytes("\x01\n\xC3\x28 key\n", 9);
    const auto key = read(bytes);
    REQUIRE(key);
    CHECK(key->secrets.all().size() == 1);
    CHECK(key->secrets.matches(bytes.substr(0, 8)));
}

TEST_CASE_FIXTURE(SecretFiles, "S-4: a byte order mark is refused, since nobody would see it in the secret") {
    using namespace std::string_view_literals;
    for (const std::string_view file : {"\xEF\xBB\xBFtoken\n"sv, "\xFF\xFEt\0o\0"sv, "\xFE\xFF\0t\0o"sv}) {
        const auto refused = read(file);
        REQUIRE_FALSE(refused);
        CHECK(refused.error().find("byte order mark") != std::string::npos);
    }
}
