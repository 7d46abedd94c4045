// Small files that are replaced as a whole: a reader finds the old one or the new one.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string_view>

namespace muster {

// until_reboot: what it speaks of does not outlive the machine either, so nobody waits for the disk.
enum class Kept : std::uint8_t { until_reboot, for_good };

// False, and the old file is there as it was, when the disk refuses. The folder is there.
bool replace_file(const std::filesystem::path& file, std::string_view text, Kept kept);
// The same with no file as the new one; it may be gone already.
bool remove_file(const std::filesystem::path& file, Kept kept);

}  // namespace muster
