#include "sdk/src/link.h"

#include <cstddef>
#include <utility>

namespace muster::sdk {

bool Link::connected(Time now) {
    incoming_.clear();
    output_.clear();
    connected_ = true;
    if (stage_ != Stage::wanted) return false;
    stage_ = Stage::greeting;
    due_ = now + greeting_max;
    return true;
}

void Link::disconnected(Time now) {
    incoming_.clear();
    output_.clear();
    connected_ = false;
    if (stage_ == Stage::closed || stage_ == Stage::resting) return;
    stage_ = Stage::waiting;
    due_ = now + backoff_.next();
}

void Link::tick(Time now) {
    if (stage_ == Stage::waiting && now >= due_) stage_ = Stage::wanted;
    if (stage_ == Stage::greeting && now >= due_) drop();
}

std::optional<Time> Link::next_tick() const {
    if (stage_ == Stage::waiting || stage_ == Stage::greeting) return due_;
    return std::nullopt;
}

std::vector<std::byte> Link::take_output() {
    return std::exchange(output_, {});
}

void Link::greeted() {
    if (stage_ == Stage::greeting) stage_ = Stage::online;
}

void Link::drop() {
    if (stage_ == Stage::closed) return;
    output_.clear();
    if (stage_ == Stage::greeting || stage_ == Stage::online) stage_ = Stage::dropping;
}

void Link::rest() {
    if (stage_ != Stage::closed) stage_ = Stage::resting;
}

void Link::want() {
    if (stage_ == Stage::resting) stage_ = connected_ ? Stage::dropping : Stage::wanted;
}

void Link::close() {
    stage_ = Stage::closed;
}

void Link::send_raw(Code code, std::span<const std::byte> payload) {
    if (stage_ != Stage::greeting && stage_ != Stage::online) return;
    encode_raw(code, payload, order_, output_);
    if (output_.size() > unsent_bytes_max) drop();
}

void Link::forget_incoming(std::size_t used) {
    if (!wants_connection()) used = incoming_.size();
    incoming_.erase(incoming_.begin(), incoming_.begin() + static_cast<std::ptrdiff_t>(used));
}

}  // namespace muster::sdk
