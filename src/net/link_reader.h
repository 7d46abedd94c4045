// Reads a connection and cuts what came into frames for the loop.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

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
};

struct ReadResult {
    ReadOutcome outcome = ReadOutcome::drained;
    bool frames = false;  // at least one frame was completed
};

// One per worker, with one buffer for all of its links: frames go from there straight into the port's batch, and only
// an unfinished rest is kept with its connection.
//
// All of these throw std::bad_alloc when there is no memory for the link's bytes; the link is then to be cut.
class LinkReader {
public:
    static constexpr std::size_t buffer_size = std::size_t{64} * 1024;

    LinkReader();

    // One recv, and the frames it completed.
    ReadResult read(Connection& link, WorkerPort& port, const TurnTime& at);

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
    Cut cut_frames(Connection& link, WorkerPort& port, const TurnTime& at, std::span<const std::byte> bytes);

    std::unique_ptr<std::byte[]> buffer_;
};

}  // namespace muster
