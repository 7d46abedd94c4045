// Seeds for the targets that read an input as a play: a few bytes for each step, as their step() reads them.
#include <string>
#include <string_view>

#include "fuzz/seed_folder.h"

namespace muster::fuzz {
namespace {

// A literal with zeroes in it, without the one at its end.
template <std::size_t Size>
std::string bytes_of(const char (&literal)[Size]) {
    return {literal, Size - 1};
}

int write_core(const std::filesystem::path& all) {
    const std::string match = bytes_of(
        "\x00\x00"
        "\x04\x00\x00\x02\x0c"  // a server joins
        "\x01\x01"
        "\x0f\x01\x00"  // a matchmaker joins
        "\x13\x01\x01\x03"
        "\x10\x01\x01\x02"  // names players, asks
        "\x07\x00\x01\x01"
        "\x09\x00\x01\x01"      // acknowledged, ready
        "\x0a\x00\x01\x01\x03"  // a token is used
        "\x0b\x00\x01\x01"
        "\x0c\x00\x01\x01");  // started, ended
    const std::string player = bytes_of(
        "\x02\x02"
        "\x15\x02\x01\x00\x01"  // logs in
        "\x17\x02\x01"
        "\x18\x02\x01\x01"  // acts, answers a heartbeat
        "\x03\x02"
        "\x02\x02"              // loses its link, comes again
        "\x15\x02\x01\x00\x00"  // resumes
        "\x1b\x00\x08");        // and falls silent
    // Five servers, and each says no whenever it is its turn.
    std::string declined;
    for (char server = 0; server < 5; ++server) {
        declined += bytes_of("\x00") + server;
        declined += bytes_of("\x04") + server + server + bytes_of("\x02\x0c");
    }
    declined += bytes_of("\x01\x05\x0f\x05\x00\x10\x05\x01\x02");  // a matchmaker joins, asks
    for (char turn = 0; turn < 25; ++turn)
        declined += bytes_of("\x07") + static_cast<char>(turn % 5) + bytes_of("\x00\x01");
    SeedFolder folder(all, "core");
    folder.write("declined", declined);
    folder.write("match", match);
    folder.write("player", player);
    folder.write("both", match + player);
    return folder.count();
}

// Whether each match has a list of players; then a player comes by link, server, account and token, without an edit.
int write_tokens(const std::filesystem::path& all) {
    const std::string lists = bytes_of("\x00\x01");
    const std::string right = bytes_of(
        "\x03\x00\x00\x00\x00\x00\x00"
        "\x03\x01\x01\x01\x01\x01\x00");
    const std::string others = bytes_of(
        "\x03\x00\x01\x00\x02\x00\x00"             // at the other server
        "\x03\x00\x00\x00\x02\x01\x00"             // with the other token
        "\x03\x01\x01\x01\x04\x01\x00"             // not on the list
        "\x03\x00\x00\x00\x03\x00\x01\x0aX\x00");  // nearly right
    const std::string late = bytes_of("\x00\x00\x04\x00\x00\x01") + right;
    const std::string started = bytes_of("\x02\x00\x00\x02\x01\x01") + right;
    const std::string stalled = bytes_of("\x01\x00\x00\x01") + right + bytes_of("\x01\x00\x01");
    std::string full = bytes_of("\x00\x00");  // one more than there is room for
    for (char account = 0; account < 4; ++account)
        full += bytes_of("\x03\x00\x00\x00") + account + bytes_of("\x00\x00");
    SeedFolder folder(all, "tokens");
    folder.write("full", full);
    folder.write("right", lists + right + right);
    folder.write("others", lists + others + right);
    folder.write("late", lists + late);
    folder.write("started", lists + right + started);
    folder.write("stalled", lists + stalled);
    return folder.count();
}

// A byte for the kind of row, then its values: most of them one byte that says "plausible" and one for which.
int write_rows(const std::filesystem::path& all) {
    SeedFolder folder(all, "rows");
    const std::string plausible(120, '\2');
    for (char kind = 0; kind < 9; ++kind) folder.write("row-" + std::to_string(kind), kind + plausible);
    std::string mixed;
    for (char kind = 0; kind < 9; ++kind) mixed += kind + plausible.substr(0, 40);
    folder.write("mixed", mixed);
    // A server, and a match of it that has ended.
    const std::string odd(24, '\3');
    folder.write("over", '\0' + odd.substr(0, 16) + '\2' + odd.substr(0, 10) + '\4' + odd);
    return folder.count();
}

// A byte for the kind of client, then its steps.
int write_sdk(const std::filesystem::path& all) {
    SeedFolder folder(all, "sdk");
    folder.write("server", bytes_of("\x00\x00"
                                    "\x08\x00\x00"      // connected, registered
                                    "\x09\x00\x01"      // offered a match
                                    "\x0c\x00\x10\x00"  // ready, a player comes
                                    "\x0a\x00\x0d\x00"  // let in, started
                                    "\x02\x03\xff\x7f"  // the link is lost, time passes
                                    "\x00\x08\x00\x00\x0e\x00"));
    folder.write("matchmaker", bytes_of("\x01\x00"
                                        "\x08\x00"              // connected, greeted
                                        "\x0f\x00\x0a\x00"      // asks, is answered
                                        "\x0e\x00\x03\x0b\x00"  // names players
                                        "\x0c\x00\x01\x0d\x00"  // hears of it, cancels
                                        "\x0f\x01\x03\xff\x7f"));
    const std::string player = bytes_of(
        "\x0b\x00\x00\x08"            // logs in, is let in
        "\x09\x0c"                    // a ping, and one of its own
        "\x0d\xe8\x03\x02hi"          // the game's own message
        "\x02\x03\xff\x3f\x00\x08"    // comes back
        "\x0a\x00\x03\xff\x00\x0e");  // is kicked, leaves
    folder.write("player-little", '\x02' + player);
    folder.write("player-big", '\x03' + player);
    // Every message that Muster may send, a few in one play.
    for (char kind = 0; kind < 4; ++kind) {
        for (int first = 0; first < 256; first += 16) {
            std::string said = bytes_of("\x00\x08\x00\x00");
            if (kind >= 2) said = bytes_of("\x0b\x00\x00\x08");
            for (int sample = first; sample < first + 16; ++sample) {
                said += bytes_of("\x06");
                said += static_cast<char>(sample);
                said += bytes_of("\x00\x03\x00");
            }
            folder.write("says-" + std::to_string(kind) + "-" + std::to_string(first), kind + said);
        }
    }
    return folder.count();
}

}  // namespace

int write_play_seeds(const std::filesystem::path& all) {
    return write_core(all) + write_tokens(all) + write_rows(all) + write_sdk(all);
}

}  // namespace muster::fuzz
