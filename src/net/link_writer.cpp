#include "net/link_writer.h"

#include <sys/socket.h>

#include <cerrno>
#include <optional>

namespace muster {
namespace {

// How many bytes the socket took; nothing when the link is broken.
std::optional<std::size_t> send_some(Connection& link, WorkerPort& port, std::span<const std::byte> bytes) {
    ssize_t sent = 0;
    do {
        sent = send(link.socket.number(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    } while (sent < 0 && errno == EINTR);
    if (sent < 0 && errno != EAGAIN) return std::nullopt;
    const std::size_t taken = sent < 0 ? 0 : static_cast<std::size_t>(sent);
    // After a short count the poller reports when there is room again.
    if (taken < bytes.size()) link.send_side = SendSide::full;
    port.bytes_out += taken;
    return taken;
}

}  // namespace

WriteOutcome write_to_link(Connection& link, WorkerPort& port, std::span<const std::byte> bytes) {
    const std::size_t unsent_max = port.limits().unsent_bytes_max;
    if (!link.out.empty()) {
        if (link.out.size() + bytes.size() > unsent_max) return WriteOutcome::full;
        link.out.append(bytes, *link.budget);
        return link.send_side == SendSide::ready ? write_waiting(link, port) : WriteOutcome::waiting;
    }
    std::size_t taken = 0;
    if (link.send_side == SendSide::ready) {
        const auto sent = send_some(link, port, bytes);
        if (!sent) return WriteOutcome::broken;
        taken = *sent;
    }
    const auto rest = bytes.subspan(taken);
    if (rest.empty()) return WriteOutcome::sent;
    if (rest.size() > unsent_max) return WriteOutcome::full;
    link.out.append(rest, *link.budget);
    return WriteOutcome::waiting;
}

WriteOutcome write_waiting(Connection& link, WorkerPort& port) {
    if (link.out.empty()) return WriteOutcome::sent;
    const auto sent = send_some(link, port, link.out.view());
    if (!sent) return WriteOutcome::broken;
    link.out.consume(*sent);
    return link.out.empty() ? WriteOutcome::sent : WriteOutcome::waiting;
}

}  // namespace muster
