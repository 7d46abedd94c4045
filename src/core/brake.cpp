#include "core/brake.h"

#include "base/check.h"
#include "base/planted.h"

namespace muster {

bool Brake::silenced(Time now, ServerId server, std::size_t servers) {
    while (!order_.empty() && now - order_.front().since > config_.window) {
        const auto known = recent_.find(order_.front().server);
        if (known != recent_.end() && known->second == order_.front().since) recent_.erase(known);
        order_.pop_front();
    }
    recent_[server] = now;
    order_.push_back({now, server});
    if (on_) return true;
    if (planted(Bug::no_brake)) return false;
    return recent_.size() >= config_.servers &&
           static_cast<double>(recent_.size()) > config_.share * static_cast<double>(servers);
}

bool Brake::let_go() {
    MUSTER_CHECK(held_ > 0, "a server is let go once");
    if (--held_ > 0) return false;
    on_ = false;
    return true;
}

}  // namespace muster
