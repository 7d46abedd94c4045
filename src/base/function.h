// A callable kept in place: owning, move-only. What does not fit does not compile, or is kept on the heap where the
// type says so.
#pragma once

#include <concepts>
#include <cstddef>
#include <functional>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

namespace muster {

enum class TooLarge { refused, on_heap };

template <class Signature, std::size_t Capacity = 48, TooLarge too_large = TooLarge::refused>
class Function;

template <class R, class... Args, std::size_t Capacity, TooLarge too_large>
class Function<R(Args...), Capacity, too_large> {
public:
    Function() = default;
    explicit(false) Function(std::nullptr_t) {}

    // An empty std::function, or a null function pointer, makes an empty Function.
    template <class F>
        requires(!std::same_as<std::remove_cvref_t<F>, Function> &&
                 std::is_invocable_r_v<R, std::remove_cvref_t<F>&, Args...>)
    explicit(false) Function(F&& callable) {
        using Callable = std::remove_cvref_t<F>;
        constexpr bool fits = sizeof(Callable) <= Capacity;
        static_assert(fits || too_large == TooLarge::on_heap, "capture less, or raise the capacity");
        static_assert(alignof(Callable) <= alignof(void*), "capture what needs a wider alignment by reference");
        static_assert(std::is_nothrow_move_constructible_v<Callable>);
        if constexpr (std::is_constructible_v<bool, Callable&>) {
            if (!static_cast<bool>(callable)) return;
        }
        if constexpr (fits) {
            ::new (storage()) Callable(std::forward<F>(callable));
            ops_ = &ops_of<Callable>;
        } else {
            using Kept = OnHeap<Callable>;
            ::new (storage()) Kept{std::make_unique<Callable>(std::forward<F>(callable))};
            ops_ = &ops_of<Kept>;
        }
    }

    Function(Function&& other) noexcept { take(other); }
    Function& operator=(Function&& other) noexcept {
        if (this != &other) {
            reset();
            take(other);
        }
        return *this;
    }
    Function(const Function&) = delete;
    Function& operator=(const Function&) = delete;
    ~Function() { reset(); }

    explicit operator bool() const { return ops_ != nullptr; }

    R operator()(Args... args) { return ops_->call(storage(), std::forward<Args>(args)...); }

    void reset() {
        if (ops_) std::exchange(ops_, nullptr)->destroy(storage());
    }

private:
    struct Ops {
        R (*call)(void*, Args&&...);
        void (*move)(void* from, void* to) noexcept;
        void (*destroy)(void*) noexcept;
    };

    template <class Callable>
    struct OnHeap {
        std::unique_ptr<Callable> callable;
        R operator()(Args... args) { return std::invoke(*callable, std::forward<Args>(args)...); }
    };

    template <class Callable>
    static constexpr Ops ops_of{
        [](void* self, Args&&... args) -> R {
            return std::invoke(*static_cast<Callable*>(self), std::forward<Args>(args)...);
        },
        [](void* from, void* to) noexcept {
            ::new (to) Callable(std::move(*static_cast<Callable*>(from)));
            std::destroy_at(static_cast<Callable*>(from));
        },
        [](void* self) noexcept { std::destroy_at(static_cast<Callable*>(self)); },
    };

    void take(Function& other) noexcept {
        if (!other.ops_) return;
        other.ops_->move(other.storage(), storage());
        ops_ = std::exchange(other.ops_, nullptr);
    }
    void* storage() { return static_cast<void*>(bytes_); }

    alignas(void*) std::byte bytes_[Capacity];
    const Ops* ops_ = nullptr;
};

}  // namespace muster
