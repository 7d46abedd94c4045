// Whether a node may have its name: two nodes of one name would be taken for one. No I/O.
#pragma once

#include <cstdint>
#include <optional>

#include "base/time.h"
#include "postgres/node_watch.h"

namespace muster {

class NameClaim {
public:
    // A node beats once a second: without a beat for this long, the name's former node is gone.
    static constexpr std::chrono::seconds silence{3};

    enum class Verdict : std::uint8_t { free, taken, unknown };

    // The engine answered a question that was asked at `asked` with the name's row, or none. `has_ended`: its process
    // is known to have.
    Verdict seen(Time asked, const std::optional<NodeRow>& row, bool has_ended) {
        if (!row || row->has_left || has_ended) return Verdict::free;
        if (beat_ && *beat_ != row->beat) return Verdict::taken;
        if (!beat_) since_ = asked;
        beat_ = row->beat;
        return asked - since_ >= silence ? Verdict::free : Verdict::unknown;
    }

private:
    std::optional<std::int64_t> beat_;
    Time since_{};
};

}  // namespace muster
