#include "process/ports_file.h"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <string_view>
#include <system_error>
#include <utility>

#include <fmt/core.h>
#include <unistd.h>

#include "base/json_fields.h"

namespace muster {
namespace {

// Longer than the longest ports file: four names, four addresses.
constexpr std::size_t bytes_max = 512;

// A file that is empty, as mktemp makes it, or one that a run of ours wrote.
bool may_be_replaced(const std::filesystem::path& path) {
    std::error_code error;
    if (!std::filesystem::is_regular_file(std::filesystem::symlink_status(path, error))) return false;
    std::ifstream file(path, std::ios::binary);
    std::string text(bytes_max, '\0');
    file.read(text.data(), static_cast<std::streamsize>(text.size()));
    text.resize(static_cast<std::size_t>(file.gcount()));
    if (!file.eof()) return false;  // longer, or not to be read
    if (text.empty()) return true;
    const auto begins_with = [&text](std::string_view name) {
        return text.starts_with(fmt::format("{{\"{}\":\"", name));
    };
    return text.ends_with("\"}\n") &&
           (begins_with("servers") || begins_with("matchmakers") || begins_with("players") || begins_with("http"));
}

}  // namespace

std::string to_json(const BoundAddresses& addresses) {
    JsonFields fields;
    const auto add = [&fields](std::string_view name, const std::string& address) {
        if (!address.empty()) fields.text(name, address);
    };
    add("servers", addresses.servers);
    add("matchmakers", addresses.matchmakers);
    add("players", addresses.players);
    add("http", addresses.http);
    return fields.finish();
}

PortsFile::PortsFile(std::filesystem::path path) : path_(std::move(path)), draft_(path_) {
    draft_ += fmt::format(".{}.tmp", ::getpid());
    make_room();
    write_draft({});
    std::error_code ignored;
    std::filesystem::remove(draft_, ignored);
}

PortsFile::~PortsFile() {
    std::error_code ignored;
    if (written_ && may_be_replaced(path_)) std::filesystem::remove(path_, ignored);
}

void PortsFile::write(const BoundAddresses& addresses) {
    make_room();
    write_draft(to_json(addresses) + "\n");
    std::error_code error;
    std::filesystem::rename(draft_, path_, error);
    written_ = !error;
    if (written_) return;
    std::error_code ignored;
    std::filesystem::remove(draft_, ignored);
    throw PortsFileError(fmt::format("cannot write the ports file {}: {}", path_.string(), error.message()));
}

// Somebody may have put something else there since the start: asked before each write.
void PortsFile::make_room() const {
    std::error_code error;
    if (!std::filesystem::exists(std::filesystem::symlink_status(path_, error))) return;
    if (!may_be_replaced(path_))
        throw PortsFileError(
            fmt::format("{} exists and is not a ports file; remove it, or name another file", path_.string()));
    std::filesystem::remove(path_, error);
}

void PortsFile::write_draft(const std::string& text) const {
    errno = 0;
    std::ofstream file(draft_, std::ios::binary | std::ios::trunc);
    file << text;
    file.close();
    if (file) return;
    throw PortsFileError(fmt::format("cannot write the ports file {}: {}", path_.string(), std::strerror(errno)));
}

}  // namespace muster
