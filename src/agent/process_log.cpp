#include "agent/process_log.h"

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "agent/regular_file.h"
#include "base/safe_text.h"

namespace muster {
namespace {

// [from, to) of the file; less when it is shorter or cannot be read.
std::string bytes_of(const std::filesystem::path& path, std::int64_t from, std::int64_t to) {
    std::string bytes;
    const FileDescriptor file = open_regular(path, O_RDONLY);
    if (!file || from >= to) return bytes;
    bytes.resize(static_cast<std::size_t>(to - from));
    std::size_t have = 0;
    while (have < bytes.size()) {
        const ssize_t got =
            pread(file.number(), bytes.data() + have, bytes.size() - have, from + static_cast<std::int64_t>(have));
        if (got <= 0) break;
        have += static_cast<std::size_t>(got);
    }
    bytes.resize(have);
    return bytes;
}

std::int64_t size_of(const std::filesystem::path& path) {
    struct stat found{};
    return lstat(path.c_str(), &found) == 0 && S_ISREG(found.st_mode) ? found.st_size : 0;
}

// How many bytes at the end begin a character or a line end (CR LF) that may go on behind it.
std::size_t unfinished_end(std::string_view text) {
    if (text.ends_with('\r')) return 1;
    constexpr std::size_t character_bytes_max = 4;
    for (std::size_t back = 1; back < character_bytes_max && back <= text.size(); ++back) {
        const auto byte = static_cast<unsigned char>(text[text.size() - back]);
        if ((byte & 0xC0U) == 0x80U) continue;  // inside a character
        const std::size_t length = byte >= 0xF0U ? 4 : byte >= 0xE0U ? 3 : byte >= 0xC0U ? 2 : 1;
        return length > back ? back : 0;
    }
    return 0;
}

}  // namespace

std::filesystem::path ProcessLog::older(std::int32_t number) const {
    return number == 0 ? file_ : std::filesystem::path(fmt::format("{}.{}", file_.string(), number));
}

Result<FileDescriptor, std::string> ProcessLog::open() const {
    constexpr int flags = O_WRONLY | O_CREAT | O_APPEND;
    FileDescriptor file = open_regular(file_, flags);
    if (!file) {
        // A process may have put something else in its place.
        unlink(file_.c_str());
        file = open_regular(file_, flags);
    }
    if (!file) return Failure(fmt::format("{}: {}", file_.string(), std::strerror(errno)));
    return file;
}

void ProcessLog::rotate_if_full() const {
    const std::int64_t size = size_of(file_);
    if (size <= size_max_) return;
    std::error_code ignored;
    if (files_ > 1) {
        std::filesystem::remove(older(files_ - 1), ignored);
        for (std::int32_t i = files_ - 2; i >= 1; --i) std::filesystem::rename(older(i), older(i + 1), ignored);
        const FileDescriptor copy = open_regular(older(1), O_WRONLY | O_CREAT | O_TRUNC);
        constexpr std::int64_t piece = 1 << 20;
        for (std::int64_t at = size - size_max_; copy && at < size; at += piece) {
            const std::string bytes = bytes_of(file_, at, std::min(at + piece, size));
            if (bytes.empty() || write(copy.number(), bytes.data(), bytes.size()) < 0) break;
        }
    }
    // The process appends, so that it goes on at the new beginning.
    const FileDescriptor full = open_regular(file_, O_WRONLY);
    [[maybe_unused]] const int cut = ftruncate(full.number(), 0);
}

std::string ProcessLog::tail(std::size_t bytes_max) const {
    std::string bytes;
    bool whole = true;
    for (std::int32_t i = 0; i < files_ && bytes.size() < bytes_max; ++i) {
        const std::int64_t size = size_of(older(i));
        const auto wanted = static_cast<std::int64_t>(bytes_max - bytes.size());
        bytes.insert(0, bytes_of(older(i), std::max<std::int64_t>(0, size - wanted), size));
        whole = size <= wanted;
    }
    const std::size_t line = bytes.find('\n');
    if (!whole && line != std::string::npos && line + 1 < bytes.size()) bytes.erase(0, line + 1);
    return bytes;
}

std::string ProcessLog::tail_from(std::int64_t offset, std::size_t bytes_max) const {
    const std::int64_t size = size_of(file_);
    // A file that was cut since holds output of this life only.
    const std::int64_t from = offset <= size ? offset : 0;
    return bytes_of(file_, std::max(from, size - static_cast<std::int64_t>(bytes_max)), size);
}

ProcessLog::Piece ProcessLog::read_on(std::int64_t offset, std::size_t bytes_max) const {
    const std::int64_t size = size_of(file_);
    const std::int64_t from = offset <= size ? offset : 0;
    Piece piece;
    piece.text = bytes_of(file_, from, std::min(size, from + static_cast<std::int64_t>(bytes_max)));
    const std::size_t split =
        from + static_cast<std::int64_t>(piece.text.size()) < size ? unfinished_end(piece.text) : 0;
    if (split < piece.text.size()) piece.text.resize(piece.text.size() - split);
    piece.end = from + static_cast<std::int64_t>(piece.text.size());
    return piece;
}

std::int64_t ProcessLog::size() const {
    return size_of(file_);
}

std::string safe_output(std::string_view output) {
    std::string safe;
    while (!output.empty()) {
        const std::size_t end = std::min(output.find_first_of("\n\t"), output.size());
        std::string_view piece = output.substr(0, end);
        // A carriage return before the end of a line is how some programs write line ends.
        if (end < output.size() && output[end] == '\n' && piece.ends_with('\r')) piece.remove_suffix(1);
        safe += safe_text(piece);
        if (end < output.size()) safe += output[end];
        output.remove_prefix(std::min(end + 1, output.size()));
    }
    return safe;
}

}  // namespace muster
