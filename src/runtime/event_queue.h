// Events of any type, one after the other in memory, waiting to be handled.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <string_view>
#include <type_traits>
#include <utility>

#include "base/fields.h"
#include "base/time.h"

namespace muster {

// A domain event: something that happened, under the name that logs, metrics and the live feed use.
//
//   struct ServerRegistered {
//       static constexpr std::string_view name = "server.registered";
//       ServerId server;
//       void describe(FieldSink& fields) const { fields.integer("server", server.value); }
//   };
template <class E>
concept Event = std::move_constructible<E> && requires(const E& event, FieldSink& fields) {
    { E::name } -> std::convertible_to<std::string_view>;
    event.describe(fields);
};

// What can be done with an event whose type is not known here. There is one per type; its address is the type.
struct EventType {
    std::string_view name;
    void (*describe)(const void* event, FieldSink& fields);
    void (*destroy)(void* event) noexcept;
};

template <Event E>
inline constexpr EventType event_type{
    E::name,
    [](const void* event, FieldSink& fields) { static_cast<const E*>(event)->describe(fields); },
    [](void* event) noexcept { std::destroy_at(static_cast<E*>(event)); },
};

// An event as a listener to all of them sees it. Valid while the listener runs.
class EventView {
public:
    EventView(const EventType& type, const void* event, Time time, std::uint64_t sequence)
        : type_(&type), event_(event), time_(time), sequence_(sequence) {}

    std::string_view name() const { return type_->name; }
    // When it was published.
    Time time() const { return time_; }
    // 1, 2, 3 … in the order of publishing.
    std::uint64_t sequence() const { return sequence_; }
    void describe(FieldSink& fields) const { type_->describe(event_, fields); }

    const EventType& type() const { return *type_; }
    // The event itself, or null when it is of another type.
    template <Event E>
    const E* as() const {
        return type_ == &event_type<E> ? static_cast<const E*>(event_) : nullptr;
    }

private:
    const EventType* type_;
    const void* event_;
    Time time_;
    std::uint64_t sequence_;
};

// First in, first out. Events are built in chunks of memory that are used again, so that steady use takes none.
// An event stays where it is until it is popped, however many are pushed meanwhile. One thread at a time.
class EventQueue {
public:
    static constexpr std::size_t chunk_bytes = 16 * 1024;
    static constexpr std::size_t event_bytes_max = 1'024;
    // Chunks kept for the next burst; more than these go back to the heap.
    static constexpr std::size_t spare_chunks_max = 64;

    EventQueue() = default;
    EventQueue(const EventQueue&) = delete;
    EventQueue& operator=(const EventQueue&) = delete;
    ~EventQueue();

    // Throws what the event's constructor or the heap throws; the queue is unchanged then.
    template <class E>
    void push(E&& event, Time time, std::uint64_t sequence) {
        using Type = std::remove_cvref_t<E>;
        static_assert(sizeof(Type) <= event_bytes_max, "an event tells what happened, it does not carry the world");
        static_assert(alignof(Type) <= alignof(std::max_align_t));
        Header* header = room_for(sizeof(Type));
        ::new (header->event()) Type(std::forward<E>(event));
        header->type = &event_type<Type>;
        header->time = time;
        header->sequence = sequence;
        commit(sizeof(Type));
    }

    // Only when it is not empty.
    EventView front() const;
    void pop();

    std::size_t size() const { return size_; }
    bool empty() const { return size_ == 0; }

private:
    struct alignas(std::max_align_t) Header {
        const EventType* type;
        Time time;
        std::uint64_t sequence;
        std::size_t bytes;  // with the header
        void* event() { return this + 1; }
    };

    struct Chunk {
        std::unique_ptr<Chunk> next;
        std::size_t read = 0;
        std::size_t written = 0;
        alignas(std::max_align_t) std::byte bytes[chunk_bytes];
        Header* at(std::size_t offset) { return reinterpret_cast<Header*>(bytes + offset); }
    };

    static std::size_t bytes_with_header(std::size_t event_bytes);
    // Where the next event goes; `commit` makes it part of the queue.
    Header* room_for(std::size_t event_bytes);
    void commit(std::size_t event_bytes);
    void drop_first_chunk();

    std::unique_ptr<Chunk> first_;
    Chunk* last_ = nullptr;
    std::unique_ptr<Chunk> spare_;
    std::size_t spares_ = 0;
    std::size_t size_ = 0;
};

}  // namespace muster
