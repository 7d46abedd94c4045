#include "daemon/ticket_file.h"

#include <sys/stat.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "net/file_descriptor.h"

namespace muster {
namespace {

// More than the text of all keys there can be.
constexpr std::size_t bytes_max = 4'096;

struct Found {
    std::string text;
    std::string problem;  // empty: there is none, or no file
};

Found read(const std::string& path) {
    const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
    if (!file) return {{}, errno == ENOENT ? "" : std::strerror(errno)};
    struct stat about{};
    if (::fstat(file.number(), &about) != 0) return {{}, std::strerror(errno)};
    if (!S_ISREG(about.st_mode)) return {{}, "not a plain file"};
    if (about.st_uid != ::geteuid() || (about.st_mode & 077) != 0) return {{}, "others may have read or written it"};
    std::array<char, bytes_max> bytes{};
    const ssize_t size = ::read(file.number(), bytes.data(), bytes.size());
    Found found;
    if (size > 0) found.text.assign(bytes.data(), static_cast<std::size_t>(size));
    explicit_bzero(bytes.data(), bytes.size());
    return found;
}

}  // namespace

std::string TicketFile::open(std::int64_t now) {
    keys_ = std::make_shared<TicketKeys>(entropy_, now);
    if (path_.empty()) return {};
    Found found = read(path_);
    if (found.problem.empty() && !found.text.empty() && !keys_->take(found.text, now))
        found.problem = "there is no key in it that is still good";
    explicit_bzero(found.text.data(), found.text.size());
    keys_->renew(now);
    std::string unwritten = write();
    if (!unwritten.empty()) return unwritten;
    if (found.problem.empty()) return {};
    return fmt::format("{} was replaced, so peers make full TLS handshakes: {}", path_, found.problem);
}

std::string TicketFile::renew(std::int64_t now) {
    return keys_->renew(now) ? write() : std::string();
}

// Whole or not at all: a reader finds the old one or the new one.
std::string TicketFile::write() const {
    if (path_.empty()) return {};
    const std::string draft = path_ + ".new";
    std::string text = keys_->to_text();
    ::unlink(draft.c_str());
    bool good = false;
    {
        const FileDescriptor file(::open(draft.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
        good = file && ::write(file.number(), text.data(), text.size()) == static_cast<ssize_t>(text.size()) &&
               ::fsync(file.number()) == 0;
    }
    good = good && std::rename(draft.c_str(), path_.c_str()) == 0;
    const int why = errno;
    explicit_bzero(text.data(), text.size());
    if (good) return {};
    ::unlink(draft.c_str());
    return fmt::format("{} cannot be written, so peers make full TLS handshakes after a restart: {}", path_,
                       std::strerror(why));
}

}  // namespace muster
