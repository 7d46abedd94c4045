#include "http/http_handshakes.h"

#include <utility>

#include "http/http_connection.h"

namespace muster {

void HttpHandshakes::wait(const IpAddress& from, std::weak_ptr<HttpConnection> connection) {
    queue_.push(from, std::move(connection));
    if (!posted_) post_next();
}

void HttpHandshakes::post_next() {
    thread_->post([this] { begin_next(); });
    posted_ = true;
}

void HttpHandshakes::begin_next() {
    posted_ = false;
    if (queue_.size() > 1) post_next();  // before the handshake, which may throw
    while (const auto next = queue_.pop()) {
        const auto connection = next->lock();
        if (connection && connection->begin_handshake()) return;
    }
}

}  // namespace muster
