// Fields in a compact binary form: what the event history keeps of an event. Packing copies bytes and formats nothing;
// whoever reads the history turns them into JSON.
//
// Each field is its kind (one byte), its name (its length in one byte, then its bytes) and its value: an integer as a
// zigzag varint, a real as eight bytes, a text as a varint length and its bytes; flags and group marks have none.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/byte_buffer.h"
#include "base/fields.h"

namespace muster {

// The numbers are stored: never renumber.
enum class PackedKind : std::uint8_t { integer, real, text, no, yes, begin_object, begin_list, end };

struct PackedField {
    PackedKind kind = PackedKind::end;
    std::string_view name{};
    std::int64_t integer = 0;
    double real = 0;
    std::string_view text{};
};

class PackedFields final : public FieldSink {
public:
    // Names have at most 255 bytes; a longer one is cut.
    void integer(std::string_view name, std::int64_t value) override;
    void real(std::string_view name, double value) override;
    void text(std::string_view name, std::string_view value) override;
    void flag(std::string_view name, bool value) override;
    void begin_object(std::string_view name) override { begin(PackedKind::begin_object, name); }
    void end_object() override { begin(PackedKind::end, {}); }
    void begin_list(std::string_view name) override { begin(PackedKind::begin_list, name); }
    void end_list() override { begin(PackedKind::end, {}); }

    // One that was taken from elsewhere.
    void add(const PackedField& field);

    // Drops what was told so far.
    void clear() { out_.clear(); }
    // Hands them out; the sink is empty afterwards, and keeps its memory for the next ones.
    std::string finish();

private:
    // Puts kind and name, and makes room for a value of at most so many bytes, behind them. Where that is.
    char* begin(PackedKind kind, std::string_view name, std::size_t value_max = 0);

    ByteBuffer out_;
};

// Takes the field in front of `packed`. False at the end, and where the bytes are no fields; then some are left.
bool take_field(std::string_view& packed, PackedField& field);
// A field's value without its kind and name, the same way: put after them, and taken by whoever knows the kind.
void put_value(std::string& out, const PackedField& field);
bool take_value(std::string_view& packed, PackedField& field);

// Whether a field outside of groups has this name and integer.
bool has_integer(std::string_view packed, std::string_view name, std::int64_t value);

// Tells the fields to `out`. What is no field any more ends it; groups that are open are closed.
void unpack(std::string_view packed, FieldSink& out);
std::string packed_to_json(std::string_view packed);

}  // namespace muster
