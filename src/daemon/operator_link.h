// The HTTP API as a matchmaker: its requests take the very way that those of the matchmaker port take, with the same
// checks, the same order of events and the same answers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "base/ids.h"
#include "core/core.h"
#include "core/link_output.h"
#include "core/link_table.h"
#include "core/region.h"
#include "protocol/matchmaker_messages.h"
#include "runtime/pass.h"

namespace muster {

// Game thread only. A link inside our own process: what core sends over it comes here by CoreLinks.
class OperatorLink {
public:
    using OnAnswer = std::function<void(const AllocationResponse&)>;

    // `token` is what core's check of matchmaker tokens lets pass for it. Core outlives it.
    OperatorLink(Core& core, std::string token, const Regions& regions);

    // About once a second: shakes hands, and stays alive.
    void beat(const Pass& pass);
    // Calls back once, when the answer comes; at once with a refusal when the link is down.
    void allocate(const Pass& pass, const AllocationRequest& request, OnAnswer on_answer);

    // What core does to the link.
    void sent(std::span<const std::byte> frame);
    void close() { closing_ = true; }

    bool greeted() const { return greeted_; }
    ConnectionId link() const { return link_; }

private:
    template <class M>
    void say(const Pass& pass, const M& message);
    void answered(const AllocationResponse& response);

    Core& core_;
    const std::string token_;
    std::vector<RegionId> regions_;
    ConnectionId link_ = inside_link(0);
    bool open_ = false;
    bool greeted_ = false;
    bool closing_ = false;
    std::map<LobbyId, std::vector<OnAnswer>> waiting_;
};

}  // namespace muster
