#include "agent/id_claim.h"

#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <thread>

#include <unistd.h>

namespace muster {
namespace {

using namespace std::chrono_literals;

constexpr Duration claim_look = 20ms;
constexpr int askers_max = 64;  // who asks whose it is waits there, and nobody takes the call

struct ClaimName {
    explicit ClaimName(const std::string& id) {
        address.sun_family = AF_UNIX;
        const std::string name = '\0' + ("muster-agent-" + id).substr(0, sizeof address.sun_path - 1);
        std::copy(name.begin(), name.end(), address.sun_path);
        size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size());
    }
    const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&address); }

    sockaddr_un address{};
    socklen_t size = 0;
};

FileDescriptor claim_socket() {
    return FileDescriptor(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
}

struct Claimant {
    enum class Who : std::uint8_t { agent, stranger, nobody };
    Who who = Who::nobody;
    IdClaim::Holder holder{};
};

Claimant claimant_of(const ClaimName& name) {
    const FileDescriptor asker = claim_socket();
    if (connect(asker.number(), name.get(), name.size) != 0)
        return {errno == EAGAIN ? Claimant::Who::agent : Claimant::Who::nobody, {}};  // many have asked; it is going
    ucred owner{};
    socklen_t size = sizeof owner;
    if (getsockopt(asker.number(), SOL_SOCKET, SO_PEERCRED, &owner, &size) != 0) return {};
    if (owner.uid != geteuid() && owner.uid != 0) return {Claimant::Who::stranger, {}};
    return {Claimant::Who::agent, {owner.pid > 0 ? std::optional(owner.pid) : std::nullopt}};
}

}  // namespace

Result<IdClaim, IdClaim::Holder> IdClaim::take(const std::string& id, Duration patience) {
    const ClaimName name(id);
    const auto until = std::chrono::steady_clock::now() + patience;
    Claimant claimant;
    for (;;) {
        FileDescriptor own = claim_socket();
        if (bind(own.number(), name.get(), name.size) == 0 && listen(own.number(), askers_max) == 0)
            return IdClaim(std::move(own));
        if (errno != EADDRINUSE) return IdClaim();  // a machine without such sockets
        // An agent is asked once: the calls of one asker must not shut out the next.
        if (claimant.who != Claimant::Who::agent) claimant = claimant_of(name);
        const bool is_over = std::chrono::steady_clock::now() >= until;
        if (is_over && claimant.who == Claimant::Who::agent) return Failure(claimant.holder);
        if (is_over || claimant.who == Claimant::Who::stranger) return IdClaim();
        std::this_thread::sleep_for(claim_look);
    }
}

}  // namespace muster
