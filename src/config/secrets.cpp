#include "config/secrets.h"

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include <fmt/core.h>

#include "base/check.h"
#include "base/utf8.h"
#include "config/plain_file.h"

namespace muster {

class Secret::Bytes {
public:
    explicit Bytes(std::string_view bytes) : size_(bytes.size()), data_(std::make_unique<char[]>(size_)) {
        std::copy(bytes.begin(), bytes.end(), data_.get());
    }
    Bytes(const Bytes&) = delete;
    Bytes& operator=(const Bytes&) = delete;
    ~Bytes() { explicit_bzero(data_.get(), size_); }

    std::string_view view() const { return {data_.get(), size_}; }

private:
    std::size_t size_;
    std::unique_ptr<char[]> data_;
};

Secret::Secret(std::string_view bytes) {
    MUSTER_CHECK(!bytes.empty() && bytes.size() <= bytes_max, "whoever reads a secret checks its size");
    bytes_ = std::make_shared<const Bytes>(bytes);
}

std::size_t Secret::size() const {
    return reveal().size();
}

std::string_view Secret::reveal() const {
    return bytes_ ? bytes_->view() : std::string_view{};
}

bool Secret::matches(std::string_view candidate) const {
    if (!is_set()) return false;
    const std::string_view secret = reveal();
    // Every byte of the candidate is looked at, whatever came before; the time says only how long the candidate is.
    volatile unsigned char difference = candidate.size() == secret.size() ? 0 : 1;
    for (std::size_t i = 0, at = 0; i < candidate.size(); ++i, at = at + 1 == secret.size() ? 0 : at + 1)
        difference = static_cast<unsigned char>(difference | (candidate[i] ^ secret[at]));
    return difference == 0;
}

bool operator==(const Secret& one, const Secret& other) {
    if (one.is_set() != other.is_set()) return false;
    return !one.is_set() || one.matches(other.reveal());
}

Secrets::Secrets(std::vector<Secret> all) : all_(std::move(all)) {
    MUSTER_CHECK(all_.size() <= count_max, "whoever reads secrets counts them");
}

bool Secrets::matches(std::string_view candidate) const {
    bool found = false;
    for (const Secret& secret : all_) found |= secret.matches(candidate);
    return found;
}

bool has_byte_order_mark(std::string_view bytes) {
    using namespace std::string_view_literals;
    for (const std::string_view mark : {"\xEF\xBB\xBF"sv, "\xFF\xFE"sv, "\xFE\xFF"sv}) {
        if (bytes.starts_with(mark)) return true;
    }
    return false;
}

namespace {

// What was read, wiped on the way out.
struct Buffer {
    // Room for the most and longest secrets with their line ends, and one byte more that shows it is too long.
    std::array<char, Secrets::count_max*(Secret::bytes_max + 2) + 1> bytes{};
    std::size_t size = 0;
    ~Buffer() { explicit_bzero(bytes.data(), bytes.size()); }
};

std::string_view without_line_end(std::string_view text) {
    if (text.ends_with('\n')) text.remove_suffix(1);
    if (text.ends_with('\r')) text.remove_suffix(1);
    return text;
}

bool is_text(std::string_view bytes) {
    const auto is_control = [](unsigned char c) {
        return (c < 0x20 && c != '\n' && c != '\r' && c != '\t') || c == 0x7F;
    };
    return is_utf8(bytes) && std::none_of(bytes.begin(), bytes.end(), is_control);
}

std::string_view trimmed(std::string_view line) {
    constexpr std::string_view blanks = " \t\r\n";
    const std::size_t first = line.find_first_not_of(blanks);
    if (first == std::string_view::npos) return {};
    return line.substr(first, line.find_last_not_of(blanks) - first + 1);
}

// Without the blank ones.
std::vector<std::string_view> lines_of(std::string_view text) {
    std::vector<std::string_view> lines;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find('\n'), text.size() - 1) + 1;
        const std::string_view line = trimmed(text.substr(0, end));
        if (!line.empty()) lines.push_back(line);
        text.remove_prefix(end);
    }
    return lines;
}

}  // namespace

Result<SecretFile, std::string> read_secret_file(const std::filesystem::path& path) {
    const auto failed = [&path](std::string_view why) {
        return Failure<std::string>(fmt::format("cannot read {}: {}", path.string(), why));
    };
    auto file = PlainFile::open(path);
    if (!file) return failed(file.error());

    Buffer buffer;
    const ssize_t size = file->read(buffer.bytes.data(), buffer.bytes.size());
    if (size < 0) return failed(std::strerror(errno));
    buffer.size = static_cast<std::size_t>(size);
    if (buffer.size == buffer.bytes.size()) return failed("the file is too large for secrets");
    const std::string_view bytes{buffer.bytes.data(), buffer.size};
    if (has_byte_order_mark(bytes))
        return failed("it begins with a byte order mark (BOM); save it as plain UTF-8 without one");
    const auto secrets = is_text(bytes) ? lines_of(bytes) : std::vector{without_line_end(bytes)};
    if (bytes.empty()) return failed("the file is empty");
    if (secrets.empty()) return failed("there is no secret in it, only blank lines");
    if (secrets.size() > Secrets::count_max) return failed(fmt::format("more than {} lines", Secrets::count_max));

    std::vector<Secret> all;
    for (const std::string_view secret : secrets) {
        if (secret.size() > Secret::bytes_max) return failed(fmt::format("longer than {} bytes", Secret::bytes_max));
        all.emplace_back(secret);
    }
    SecretFile result{Secrets(std::move(all)), {}};
    const mode_t too_open = file->owner() == 0 ? S_IWGRP | S_IRWXO : S_IRWXG | S_IRWXO;
    if ((file->mode() & too_open) != 0)
        result.warnings.push_back(fmt::format("{} is open to others than its owner (mode {:04o}); use chmod 600",
                                              path.string(), file->mode() & 07777));
    return result;
}

}  // namespace muster
