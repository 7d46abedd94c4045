#include "net/port_inbox.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "net/reused_memory.h"

namespace muster {

void InboundBatch::add_opened(ConnectionId connection, Time received, const IpAddress& from, std::string_view name) {
    const std::size_t offset = bytes_.size();
    const auto address = std::as_bytes(std::span(from.bytes()));
    const auto letters = std::as_bytes(std::span(name));
    bytes_.append(address);
    bytes_.append(letters);
    items_.push_back({.connection = connection,
                      .received = received,
                      .offset = static_cast<std::uint32_t>(offset),
                      .length = static_cast<std::uint32_t>(address.size() + letters.size()),
                      .kind = InboundKind::opened});
}

void InboundBatch::add(InboundKind kind, ConnectionId connection, Time received, std::uint8_t detail) {
    items_.push_back({.connection = connection, .received = received, .kind = kind, .detail = detail});
}

void InboundBatch::add_all(InboundBatch& other) {
    if (empty()) return swap(other);
    items_.reserve(std::max(items_.size() + other.items_.size(), 2 * items_.size()));
    const auto base = static_cast<std::uint32_t>(bytes_.size());
    bytes_.append(other.bytes_.view());
    for (InboundItem item : other.items_) {
        item.offset += base;
        items_.push_back(item);
    }
    other.clear();
}

IpAddress InboundBatch::address(const InboundItem& item) const {
    MUSTER_CHECK(item.kind == InboundKind::opened, "only an opened link comes with its address");
    std::array<std::uint8_t, 16> bytes{};
    const auto stored = payload(item).first(bytes.size());
    std::transform(stored.begin(), stored.end(), bytes.begin(),
                   [](std::byte b) { return std::to_integer<std::uint8_t>(b); });
    return IpAddress::v6(bytes);
}

std::string_view InboundBatch::name(const InboundItem& item) const {
    MUSTER_CHECK(item.kind == InboundKind::opened, "only an opened link comes with its name");
    const auto stored = payload(item).subspan(sizeof(IpAddress));
    return {reinterpret_cast<const char*>(stored.data()), stored.size()};
}

void InboundBatch::drop_first(std::size_t count) {
    items_.erase(items_.begin(), items_.begin() + static_cast<std::ptrdiff_t>(count));
}

void InboundBatch::clear() {
    clear_for_reuse(items_);
    clear_for_reuse(bytes_);
}

void InboundBatch::swap(InboundBatch& other) noexcept {
    items_.swap(other.items_);
    bytes_.swap(other.bytes_);
}

PortInbox::PortInbox(Port port, Bounds bounds, Function<void()> on_room)
    : port_(port), bounds_(bounds), on_room_(std::move(on_room)) {
    MUSTER_CHECK(bounds.items > 0 && bounds.bytes > 0, "an inbox holds something");
}

bool PortInbox::publish(InboundBatch& batch) {
    const std::lock_guard lock(mutex_);
    waiting_.add_all(batch);
    items_.store(waiting_.size(), std::memory_order_release);
    bytes_.store(waiting_.byte_count(), std::memory_order_relaxed);
    worker_waits_ |= !has_room(batch);
    return !worker_waits_;
}

bool PortInbox::take(InboundBatch& batch) {
    MUSTER_CHECK(batch.empty(), "the batch taken before has been handled");
    if (size() == 0) return false;
    bool worker_waits = false;
    {
        const std::lock_guard lock(mutex_);
        waiting_.swap(batch);
        items_.store(0, std::memory_order_release);
        bytes_.store(0, std::memory_order_relaxed);
        worker_waits = std::exchange(worker_waits_, false);
    }
    if (worker_waits) on_room_();
    return !batch.empty();
}

void PortInbox::put_back(InboundBatch& batch) {
    if (batch.empty()) return;
    const std::lock_guard lock(mutex_);
    batch.add_all(waiting_);
    waiting_.swap(batch);
    items_.store(waiting_.size(), std::memory_order_release);
    bytes_.store(waiting_.byte_count(), std::memory_order_relaxed);
}

}  // namespace muster
