#include "protocol/codec.h"

#include <sys/wait.h>

#include <csignal>
#include <string>

#include <doctest/doctest.h>
#include <unistd.h>

#include "protocol/frame_example.h"
#include "protocol/message_samples.h"
#include "protocol/messages.h"
#include "protocol/sample_frames.h"

using namespace muster;

namespace {

template <Message M>
Bytes frame_of(const M& message, ByteOrder order) {
    Bytes frame;
    encode(message, order, frame);
    return frame;
}

// Whether `body` ends the process by a failed check.
bool aborts(auto&& body) {
    const pid_t child = fork();
    if (child == 0) {
        std::signal(SIGABRT, SIG_DFL);
        close(STDERR_FILENO);
        body();
        _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    return WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT;
}

}  // namespace

TEST_CASE("W-4, fault 43: every message at its edges comes back as it went, in both byte orders") {
    for (const SampleFrame& sample : sample_frames()) {
        CAPTURE(sample.name);
        REQUIRE(sample.frame.size() == sample.encoded_size);
        REQUIRE(sample.fault(sample.payload(), sample.order) == std::nullopt);
        REQUIRE(sample.encoded_again(sample.payload(), sample.order) == sample.frame);
    }
}

TEST_CASE("W-1: a frame's length counts its code and payload") {
    for (const SampleFrame& sample : sample_frames()) {
        CAPTURE(sample.name);
        const bool big = sample.order == ByteOrder::big;
        const auto high = std::to_integer<std::size_t>(sample.frame[big ? 0 : 1]);
        const auto low = std::to_integer<std::size_t>(sample.frame[big ? 1 : 0]);
        REQUIRE(high * 256 + low == sample.frame.size() - 2);
    }
}

TEST_CASE("W-1: encode() appends to what is there") {
    Bytes out{std::byte{0xAA}};
    encode(PingRequest{}, ByteOrder::big, out);
    encode(PingRequest{}, ByteOrder::big, out);
    CHECK(hex_text(out) == "AA 00 02 00 75 00 02 00 75");
}

TEST_CASE("W-5, fault 42: every truncation of every message is refused") {
    // The longest lists are cut at every place of their first items, and then in strides that meet every place of one.
    constexpr std::size_t every_place_until = 4'096;
    constexpr std::size_t stride = 331;
    for (const SampleFrame& sample : sample_frames()) {
        CAPTURE(sample.name);
        const auto payload = sample.payload();
        for (std::size_t size = 0; size < payload.size(); size += size < every_place_until ? 1 : stride) {
            REQUIRE(sample.fault(payload.first(size), sample.order) == WireError::truncated);
        }
    }
}

TEST_CASE("W-5, fault 42: a byte after the last field of any message is refused") {
    for (const SampleFrame& sample : sample_frames()) {
        CAPTURE(sample.name);
        Bytes longer(sample.payload().begin(), sample.payload().end());
        for (const int byte : {0, 1, 0xFF}) {
            longer.push_back(static_cast<std::byte>(byte));
            REQUIRE(sample.fault(longer, sample.order) == WireError::trailing_bytes);
            longer.pop_back();
        }
    }
}

TEST_CASE("W-5: no payload of a message is outside the extent that its layout declares") {
    for_each_message([]<class M>() {
        CAPTURE(M::name);
        const Extent declared = extent<M>();
        std::size_t least = payload_size_max;
        std::size_t most = 0;
        for (const M& message : message_samples<M>(0)) {
            least = std::min(least, payload_size(message));
            most = std::max(most, payload_size(message));
        }
        CHECK(least == declared.least);
        CHECK(most <= declared.most);
        if (declared.most < payload_size_max) CHECK(most == declared.most);
        CHECK(is_fixed_size<M>() == (declared.least == declared.most));
    });
}

TEST_CASE("W-2, fault 14: our own string one over its limit is our bug") {
    const auto try_name = [](std::size_t size) {
        return aborts([&] { frame_of(PlayerLogin{.player_name = std::string(size, 'n')}, ByteOrder::big); });
    };
    CHECK_FALSE(try_name(32));
    CHECK(try_name(33));
}

TEST_CASE("W-1, fault 14: our own list over its count or over a frame is our bug") {
    const auto try_accounts = [](std::size_t count) {
        return aborts([&] { frame_of(MatchPlayers{.accounts = {std::vector<AccountId>(count)}}, ByteOrder::little); });
    };
    CHECK_FALSE(try_accounts(127));
    CHECK(try_accounts(128));

    const auto hello = [](std::size_t servers) {
        MatchmakerHandshakeResponse::Accepted accepted{};
        accepted.servers.items.resize(servers);
        return MatchmakerHandshakeResponse{accepted};
    };
    // A row of an empty ip takes 15 bytes; 13 go before the first: flag, time, count.
    constexpr std::size_t fit = (payload_size_max - 13) / 15;
    CHECK(encoded_size(hello(fit)) <= 2 + frame_length_max);
    CHECK(encoded_size(hello(fit + 1)) > 2 + frame_length_max);
    CHECK_FALSE(aborts([&] { frame_of(hello(fit), ByteOrder::little); }));
    CHECK(aborts([&] { frame_of(hello(fit + 1), ByteOrder::little); }));
}

TEST_CASE("A-1: how many servers still fit a frame is known before it is built") {
    AvailableServer row{
        .server = ServerId{7}, .endpoint = {"10.0.0.7", 28'000}, .region = RegionId{2}, .max_matches = 20};
    CHECK(payload_size(row) == 4 + 2 + 8 + 4 + 1 + 4);
    MatchmakerHandshakeResponse::Accepted accepted{};
    const std::size_t empty = payload_size(MatchmakerHandshakeResponse{accepted});
    accepted.servers.items.assign(3, row);
    CHECK(payload_size(MatchmakerHandshakeResponse{accepted}) == empty + 3 * payload_size(row));
}

TEST_CASE("W-1: a game's own message is framed as it is given") {
    Bytes frame;
    const Bytes payload{std::byte{1}, std::byte{2}, std::byte{3}};
    encode_raw(1000, payload, ByteOrder::big, frame);
    CHECK(frame ==
          Bytes{std::byte{0}, std::byte{5}, std::byte{3}, std::byte{0xE8}, std::byte{1}, std::byte{2}, std::byte{3}});
    frame.clear();
    encode_raw(1000, {}, ByteOrder::little, frame);
    CHECK(hex_text(frame) == "02 00 E8 03");
    CHECK_FALSE(aborts([] {
        Bytes out;
        encode_raw(1000, Bytes(payload_size_max), ByteOrder::big, out);
    }));
    CHECK(aborts([] {
        Bytes out;
        encode_raw(1000, Bytes(payload_size_max + 1), ByteOrder::big, out);
    }));
}
