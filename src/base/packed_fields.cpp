#include "base/packed_fields.h"

#include <cstring>
#include <span>
#include <vector>

#include "base/json_fields.h"
#include "base/varint.h"

namespace muster {
namespace {

constexpr std::size_t name_max = 255;

bool opens_group(PackedKind kind) {
    return kind == PackedKind::begin_object || kind == PackedKind::begin_list;
}

}  // namespace

// Every event passes here with some ten fields: a field is one comparison for room, and copies.
char* PackedFields::begin(PackedKind kind, std::string_view name, std::size_t value_max) {
    name = name.substr(0, name_max);
    std::byte* to = out_.extend(2 + name.size() + value_max);
    to[0] = static_cast<std::byte>(kind);
    to[1] = static_cast<std::byte>(name.size());
    if (!name.empty()) std::memcpy(to + 2, name.data(), name.size());
    return reinterpret_cast<char*>(to + 2 + name.size());
}

void PackedFields::add(const PackedField& field) {
    begin(field.kind, field.name);
    std::string value;
    put_value(value, field);
    out_.append(std::as_bytes(std::span(value)));
}

void PackedFields::integer(std::string_view name, std::int64_t value) {
    char* to = begin(PackedKind::integer, name, varint_bytes_max);
    out_.take_back(varint_bytes_max - write_varint(to, zigzag(value)));
}

void PackedFields::real(std::string_view name, double value) {
    std::memcpy(begin(PackedKind::real, name, sizeof value), &value, sizeof value);
}

void PackedFields::text(std::string_view name, std::string_view value) {
    char* to = begin(PackedKind::text, name, varint_bytes_max + value.size());
    const std::size_t length_bytes = write_varint(to, value.size());
    if (!value.empty()) std::memcpy(to + length_bytes, value.data(), value.size());
    out_.take_back(varint_bytes_max - length_bytes);
}

void PackedFields::flag(std::string_view name, bool value) {
    begin(value ? PackedKind::yes : PackedKind::no, name);
}

std::string PackedFields::finish() {
    std::string packed(reinterpret_cast<const char*>(out_.data()), out_.size());
    out_.clear();
    return packed;
}

void put_value(std::string& out, const PackedField& field) {
    switch (field.kind) {
        case PackedKind::integer:
            return put_varint(out, zigzag(field.integer));
        case PackedKind::real: {
            char bytes[sizeof field.real];
            std::memcpy(bytes, &field.real, sizeof bytes);
            out.append(bytes, sizeof bytes);
            return;
        }
        case PackedKind::text:
            put_varint(out, field.text.size());
            out.append(field.text);
            return;
        case PackedKind::no:
        case PackedKind::yes:
        case PackedKind::begin_object:
        case PackedKind::begin_list:
        case PackedKind::end:
            return;
    }
}

bool take_value(std::string_view& packed, PackedField& field) {
    std::uint64_t number = 0;
    switch (field.kind) {
        case PackedKind::integer:
            if (!take_varint(packed, number)) return false;
            field.integer = unzigzag(number);
            return true;
        case PackedKind::real:
            if (packed.size() < sizeof field.real) return false;
            std::memcpy(&field.real, packed.data(), sizeof field.real);
            packed.remove_prefix(sizeof field.real);
            return true;
        case PackedKind::text:
            if (!take_varint(packed, number) || number > packed.size()) return false;
            field.text = packed.substr(0, number);
            packed.remove_prefix(number);
            return true;
        case PackedKind::no:
        case PackedKind::yes:
        case PackedKind::begin_object:
        case PackedKind::begin_list:
        case PackedKind::end:
            return true;
    }
    return false;
}

bool take_field(std::string_view& packed, PackedField& field) {
    if (packed.size() < 2) return false;
    const auto kind = static_cast<unsigned char>(packed[0]);
    const auto length = static_cast<unsigned char>(packed[1]);
    if (kind > static_cast<unsigned char>(PackedKind::end) || packed.size() - 2 < length) return false;
    field.kind = static_cast<PackedKind>(kind);
    field.name = packed.substr(2, length);
    packed.remove_prefix(2U + length);
    return take_value(packed, field);
}

bool has_integer(std::string_view packed, std::string_view name, std::int64_t value) {
    std::size_t depth = 0;
    for (PackedField field; take_field(packed, field);) {
        if (opens_group(field.kind)) ++depth;
        if (field.kind == PackedKind::end && depth > 0) --depth;
        if (depth == 0 && field.kind == PackedKind::integer && field.integer == value && field.name == name)
            return true;
    }
    return false;
}

void unpack(std::string_view packed, FieldSink& out) {
    std::vector<PackedKind> open;
    const auto close = [&] {
        if (open.back() == PackedKind::begin_object) {
            out.end_object();
        } else {
            out.end_list();
        }
        open.pop_back();
    };
    for (PackedField field; take_field(packed, field);) {
        switch (field.kind) {
            case PackedKind::integer:
                out.integer(field.name, field.integer);
                break;
            case PackedKind::real:
                out.real(field.name, field.real);
                break;
            case PackedKind::text:
                out.text(field.name, field.text);
                break;
            case PackedKind::no:
            case PackedKind::yes:
                out.flag(field.name, field.kind == PackedKind::yes);
                break;
            case PackedKind::begin_object:
                out.begin_object(field.name);
                open.push_back(field.kind);
                break;
            case PackedKind::begin_list:
                out.begin_list(field.name);
                open.push_back(field.kind);
                break;
            case PackedKind::end:
                if (!open.empty()) close();
                break;
        }
    }
    while (!open.empty()) close();
}

std::string packed_to_json(std::string_view packed) {
    JsonFields fields;
    unpack(packed, fields);
    return fields.finish();
}

}  // namespace muster
