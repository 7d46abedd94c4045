#include "http/http_quota.h"

#include "base/check.h"
#include "base/planted.h"

namespace muster {

std::optional<HttpRefusal> HttpQuota::refusal(const IpAddress& from) const {
    const auto found = by_network_.find(from.network());
    const bool counts = found != by_network_.end() && !planted(Bug::http_unlimited_per_address);
    if (counts && found->second >= limits_.connections_ip) return HttpRefusal::per_ip;
    if (connections_ >= limits_.connections) return HttpRefusal::per_port;
    return std::nullopt;
}

bool HttpQuota::comes_too_often(const IpAddress& from, std::chrono::steady_clock::time_point now) {
    if (limits_.accepts_per_second_ip == 0) return false;
    if (now - second_began_ >= std::chrono::seconds(1)) {
        second_began_ = now;
        came_this_second_.clear();
    }
    return ++came_this_second_[from.network()] > limits_.accepts_per_second_ip;
}

void HttpQuota::take(const IpAddress& from) {
    ++connections_;
    ++by_network_[from.network()];
}

void HttpQuota::give_back(const IpAddress& from) {
    const auto found = by_network_.find(from.network());
    MUSTER_CHECK(found != by_network_.end(), "a connection is given back once");
    if (--found->second == 0) by_network_.erase(found);
    --connections_;
}

}  // namespace muster
