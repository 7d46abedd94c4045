// Who asks when a proxy asks for them: X-Forwarded-For, as far as it is believed.
#pragma once

#include <utility>
#include <vector>

#include "base/ip_range.h"
#include "http/http_message.h"

namespace muster {

// HTTP thread only.
//
// Each proxy appends the address that it was asked from. The header is read from its end for as long as whoever wrote
// that part is trusted; what stands before may be anybody's invention.
class ForwardedPeer {
public:
    void set_trusted(std::vector<IpRange> proxies) { trusted_ = std::move(proxies); }

    // Puts the peer in the place of the proxy, and notes that the request was forwarded: a header that is not believed
    // says at least that it is not from this machine.
    void resolve(HttpRequest& request) const;

private:
    bool is_trusted(const IpAddress& address) const;

    std::vector<IpRange> trusted_;
};

}  // namespace muster
