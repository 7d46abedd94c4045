// A folder of seeds: what one fuzz target starts from.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace muster::fuzz {

// Longer inputs slow a fuzzer down and show nothing that shorter ones do not.
inline constexpr std::size_t seed_size_max = 1'024;

class SeedFolder {
public:
    // Makes `all`/`target`.
    SeedFolder(const std::filesystem::path& all, std::string_view target);

    // Throws std::runtime_error. A seed that is too long is left out.
    void write(const std::string& name, std::string_view bytes);

    int count() const { return count_; }

private:
    std::filesystem::path folder_;
    int count_ = 0;
};

// The seeds of several targets; each makes its folders below `all`, and gives how many there are.
int write_port_seeds(const std::filesystem::path& all);
int write_node_seeds(const std::filesystem::path& all);
int write_play_seeds(const std::filesystem::path& all);
int write_text_seeds(const std::filesystem::path& all);

}  // namespace muster::fuzz
