// Seeds for the game ports: every message at its edges.
#include <string>

#include <fmt/format.h>

#include "fuzz/fuzz_port.h"
#include "fuzz/seed_folder.h"
#include "protocol/message_samples.h"

namespace muster::fuzz {
namespace {

// `frames` as one input, sent in pieces of `piece` bytes, or whole when that is 0; as plan_of() reads it.
std::string planned(ByteOrder order, std::uint8_t piece, ByteView frames) {
    const unsigned head = (order == ByteOrder::big ? 1U : 0U) | 2U | (piece > 0 ? 1U << 2 : 0U);
    std::string seed{static_cast<char>(head)};
    if (piece > 0) seed += static_cast<char>(piece - 1);
    return seed.append(reinterpret_cast<const char*>(frames.data()), frames.size());
}

// Each sample alone, and one stream of the first samples of all messages.
template <Port At>
int write_seeds_of(const std::filesystem::path& all) {
    SeedFolder folder(all, to_string(At));
    for (const ByteOrder order : byte_orders) {
        Bytes stream;
        MessagesOf<At>::for_each([&]<class M>() {
            std::size_t number = 0;
            for (const M& message : message_samples<M>(4)) {
                Bytes frame;
                encode(message, order, frame);
                const auto piece = static_cast<std::uint8_t>(number % 8);
                folder.write(fmt::format("{}-{}-{}-{}", M::name, to_string(M::direction), to_string(order), number),
                             planned(order, piece, frame));
                if (number < 4 && frame.size() < 64) stream.insert(stream.end(), frame.begin(), frame.end());
                ++number;
            }
        });
        const std::size_t size = std::min(stream.size(), seed_size_max - 2);
        folder.write(fmt::format("stream-{}", to_string(order)), planned(order, 3, ByteView(stream).first(size)));
    }
    return folder.count();
}

}  // namespace

int write_port_seeds(const std::filesystem::path& all) {
    return write_seeds_of<Port::servers>(all) + write_seeds_of<Port::matchmakers>(all) +
           write_seeds_of<Port::players>(all);
}

}  // namespace muster::fuzz
