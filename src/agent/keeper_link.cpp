#include "agent/keeper_link.h"

#include <sys/socket.h>
#include <sys/wait.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include "agent/keeper.h"

namespace muster {

Result<KeeperLink, std::string> KeeperLink::start(const std::string& host, const std::filesystem::path& state) {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
        return Failure(fmt::format("no pair of sockets: {}", std::strerror(errno)));
    FileDescriptor ours(ends[0]);
    const FileDescriptor theirs(ends[1]);
    const FileDescriptor nowhere(open("/dev/null", O_WRONLY | O_CLOEXEC));
    // It has our environment, so that it is known whose it is when this agent runs under another one.
    LaunchPlan plan{.program = "/proc/self/exe",
                    .words = {keeper_name, host, state.string()},
                    .environment = {},
                    .directory = ".",
                    .input = theirs.number(),
                    .output = nowhere.number()};
    for (char** entry = environ; entry && *entry; ++entry) {
        const std::string_view text(*entry);
        const std::size_t equals = std::min(text.find('='), text.size());
        if (equals < text.size())
            plan.environment.push_back({std::string(text.substr(0, equals)), std::string(text.substr(equals + 1))});
    }
    auto launched = muster::launch(plan);
    if (!launched) return Failure(launched.error());
    return KeeperLink(std::move(ours), std::move(*launched));
}

Result<Launched, std::string> KeeperLink::launch(const KeptLaunch& launch, int lock) {
    if (!send_launch(socket_.number(), launch, lock)) {
        socket_.reset();
        return Failure(std::string("the keeper of processes is gone"));
    }
    const auto until = std::chrono::steady_clock::now() + answer_max;
    while (socket_) {
        const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - std::chrono::steady_clock::now());
        pollfd file{socket_.number(), POLLIN, 0};
        const int ready = left.count() > 0 ? poll(&file, 1, static_cast<int>(left.count())) : 0;
        if (ready == 0) break;
        auto received = receive();
        if (!received) continue;
        if (received->word.kind == KeeperWord::Kind::failed) return Failure(std::string(received->word.said()));
        return Launched{received->word.pid, received->word.start_ticks, std::move(received->pidfd)};
    }
    socket_.reset();
    return Failure(std::string("the keeper of processes does not answer"));
}

std::optional<ReceivedWord> KeeperLink::receive() {
    bool gone = false;
    auto received = receive_word(socket_.number(), gone);
    if (gone) socket_.reset();
    if (!received || received->word.kind != KeeperWord::Kind::ended) return received;
    if (const auto note = parse_exit_note(received->word.said())) ends_.push_back(*note);
    return std::nullopt;
}

std::vector<ExitNote> KeeperLink::take_ends() {
    // Whatever else it says is an answer that nobody waits for.
    for (pollfd file{socket_.number(), POLLIN, 0}; socket_ && poll(&file, 1, 0) > 0;) (void)receive();
    return std::exchange(ends_, {});
}

void KeeperLink::close(std::chrono::milliseconds patience) {
    socket_.reset();
    pollfd file{keeper_.pidfd.number(), POLLIN, 0};
    if (keeper_.pidfd && poll(&file, 1, static_cast<int>(patience.count())) > 0) waitpid(keeper_.pid, nullptr, WNOHANG);
}

}  // namespace muster
