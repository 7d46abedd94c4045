#include "store/event_block.h"

#include <algorithm>

#include <zlib.h>

#include "base/varint.h"

namespace muster {
namespace {

// A field's kind takes the lowest bits of the varint that it shares with its name's number.
constexpr unsigned kind_bits = 3;
constexpr std::uint64_t kind_mask = (1U << kind_bits) - 1;
static_assert(static_cast<std::uint64_t>(PackedKind::end) <= kind_mask);

constexpr std::uint64_t is_name = 1;

// Differences and sums that wrap: whatever the numbers are, one undoes the other.
std::int64_t beyond(std::int64_t value, std::int64_t before) {
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(value) - static_cast<std::uint64_t>(before));
}
std::int64_t after(std::int64_t before, std::int64_t by) {
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(before) + static_cast<std::uint64_t>(by));
}

constexpr std::string_view seal_mark{"\0MC", 3};
constexpr std::size_t seal_size = seal_mark.size() + 4;

void put_seal(std::string& out, std::uint32_t sum) {
    out += seal_mark;
    for (unsigned shift = 0; shift < 32; shift += 8) out.push_back(static_cast<char>(sum >> shift & 0xff));
}

// The CRC-32 of `more` behind bytes whose sum is `sum`; 0 of none.
std::uint32_t summed(std::uint32_t sum, std::string_view more) {
    return static_cast<std::uint32_t>(crc32_z(sum, reinterpret_cast<const Bytef*>(more.data()), more.size()));
}

std::string seal_of(std::string_view bytes) {
    std::string seal;
    put_seal(seal, summed(0, bytes));
    return seal;
}

}  // namespace

void EventBlock::add(const EventRecord& event) {
    entry_.clear();
    put_varint(entry_, zigzag(beyond(event.id, last_id_)));
    put_varint(entry_, zigzag(beyond(event.time.value, time_before_)));
    put_varint(entry_, number_of(event.type));
    std::string_view fields = event.fields;
    for (PackedField field; take_field(fields, field);) {
        put_varint(entry_, number_of(field.name) << kind_bits | static_cast<std::uint64_t>(field.kind));
        put_value(entry_, field);
    }
    put_varint(bytes_, entry_.size() << 1);
    bytes_ += entry_;

    if (empty()) {
        first_id_ = event.id;
        first_time_ = last_time_ = event.time;
    }
    last_id_ = event.id;
    time_before_ = event.time.value;
    first_time_ = std::min(first_time_, event.time);
    last_time_ = std::max(last_time_, event.time);
    ++count_;
}

// A name that is new to the block is written before the event that uses it.
std::uint64_t EventBlock::number_of(std::string_view name) {
    if (const auto known = names_.find(name); known != names_.end()) return known->second;
    const std::uint64_t number = names_.size();
    names_.emplace(name, number);
    put_varint(bytes_, name.size() << 1 | is_name);
    bytes_ += name;
    return number;
}

void EventBlock::clear() {
    bytes_.clear();
    names_.clear();
    sum_ = 0;
    summed_ = 0;
    count_ = first_id_ = last_id_ = time_before_ = 0;
    first_time_ = last_time_ = UnixMs{};
}

// A small row is written again with each commit: only what it got meanwhile is summed up.
std::string EventBlock::sealed() {
    sum_ = summed(sum_, std::string_view(bytes_).substr(summed_));
    summed_ = bytes_.size();
    std::string kept;
    kept.reserve(bytes_.size() + seal_size);
    kept += bytes_;
    put_seal(kept, sum_);
    return kept;
}

EventBlockReader::EventBlockReader(std::string_view bytes) : bytes_(bytes), rest_(bytes) {
    if (bytes.size() < seal_size || bytes.substr(bytes.size() - seal_size, seal_mark.size()) != seal_mark) return;
    rest_.remove_suffix(seal_size);
    if (seal_of(rest_) != bytes.substr(rest_.size())) stop(true);
}

bool EventBlockReader::next() {
    while (!rest_.empty()) {
        std::uint64_t head = 0;
        if (!take_varint(rest_, head) || head >> 1 > rest_.size()) return stop(true);
        std::string_view entry = rest_.substr(0, head >> 1);
        rest_.remove_prefix(head >> 1);
        if (head & is_name) {
            names_.push_back(entry);
            continue;
        }
        std::uint64_t id = 0;
        std::uint64_t time = 0;
        std::uint64_t type = 0;
        if (!take_varint(entry, id) || !take_varint(entry, time) || !take_varint(entry, type) || type >= names_.size())
            return stop(true);
        event_ = {after(event_.id, unzigzag(id)), after(event_.time, unzigzag(time)), names_[type], entry};
        return true;
    }
    return stop(false);
}

bool EventBlockReader::stop(bool damaged) {
    rest_ = {};
    damaged_ = damaged_ || damaged;
    return false;
}

// Until `visit(field)` is false.
template <class Visit>
void EventBlockReader::visit_fields(Visit visit) const {
    std::string_view rest = event_.fields;
    std::uint64_t tag = 0;
    while (!rest.empty() && take_varint(rest, tag)) {
        PackedField field;
        field.kind = static_cast<PackedKind>(tag & kind_mask);
        if (tag >> kind_bits >= names_.size() || !take_value(rest, field)) return;
        field.name = names_[tag >> kind_bits];
        if (!visit(field)) return;
    }
}

bool EventBlockReader::has(std::string_view name, std::int64_t value) const {
    if (is_nowhere(value)) return false;
    bool found = false;
    std::size_t depth = 0;
    visit_fields([&](const PackedField& field) {
        if (field.kind == PackedKind::begin_object || field.kind == PackedKind::begin_list) ++depth;
        if (field.kind == PackedKind::end && depth > 0) --depth;
        found = depth == 0 && field.kind == PackedKind::integer && field.integer == value && field.name == name;
        return !found;
    });
    return found;
}

// Whoever seeks an id mostly finds it in no event of a block: its bytes are nowhere in it, so no event is looked into.
bool EventBlockReader::is_nowhere(std::int64_t value) const {
    for (std::size_t i = 0; i < sought_count_; ++i)
        if (sought_[i].value == value) return sought_[i].is_nowhere;
    if (sought_count_ == sought_.size()) return false;
    std::string written;
    put_varint(written, zigzag(value));
    const bool is_nowhere = bytes_.find(written) == std::string_view::npos;
    sought_[sought_count_++] = {value, is_nowhere};
    return is_nowhere;
}

EventRecord EventBlockReader::record() const {
    PackedFields fields;
    visit_fields([&](const PackedField& field) {
        fields.add(field);
        return true;
    });
    return {id(), time(), std::string(type()), fields.finish()};
}

bool read_block(std::string_view bytes, std::vector<EventRecord>& events) {
    EventBlockReader reader(bytes);
    while (reader.next()) events.push_back(reader.record());
    return !reader.is_damaged();
}

}  // namespace muster
