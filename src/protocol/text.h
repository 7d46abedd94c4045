// A string field of a message: UTF-8 of a limited size, which knows how much of it people may see.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace muster {

// How much of a text the JSON view shows. Secrets never stand whole in a log (K-3, fault 69).
enum class Shown : std::uint8_t { whole, start, never };

// `text` as people may see it.
std::string shown_text(std::string_view text, Shown shown);

// The longest start of `text` that fits into `size_max` bytes and splits no character.
std::string_view utf8_start(std::string_view text, std::size_t size_max);

struct TextBase {};

// Holds what it is given; encode() checks that our own text fits, decode() that a peer's does. It becomes a plain
// string, or another kind of Text, only by way of view(): no secret does so unseen.
template <std::size_t Max, Shown How = Shown::whole>
class Text : public TextBase {
public:
    static constexpr std::size_t size_max = Max;
    static constexpr Shown shown = How;

    Text() = default;
    explicit(false) Text(std::string&& text) : value_(std::move(text)) {}
    template <std::convertible_to<std::string_view> T>
    explicit(false) Text(const T& text) : value_(std::string_view(text)) {}

    // As much of `text` as fits: for words whose length we do not choose, such as an operator's reason.
    static Text cut(std::string_view text) { return Text(utf8_start(text, Max)); }
    static constexpr bool fits(std::string_view text) { return text.size() <= Max; }

    std::string_view view() const { return value_; }
    const std::string& string() const { return value_; }
    std::size_t size() const { return value_.size(); }
    bool empty() const { return value_.empty(); }

    friend bool operator==(const Text& a, const Text& b) { return a.value_ == b.value_; }
    template <std::convertible_to<std::string_view> T>
    friend bool operator==(const Text& a, const T& b) {
        return a.value_ == std::string_view(b);
    }

private:
    std::string value_;
};

template <class T>
concept TextField = std::derived_from<T, TextBase>;

// The strings of the protocol and their limits in bytes (W-2).
using HandshakeTokenText = Text<256, Shown::never>;
using MatchTokenText = Text<256, Shown::start>;
using IpText = Text<45>;
using MatchmakerIdText = Text<64>;
using NameText = Text<32>;
using CredentialText = Text<1024, Shown::never>;
using ResumeTokenText = Text<64, Shown::never>;
using ReasonText = Text<256>;
using ErrorText = Text<256>;
// Of hosts.
using HostNameText = Text<64>;
using RunNameText = Text<64>;
using ProcessNameText = Text<80>;
using VersionText = Text<64>;
using LastLinesText = Text<1024>;
using LogText = Text<4096>;

}  // namespace muster
