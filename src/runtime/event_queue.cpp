#include "runtime/event_queue.h"

#include "base/check.h"

namespace muster {

EventQueue::~EventQueue() {
    while (!empty()) pop();
    // One at a time: a long chain must not be destroyed by recursion.
    while (first_) first_ = std::move(first_->next);
    while (spare_) spare_ = std::move(spare_->next);
}

EventView EventQueue::front() const {
    MUSTER_CHECK(!empty(), "there is an event in front");
    Header* header = first_->at(first_->read);
    return {*header->type, header->event(), header->time, header->sequence};
}

void EventQueue::pop() {
    MUSTER_CHECK(!empty(), "there is an event to pop");
    Header* header = first_->at(first_->read);
    header->type->destroy(header->event());
    first_->read += header->bytes;
    --size_;
    if (first_->read == first_->written) drop_first_chunk();
}

std::size_t EventQueue::bytes_with_header(std::size_t event_bytes) {
    constexpr std::size_t step = alignof(std::max_align_t);
    return sizeof(Header) + (event_bytes + step - 1) / step * step;
}

EventQueue::Header* EventQueue::room_for(std::size_t event_bytes) {
    const bool fits = last_ && last_->written + bytes_with_header(event_bytes) <= chunk_bytes;
    if (!fits) {
        std::unique_ptr<Chunk> chunk;
        if (spare_) {
            chunk = std::move(spare_);
            spare_ = std::move(chunk->next);
            --spares_;
        } else {
            chunk = std::make_unique_for_overwrite<Chunk>();
        }
        Chunk* added = chunk.get();
        (last_ ? last_->next : first_) = std::move(chunk);
        last_ = added;
    }
    return ::new (last_->at(last_->written)) Header;
}

void EventQueue::commit(std::size_t event_bytes) {
    const std::size_t bytes = bytes_with_header(event_bytes);
    last_->at(last_->written)->bytes = bytes;
    last_->written += bytes;
    ++size_;
}

void EventQueue::drop_first_chunk() {
    first_->read = 0;
    first_->written = 0;
    if (first_.get() == last_) return;  // it is written next
    std::unique_ptr<Chunk> dropped = std::move(first_);
    first_ = std::move(dropped->next);
    if (spares_ == spare_chunks_max) return;
    dropped->next = std::move(spare_);
    spare_ = std::move(dropped);
    ++spares_;
}

}  // namespace muster
