#include "agent/keeper_messages.h"

#include <sys/mman.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <span>
#include <vector>

#include <fmt/format.h>
#include <unistd.h>

#include "agent/proc.h"

namespace muster {
namespace {

constexpr std::size_t descriptors_max = 4;
// Longer than what the system lets a program have for words and environment.
constexpr std::size_t request_bytes_max = std::size_t{16} << 20;

bool send_with(int socket, std::span<const std::byte> bytes, std::span<const int> descriptors) {
    iovec data{const_cast<std::byte*>(bytes.data()), bytes.size()};
    alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int) * descriptors_max)> control{};
    msghdr message{};
    message.msg_iov = &data;
    message.msg_iovlen = 1;
    if (!descriptors.empty()) {
        message.msg_control = control.data();
        message.msg_controllen = CMSG_SPACE(descriptors.size_bytes());
        cmsghdr* header = CMSG_FIRSTHDR(&message);
        header->cmsg_level = SOL_SOCKET;
        header->cmsg_type = SCM_RIGHTS;
        header->cmsg_len = CMSG_LEN(descriptors.size_bytes());
        std::memcpy(CMSG_DATA(header), descriptors.data(), descriptors.size_bytes());
    }
    ssize_t sent = 0;
    do sent = sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    while (sent < 0 && errno == EINTR);
    return sent == static_cast<ssize_t>(bytes.size());
}

struct Received {
    std::size_t bytes = 0;
    std::vector<FileDescriptor> descriptors{};
};

std::optional<Received> receive_with(int socket, std::span<std::byte> bytes, bool& gone) {
    iovec data{bytes.data(), bytes.size()};
    alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int) * descriptors_max)> control{};
    msghdr message{};
    message.msg_iov = &data;
    message.msg_iovlen = 1;
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    const ssize_t got = recvmsg(socket, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR)) return std::nullopt;
    if (got <= 0) {
        gone = true;
        return std::nullopt;
    }
    Received received{.bytes = static_cast<std::size_t>(got)};
    for (cmsghdr* header = CMSG_FIRSTHDR(&message); header; header = CMSG_NXTHDR(&message, header)) {
        if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) continue;
        for (std::size_t at = 0; at + sizeof(int) <= header->cmsg_len - CMSG_LEN(0); at += sizeof(int)) {
            int number = -1;
            std::memcpy(&number, CMSG_DATA(header) + at, sizeof number);
            received.descriptors.emplace_back(number);
        }
    }
    return received;
}

// Each field ends with a zero, which no word and no variable can hold.
std::string request_text(const KeptLaunch& launch) {
    std::string text;
    const auto add = [&text](std::string_view field) { text.append(field).push_back('\0'); };
    const LaunchPlan& plan = launch.plan;
    add(plan.program.native());
    add(plan.directory.native());
    add(plan.ignores_usr1 ? "1" : "0");
    add(std::to_string(plan.mark));
    add(launch.life);
    add(launch.exit_file);
    add(std::to_string(plan.words.size()));
    for (const std::string& word : plan.words) add(word);
    for (const EnvironmentEntry& each : plan.environment) {
        add(each.name);
        add(each.value);
    }
    return text;
}

std::optional<KeptLaunch> parse_request(std::string_view text) {
    std::vector<std::string_view> fields;
    for (std::size_t end = text.find('\0'); end != std::string_view::npos; end = text.find('\0')) {
        fields.push_back(text.substr(0, end));
        text.remove_prefix(end + 1);
    }
    constexpr std::size_t fixed = 7;
    if (fields.size() < fixed || !text.empty()) return std::nullopt;
    const auto mark = whole_number<std::uint64_t>(fields[3]);
    const auto words = whole_number<std::size_t>(fields[6]);
    if (!mark || !words || *words > fields.size() - fixed || (fields.size() - fixed - *words) % 2 != 0)
        return std::nullopt;
    KeptLaunch launch{.plan = {.program = fields[0],
                               .words = {},
                               .environment = {},
                               .directory = fields[1],
                               .ignores_usr1 = fields[2] == "1",
                               .mark = *mark},
                      .life = std::string(fields[4]),
                      .exit_file = std::string(fields[5])};
    std::size_t at = fixed;
    for (; at < fixed + *words; ++at) launch.plan.words.emplace_back(fields[at]);
    for (; at < fields.size(); at += 2)
        launch.plan.environment.push_back({std::string(fields[at]), std::string(fields[at + 1])});
    return launch;
}

}  // namespace

void KeeperWord::say(std::string_view what) {
    text = {};
    std::copy_n(what.begin(), std::min(what.size(), text_max - 1), text.begin());
}

bool send_launch(int socket, const KeptLaunch& launch, int lock) {
    // The request may be longer than a datagram: it is a file that both can read.
    const FileDescriptor request(memfd_create("launch", MFD_CLOEXEC));
    const std::string text = request_text(launch);
    if (!request || text.size() > request_bytes_max) return false;
    if (pwrite(request.number(), text.data(), text.size(), 0) != static_cast<ssize_t>(text.size())) return false;
    std::vector<int> descriptors{request.number(), launch.plan.output, lock};
    if (launch.plan.cgroup_procs >= 0) descriptors.push_back(launch.plan.cgroup_procs);
    const std::uint64_t size = text.size();
    return send_with(socket, std::as_bytes(std::span(&size, 1)), descriptors);
}

std::optional<ReceivedLaunch> receive_launch(int socket, bool& gone) {
    std::uint64_t size = 0;
    auto received = receive_with(socket, std::as_writable_bytes(std::span(&size, 1)), gone);
    if (!received || received->bytes != sizeof size || received->descriptors.size() < 3 || size > request_bytes_max)
        return std::nullopt;
    std::string text(size, '\0');
    if (pread(received->descriptors[0].number(), text.data(), text.size(), 0) != static_cast<ssize_t>(size))
        return std::nullopt;
    auto launch = parse_request(text);
    if (!launch) return std::nullopt;
    ReceivedLaunch whole{.launch = std::move(*launch),
                         .output = std::move(received->descriptors[1]),
                         .cgroup_procs = {},
                         .lock = std::move(received->descriptors[2])};
    if (received->descriptors.size() > 3) whole.cgroup_procs = std::move(received->descriptors[3]);
    whole.launch.plan.output = whole.output.number();
    whole.launch.plan.cgroup_procs = whole.cgroup_procs.number();
    return whole;
}

bool send_word(int socket, const KeeperWord& word, int pidfd) {
    const auto bytes = std::as_bytes(std::span(&word, 1));
    return pidfd >= 0 ? send_with(socket, bytes, std::span(&pidfd, 1)) : send_with(socket, bytes, {});
}

std::optional<ReceivedWord> receive_word(int socket, bool& gone) {
    ReceivedWord whole;
    auto received = receive_with(socket, std::as_writable_bytes(std::span(&whole.word, 1)), gone);
    if (!received || received->bytes != sizeof whole.word) return std::nullopt;
    whole.word.text.back() = '\0';
    if (!received->descriptors.empty()) whole.pidfd = std::move(received->descriptors[0]);
    return whole;
}

}  // namespace muster
