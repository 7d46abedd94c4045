#include "process/ports_file.h"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <system_error>
#include <utility>

#include <fmt/core.h>
#include <unistd.h>

#include "base/json_fields.h"

namespace muster {

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
    write_draft({});
    std::error_code ignored;
    std::filesystem::remove(draft_, ignored);
    std::filesystem::remove(path_, ignored);
}

PortsFile::~PortsFile() {
    std::error_code ignored;
    std::filesystem::remove(path_, ignored);
}

void PortsFile::write(const BoundAddresses& addresses) {
    write_draft(to_json(addresses) + "\n");
    std::error_code error;
    std::filesystem::rename(draft_, path_, error);
    if (!error) return;
    std::error_code ignored;
    std::filesystem::remove(draft_, ignored);
    throw PortsFileError(fmt::format("cannot write the ports file {}: {}", path_.string(), error.message()));
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
