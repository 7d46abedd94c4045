#include "net/link_reader.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <cerrno>

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

std::uint32_t sampled_rtt_us(Connection& link, const WorkerPort& port, const TurnTime& at) {
    if (!port.sample_rtt || at.now_ms - link.rtt_sampled_ms < rtt_sample_interval_ms) return 0;
    link.rtt_sampled_ms = at.now_ms;
    return kernel_rtt_us(link.socket.number());
}

}  // namespace

LinkReader::LinkReader() : buffer_(std::make_unique<std::byte[]>(buffer_size)) {}

ReadResult LinkReader::read(Connection& link, WorkerPort& port, const TurnTime& at) {
    std::span<const std::byte> received;
    const ReadOutcome outcome = receive(link, received);
    if (received.empty()) return {outcome};
    port.bytes_in += received.size();
    link.rate.refill(port.read_time(), port.unread());

    Cut cut;
    if (link.in.empty()) {
        cut = cut_frames(link, port, at, received);
        link.in.append(received.subspan(cut.used));
    } else {
        link.in.append(received);
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
