// Reads a connection and cuts what came into frames for the loop.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "net/connection.h"
#include "net/worker_port.h"

namespace muster {

enum class ReadOutcome : std::uint8_t {
    drained,    // all there was
    more,       // there may be more to read
    throttled,  // the link has sent too fast; a frame that it may not send yet waits in `in`
    malformed,  // the stream has no next frame; the loop was told
    closed,     // by the peer
    reset,
    timed_out,
    insecure,  // its TLS failed
};

struct ReadResult {
    ReadOutcome outcome = ReadOutcome::drained;
    bool frames = false;  // at least one frame was completed
};

// One per worker, with one buffer for all of its links: frames go from there straight into the port's batch, and only
// an unfinished rest is kept with its connection. Where a port has TLS a second buffer holds what was unsealed, and
// reading may make an answer of TLS's own, which has to be sent whatever the outcome.
//
// All of these throw std::bad_alloc when there is no memory for the link's bytes; the link is then to be cut.
class LinkReader {
public:
    static constexpr std::size_t buffer_size = std::size_t{64} * 1024;

    LinkReader();

    // One recv, and the frames it completed.
    ReadResult read(Connection& link, WorkerPort& port, const TurnTime& at);

    // One recv of a link whose TLS handshake runs. Once that is over, read_behind() gives the frames that came right
    // behind it.
    ReadOutcome secure(Connection& link, WorkerPort& port);
    ReadResult read_behind(Connection& link, WorkerPort& port, const TurnTime& at);

    // What TLS has to say to the peer since the last read; none without TLS. Valid until the next read.
    std::span<const std::byte> answer() const { return answer_; }

    // The frames in `in` of a link that was throttled, as far as its credit goes by now.
    ReadResult resume(Connection& link, WorkerPort& port, const TurnTime& at);

    // Reads a closing link and drops what came.
    ReadOutcome discard(Connection& link);

private:
    struct Cut {
        std::size_t used = 0;
        ReadResult result;
    };

    ReadOutcome receive(const Connection& link, std::span<const std::byte>& received);
    ReadOutcome unseal(Connection& link, ReadOutcome outcome, std::span<const std::byte>& received);
    ReadResult take(Connection& link, WorkerPort& port, const TurnTime& at, std::span<const std::byte> received,
                    ReadOutcome outcome);
    Cut cut_frames(Connection& link, WorkerPort& port, const TurnTime& at, std::span<const std::byte> bytes);

    std::unique_ptr<std::byte[]> buffer_;

    // Made when the first link with TLS is read.
    std::unique_ptr<std::byte[]> unsealed_;
    std::span<const std::byte> behind_;  // of `unsealed_`: what came behind a handshake
    std::vector<std::byte> answer_;
};

}  // namespace muster
