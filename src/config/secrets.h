// Secrets: kept where nothing can print them, compared without telling how much was right, wiped when done.
#pragma once

#include <cstddef>
#include <filesystem>
#include <iosfwd>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
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

// What a key of the config holds: the secrets that are valid side by side, so that one can be replaced by another
// without a gap. Most often one, or none.
class Secrets {
public:
    static constexpr std::size_t count_max = 16;

    // None.
    Secrets() = default;
    explicit(false) Secrets(Secret only) : all_{std::move(only)} {}
    explicit Secrets(std::vector<Secret> all);

    bool is_set() const { return !all_.empty(); }
    // True when `candidate` is any of them; all of them are compared, whichever it is.
    bool matches(std::string_view candidate) const;

    const std::vector<Secret>& all() const { return all_; }
    // What is new is made with the first one; only when there is one.
    const Secret& first() const { return all_.front(); }

    friend bool operator==(const Secrets& one, const Secrets& other) = default;
    friend std::ostream& operator<<(std::ostream&, const Secrets&) = delete;

private:
    std::vector<Secret> all_;
};

// Secrets read from a file, and what their owner should be told about the file.
struct SecretFile {
    Secrets secrets;
    std::vector<std::string> warnings;
};

// One secret a line, without the blanks around it; a blank line is none. A file that is no text (UTF-8, no controls) is
// one secret, but for one trailing line end. Fails with a text that names the file: unreadable, without a secret,
// special, with a byte order mark, or with too many or too long ones. Warns of one that others may read or write.
Result<SecretFile, std::string> read_secret_file(const std::filesystem::path& path);

// Some editors put one before the text, where nobody sees it.
bool has_byte_order_mark(std::string_view bytes);

}  // namespace muster
