// Writes what the fuzz targets start from, by our own encoders.
//
//   make_seeds DIR      makes DIR/servers, DIR/http …, a corpus for each target
#include <cstdio>
#include <exception>
#include <fstream>
#include <stdexcept>

#include <fmt/format.h>

#include "fuzz/seed_folder.h"

namespace muster::fuzz {

SeedFolder::SeedFolder(const std::filesystem::path& all, std::string_view target) : folder_(all / target) {
    std::filesystem::create_directories(folder_);
}

void SeedFolder::write(const std::string& name, std::string_view bytes) {
    if (bytes.size() > seed_size_max) return;
    std::ofstream file(folder_ / name, std::ios::binary);
    file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    if (!file.flush()) throw std::runtime_error(fmt::format("cannot write {}", (folder_ / name).string()));
    ++count_;
}

}  // namespace muster::fuzz

int main(int count, char** arguments) {
    using namespace muster::fuzz;
    if (count != 2) {
        fmt::print(stderr, "usage: make_seeds DIR\n");
        return 64;
    }
    try {
        const std::filesystem::path all = arguments[1];
        const int ports = write_port_seeds(all);
        const int nodes = write_node_seeds(all);
        const int plays = write_play_seeds(all);
        const int texts = write_text_seeds(all);
        fmt::print("{} seeds of messages, {} of nodes, {} of plays, {} of texts\n", ports, nodes, plays, texts);
        return 0;
    } catch (const std::exception& fault) {
        fmt::print(stderr, "make_seeds: {}\n", fault.what());
        return 74;
    }
}
