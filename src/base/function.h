// A callable kept in place: owning, move-only. What does not fit does not compile, or is kept on the heap where the
// type says so. One that is only bytes, such as a lambda that captures references, is moved and dropped without a call.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstring>
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

    // An empty std::function, or a null function pointer, makes an empty Function. Throws what copying the callable
    // throws, and for want of memory when it does not fit.
    template <class F>
        requires(!std::same_as<std::remove_cvref_t<F>, Function> &&
                 std::is_invocable_r_v<R, std::remove_cvref_t<F>&, Args...>)
    explicit(false) Function(F&& callable) noexcept(sizeof(std::remove_cvref_t<F>) <= Capacity &&
                                                    std::is_nothrow_constructible_v<std::remove_cvref_t<F>, F>) {
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

    // Nothing is called when it is dropped.
    bool drops_silently() const { return !ops_ || !ops_->destroy; }

    void reset() {
        if (!ops_) return;
        const Ops* const had = std::exchange(ops_, nullptr);
        if (had->destroy) had->destroy(storage());
    }

private:
    using Call = R (*)(void*, Args&&...);
    using Move = void (*)(void* from, void* to) noexcept;
    using Destroy = void (*)(void*) noexcept;
    struct Ops {
        Call call;
        Move move;        // null: copy the bytes
        Destroy destroy;  // null: nothing to do
    };

    template <class Callable>
    struct OnHeap {
        std::unique_ptr<Callable> callable;
        R operator()(Args... args) { return std::invoke(*callable, std::forward<Args>(args)...); }
    };

    template <class Callable>
    static constexpr bool only_bytes = std::is_trivially_copyable_v<Callable>;

    template <class Callable>
    static constexpr Ops ops_of{
        [](void* self, Args&&... args) -> R {
            return std::invoke(*static_cast<Callable*>(self), std::forward<Args>(args)...);
        },
        only_bytes<Callable> ? Move{} : [](void* from, void* to) noexcept {
            ::new (to) Callable(std::move(*static_cast<Callable*>(from)));
            std::destroy_at(static_cast<Callable*>(from));
        },
        only_bytes<Callable> ? Destroy{} : [](void* self) noexcept { std::destroy_at(static_cast<Callable*>(self)); },
    };

    void take(Function& other) noexcept {
        if (!other.ops_) return;
        ops_ = std::exchange(other.ops_, nullptr);
        if (ops_->move) {
            ops_->move(other.storage(), storage());
        } else {
            std::memcpy(storage(), other.storage(), Capacity);
        }
    }
    void* storage() { return static_cast<void*>(bytes_); }

    alignas(void*) std::byte bytes_[Capacity];
    const Ops* ops_ = nullptr;
};

}  // namespace muster
