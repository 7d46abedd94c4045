#include "protocol/codec.h"

#include <algorithm>

namespace muster {

void encode_raw(Code code, std::span<const std::byte> payload, ByteOrder order, std::vector<std::byte>& out) {
    const std::size_t size = frame_head_size + payload.size();
    std::byte* to = wire::grow(out, size);
    to = order == ByteOrder::little ? wire::write_head<ByteOrder::little>(code, size, to)
                                    : wire::write_head<ByteOrder::big>(code, size, to);
    std::ranges::copy(payload, to);
}

}  // namespace muster
