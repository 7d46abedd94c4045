// Secrets: kept where nothing can print them, compared without telling how much was right, wiped when done.
#pragma once

#include <cstddef>
#include <filesystem>
#include <iosfwd>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace muster {

// A token or a key, or none. Copies share one buffer, which is wiped when the last of them goes.
// There is no way to print or format one.
class Secret {
public:
    static constexpr std::size_t bytes_max = 4096;

    // None.
    Secret() = default;
    explicit Secret(std::string_view bytes);

    bool is_set() const { return bytes_ != nullptr; }
    std::size_t size() const;

    // True when `candidate` is the secret. Takes as long for a near miss as for a far one. No secret matches nothing.
    bool matches(std::string_view candidate) const;

    // The bytes themselves, for the one place that signs with them. Valid while any copy lives.
    std::string_view reveal() const;

    friend bool operator==(const Secret& one, const Secret& other);
    friend std::ostream& operator<<(std::ostream&, const Secret&) = delete;

private:
    class Bytes;
    std::shared_ptr<const Bytes> bytes_;
};

// A secret read from a file, and what its owner should be told about the file.
struct SecretFile {
    Secret secret;
    std::vector<std::string> warnings;
};

// One trailing line end is not part of the secret. Fails with a text that names the file: unreadable, empty, not a
// plain file, or longer than a secret may be.
Result<SecretFile, std::string> read_secret_file(const std::filesystem::path& path);

}  // namespace muster
