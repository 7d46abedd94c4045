// An input as a list of small numbers and texts, for the targets that read it as a play: what happens, and its numbers.
//
// After the last byte everything is 0 and empty, so that any input is one.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

namespace muster::fuzz {

class FuzzInput {
public:
    FuzzInput(const std::uint8_t* data, std::size_t size) : bytes_(data, size) {}

    bool empty() const { return bytes_.empty(); }

    std::uint8_t byte() {
        if (bytes_.empty()) return 0;
        const std::uint8_t first = bytes_.front();
        bytes_ = bytes_.subspan(1);
        return first;
    }
    // 0 to `count` − 1.
    std::size_t below(std::size_t count) { return byte() % count; }
    bool flag() { return byte() % 2 != 0; }

    // As many bytes as the number has, the least significant first.
    template <class Number>
    Number number() {
        std::make_unsigned_t<Number> value = 0;
        for (std::size_t i = 0; i < sizeof(Number); ++i)
            value = static_cast<std::make_unsigned_t<Number>>(value | std::uint64_t{byte()} << 8 * i);
        return static_cast<Number>(value);
    }

    // A byte for its length, then its bytes. Lives as long as the input.
    std::string_view text() { return take(byte()); }
    std::string_view rest() { return take(bytes_.size()); }

private:
    std::string_view take(std::size_t size) {
        const auto taken = bytes_.first(std::min(size, bytes_.size()));
        bytes_ = bytes_.subspan(taken.size());
        return {reinterpret_cast<const char*>(taken.data()), taken.size()};
    }

    std::span<const std::uint8_t> bytes_;
};

// The text with a few bytes of it changed, taken out or put in; often none.
inline std::string edited(std::string text, FuzzInput& input) {
    for (std::size_t edits = input.below(4); edits > 0; --edits) {
        const std::size_t at = input.byte() % (text.size() + 1);
        const auto byte = static_cast<char>(input.byte());
        switch (input.below(3)) {
            case 0:
                if (at < text.size()) text[at] = byte;
                break;
            case 1:
                text.erase(at, 1);
                break;
            default:
                text.insert(at, 1, byte);
        }
    }
    return text;
}

}  // namespace muster::fuzz
