#include "net/link_reader.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <cerrno>
#include <utility>

#include "protocol/frame_reader.h"

namespace muster {
namespace {

constexpr std::uint32_t rtt_sample_interval_ms = 1'000;

// Microseconds, as the kernel smoothed them; 0 when it does not say.
std::uint32_t kernel_rtt_us(int socket) {
    tcp_info info{};
    socklen_t size = sizeof info;
    if (getsockopt(socket, IPPROTO_TCP, TCP_INFO, &info, &size) != 0) return 0;
    return info.tcpi_rtt;
}

// The beginning of TLS: a record of a handshake, which is a ClientHello as long as the record. As the beginning of a
// frame it would be one of 790 bytes (5635 in the other byte order), which a peer would wait for in vain.
bool is_client_hello(std::span<const std::byte> bytes) {
    constexpr std::size_t looked_at = 9;
    if (bytes.size() < looked_at) return false;
    const auto at = [&](std::size_t i) { return std::to_integer<std::uint32_t>(bytes[i]); };
    const std::uint32_t record = at(3) << 8 | at(4);
    const std::uint32_t hello = at(6) << 16 | at(7) << 8 | at(8);
    return at(0) == 0x16 && at(1) == 0x03 && at(2) <= 0x04 && at(5) == 0x01 && hello + 4 == record;
}

std::uint32_t sampled_rtt_us(Connection& link, const WorkerPort& port, const TurnTime& at) {
    if (!port.sample_rtt || at.now_ms - link.rtt_sampled_ms < rtt_sample_interval_ms) return 0;
    link.rtt_sampled_ms = at.now_ms;
    return kernel_rtt_us(link.socket.number());
}

}  // namespace

LinkReader::LinkReader() : buffer_(std::make_unique<std::byte[]>(buffer_size)) {}

ReadResult LinkReader::read(Connection& link, WorkerPort& port, const TurnTime& at) {
    std::span<const std::byte> received;
    ReadOutcome outcome = receive(link, received);
    port.bytes_in += received.size();
    if (port.tls) outcome = unseal(link, outcome, received);
    if (received.empty()) return {outcome};
    return take(link, port, at, received, outcome);
}

ReadOutcome LinkReader::secure(Connection& link, WorkerPort& port) {
    std::span<const std::byte> received;
    const ReadOutcome outcome = receive(link, received);
    port.bytes_in += received.size();
    const ReadOutcome unsealed = unseal(link, outcome, received);
    behind_ = received;
    return unsealed;
}

ReadResult LinkReader::read_behind(Connection& link, WorkerPort& port, const TurnTime& at) {
    const auto received = std::exchange(behind_, {});
    if (received.empty()) return {ReadOutcome::more};
    return take(link, port, at, received, ReadOutcome::more);
}

// Replaces what was received by what it says. The peer's last word comes behind all that it said before.
ReadOutcome LinkReader::unseal(Connection& link, ReadOutcome outcome, std::span<const std::byte>& received) {
    constexpr std::size_t unsealed_size = buffer_size + TlsLink::plain_extra;
    if (!unsealed_) unsealed_ = std::make_unique<std::byte[]>(unsealed_size);
    answer_.clear();
    const std::size_t size = link.tls->receive(received, {unsealed_.get(), unsealed_size}, answer_);
    received = {unsealed_.get(), size};
    link.keep_sealed(link.tls->partial());
    switch (link.tls->state()) {
        case TlsLink::State::failed:
            return ReadOutcome::insecure;
        case TlsLink::State::ended:
            link.tls->close(answer_);
            return ReadOutcome::closed;
        case TlsLink::State::handshaking:
        case TlsLink::State::open:
            break;
    }
    return outcome;
}

ReadResult LinkReader::take(Connection& link, WorkerPort& port, const TurnTime& at, std::span<const std::byte> received,
                            ReadOutcome outcome) {
    link.rate.refill(port.read_time(), port.unread());

    Cut cut;
    if (link.in.empty()) {
        if (received[0] == std::byte{0x16} && !port.tls && is_client_hello(received)) return {ReadOutcome::insecure};
        cut = cut_frames(link, port, at, received);
        link.in.append(received.subspan(cut.used), *link.budget);
    } else {
        link.in.append(received, *link.budget);
        cut = cut_frames(link, port, at, link.in.view());
        link.in.consume(cut.used);
    }
    if (cut.result.outcome == ReadOutcome::drained) cut.result.outcome = outcome;
    return cut.result;
}

ReadResult LinkReader::resume(Connection& link, WorkerPort& port, const TurnTime& at) {
    link.rate.refill(port.read_time(), port.unread());
    Cut cut = cut_frames(link, port, at, link.in.view());
    link.in.consume(cut.used);
    if (cut.result.outcome == ReadOutcome::drained) cut.result.outcome = ReadOutcome::more;
    return cut.result;
}

ReadOutcome LinkReader::discard(Connection& link) {
    std::span<const std::byte> dropped;
    return receive(link, dropped);
}

// A short read means that the socket is empty, and the next byte will be reported; except that an end which was
// reported already, together with the bytes before it, is not reported again.
ReadOutcome LinkReader::receive(const Connection& link, std::span<const std::byte>& received) {
    const ssize_t got = recv(link.socket.number(), buffer_.get(), buffer_size, 0);
    if (got > 0) {
        received = {buffer_.get(), static_cast<std::size_t>(got)};
        return link.ending || received.size() == buffer_size ? ReadOutcome::more : ReadOutcome::drained;
    }
    if (got == 0) return ReadOutcome::closed;
    switch (errno) {
        case EAGAIN:
            return ReadOutcome::drained;
        case EINTR:
            return ReadOutcome::more;
        case ETIMEDOUT:
            return ReadOutcome::timed_out;
        default:
            return ReadOutcome::reset;
    }
}

LinkReader::Cut LinkReader::cut_frames(Connection& link, WorkerPort& port, const TurnTime& at,
                                       std::span<const std::byte> bytes) {
    Cut cut;
    const std::uint16_t length_max = port.limits().length_max;
    const Duration cost = port.message_cost();
    for (;;) {
        const FrameSplit next = next_frame(bytes.subspan(cut.used), port.order, length_max);
        if (next.kind == FrameSplit::Kind::need_more) return cut;
        if (next.kind == FrameSplit::Kind::error) {
            port.batch.add(InboundKind::malformed, link.id, at.now, static_cast<std::uint8_t>(next.error));
            cut.used = bytes.size();
            cut.result.outcome = ReadOutcome::malformed;
            return cut;
        }
        if (!link.rate.take(cost)) {
            cut.result.outcome = ReadOutcome::throttled;
            return cut;
        }
        port.batch.add_frame(link.id, at.now, next.code, next.payload,
                             cut.result.frames ? 0 : sampled_rtt_us(link, port, at));
        cut.result.frames = true;
        ++port.frames_in;
        cut.used += next.size;
    }
}

}  // namespace muster
