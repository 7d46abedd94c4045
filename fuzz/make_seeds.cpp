// Writes what the fuzz targets start from: every message at its edges, by our own encoder.
//
//   make_seeds DIR      makes DIR/servers, DIR/matchmakers, DIR/players and DIR/core, a corpus for each target
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>

#include <fmt/format.h>

#include "fuzz/fuzz_port.h"
#include "protocol/message_samples.h"

namespace muster::fuzz {
namespace {

// Longer inputs slow a fuzzer down and show nothing that shorter ones do not.
constexpr std::size_t seed_size_max = 4'096;

class SeedFolder {
public:
    SeedFolder(const std::filesystem::path& all, Port port) : folder_(all / std::string(to_string(port))) {
        std::filesystem::create_directories(folder_);
    }

    // `frames` as one input, sent in pieces of `piece` bytes, or whole when that is 0.
    void write(const std::string& name, ByteOrder order, std::uint8_t piece, ByteView frames) {
        if (frames.size() > seed_size_max) return;
        const unsigned head = (order == ByteOrder::big ? 1U : 0U) | 2U | (piece > 0 ? 1U << 2 : 0U);
        Bytes seed{static_cast<std::byte>(head)};
        if (piece > 0) seed.push_back(static_cast<std::byte>(piece - 1));
        seed.insert(seed.end(), frames.begin(), frames.end());
        std::ofstream file(folder_ / name, std::ios::binary);
        file.write(reinterpret_cast<const char*>(seed.data()), static_cast<std::streamsize>(seed.size()));
        if (!file.flush()) throw std::runtime_error(fmt::format("cannot write {}", (folder_ / name).string()));
        ++count;
    }

    int count = 0;

private:
    std::filesystem::path folder_;
};

// Each sample alone, and one stream of the first samples of all messages.
template <Port At>
int write_seeds(const std::filesystem::path& all) {
    SeedFolder folder(all, At);
    for (const ByteOrder order : byte_orders) {
        Bytes stream;
        MessagesOf<At>::for_each([&]<class M>() {
            std::size_t number = 0;
            for (const M& message : message_samples<M>(4)) {
                Bytes frame;
                encode(message, order, frame);
                const auto piece = static_cast<std::uint8_t>(number % 8);
                folder.write(fmt::format("{}-{}-{}-{}", M::name, to_string(M::direction), to_string(order), number),
                             order, piece, frame);
                if (number < 4 && frame.size() < 64) stream.insert(stream.end(), frame.begin(), frame.end());
                ++number;
            }
        });
        folder.write(fmt::format("stream-{}", to_string(order)), order, 3, stream);
    }
    return folder.count;
}

// A literal with zeroes in it, without the one at its end.
template <std::size_t Size>
std::string bytes_of(const char (&literal)[Size]) {
    return {literal, Size - 1};
}

// Plays for fuzz_core: what happens, on which link, and its numbers, as FuzzWorld::step() reads them.
int write_plays(const std::filesystem::path& all) {
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
    std::filesystem::create_directories(all / "core");
    const std::pair<const char*, std::string> plays[] = {
        {"match", match}, {"player", player}, {"both", match + player}};
    for (const auto& [name, play] : plays) {
        std::ofstream file(all / "core" / name, std::ios::binary);
        file.write(play.data(), static_cast<std::streamsize>(play.size()));
        if (!file.flush()) throw std::runtime_error(fmt::format("cannot write {}", (all / "core" / name).string()));
    }
    return static_cast<int>(std::size(plays));
}

int make_seeds(const std::filesystem::path& all) {
    const int servers = write_seeds<Port::servers>(all);
    const int matchmakers = write_seeds<Port::matchmakers>(all);
    const int players = write_seeds<Port::players>(all);
    const int plays = write_plays(all);
    fmt::print("{} seeds for servers, {} for matchmakers, {} for players, {} for core\n", servers, matchmakers, players,
               plays);
    return 0;
}

}  // namespace
}  // namespace muster::fuzz

int main(int count, char** arguments) {
    if (count != 2) {
        fmt::print(stderr, "usage: make_seeds DIR\n");
        return 64;
    }
    try {
        return muster::fuzz::make_seeds(arguments[1]);
    } catch (const std::exception& fault) {
        fmt::print(stderr, "make_seeds: {}\n", fault.what());
        return 74;
    }
}
