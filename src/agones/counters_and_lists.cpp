#include "agones/counters_and_lists.h"

#include <algorithm>
#include <utility>

#include <fmt/core.h>

namespace muster::agones {
namespace {

Failure<Refused> refused(std::string message) {
    return Failure<Refused>(Refused{Code::unknown, std::move(message)});
}

template <class Map>
auto* find(Map& map, const std::string& name) {
    const auto found = map.find(name);
    return found == map.end() ? nullptr : &found->second;
}

bool contains(const List& list, const std::string& value) {
    return std::ranges::find(list.values, value) != list.values.end();
}

// Those of `values` that are not there yet, in order, as far as the capacity goes.
void append_new(List& list, const std::vector<std::string>& values) {
    for (const std::string& value : values)
        if (std::ssize(list.values) < list.capacity && !contains(list, value)) list.values.push_back(value);
}

bool too_long(const std::vector<std::string>& values) {
    return std::ranges::any_of(values, [](const std::string& value) { return value.size() > name_bytes_max; });
}

}  // namespace

Reply get_counter(const Counters& counters, const GetCounter& call) {
    const Counter* counter = find(counters, call.name);
    if (!counter) return refused(fmt::format("counter not found: {}", call.name));
    return NamedCounter{call.name, *counter};
}

Reply update_counter(Counters& counters, const UpdateCounter& call, bool& changed) {
    if (!call.count && !call.capacity && call.difference == 0)
        return refused("invalid argument. Malformed CounterUpdateRequest: one of count, capacity or countDiff needed");
    Counter* counter = find(counters, call.name);
    if (!counter) return refused(fmt::format("counter not found: {}", call.name));

    Counter next = *counter;
    if (call.capacity) {
        if (*call.capacity < 0)
            return refused(fmt::format("out of range. Capacity must be greater than or equal to 0. Found Capacity: {}",
                                       *call.capacity));
        next.capacity = *call.capacity;
        if (!call.count && call.difference == 0) next.count = std::min(next.count, next.capacity);
    }
    if (call.count) next.count = *call.count;
    if (__builtin_add_overflow(next.count, call.difference, &next.count) || next.count < 0 ||
        next.count > next.capacity)
        return refused(
            fmt::format("out of range. Count must be within range [0,Capacity]. Found Count: {}, Capacity: {}",
                        next.count, next.capacity));
    changed = next != *counter;
    *counter = next;
    return NamedCounter{call.name, next};
}

Reply get_list(const Lists& lists, const GetList& call) {
    const List* list = find(lists, call.name);
    if (!list) return refused(fmt::format("list not found: {}", call.name));
    return NamedList{call.name, *list};
}

Reply update_list(Lists& lists, const UpdateList& call, bool& changed) {
    for (const std::string& field : call.mask)
        if (field != "capacity" && field != "values" && field != "name")
            return refused(
                fmt::format("INVALID_ARGUMENT. Field Mask Path(s): [{}] are invalid for List. Use valid field name(s): "
                            "[name capacity values]",
                            field));
    if (call.list.capacity < 0 || call.list.capacity > list_capacity_max)
        return refused(fmt::format("out of range. Capacity must be within range [0,{}]. Found Capacity: {}",
                                   list_capacity_max, call.list.capacity));
    if (std::ssize(call.list.values) > list_capacity_max)
        return refused(fmt::format("out of range. A List holds at most {} values", list_capacity_max));
    if (too_long(call.list.values))
        return refused(fmt::format("out of range. A value has over {} bytes", name_bytes_max));
    List* list = find(lists, call.name);
    if (!list) return refused(fmt::format("not found. {} List not found", call.name));

    const auto masked = [&](std::string_view field) { return std::ranges::find(call.mask, field) != call.mask.end(); };
    const bool merges = call.mask.empty();
    List next = *list;
    if (masked("capacity") || (merges && call.list.capacity != 0)) next.capacity = call.list.capacity;
    if (masked("values")) next.values.clear();
    if (std::ssize(next.values) > next.capacity) next.values.resize(static_cast<std::size_t>(next.capacity));
    if (masked("values") || merges) append_new(next, call.list.values);
    changed = next != *list;
    *list = next;
    return NamedList{call.name, std::move(next)};
}

Reply add_list_value(Lists& lists, const AddListValue& call, bool& changed) {
    List* list = find(lists, call.name);
    if (!list) return refused(fmt::format("list not found: {}", call.name));
    if (list->capacity <= std::ssize(list->values))
        return refused(fmt::format("out of range. No available capacity. Current Capacity: {}, List Size: {}",
                                   list->capacity, list->values.size()));
    if (contains(*list, call.value))
        return refused(fmt::format("already exists. Value: {} already in List: {}", call.value, call.name));
    if (call.value.size() > name_bytes_max)
        return refused(fmt::format("out of range. A value has over {} bytes", name_bytes_max));
    list->values.push_back(call.value);
    changed = true;
    return NamedList{call.name, *list};
}

Reply remove_list_value(Lists& lists, const RemoveListValue& call, bool& changed) {
    List* list = find(lists, call.name);
    if (!list) return refused(fmt::format("list not found: {}", call.name));
    const auto found = std::ranges::find(list->values, call.value);
    if (found == list->values.end())
        return refused(fmt::format("not found. Value: {} not found in List: {}", call.value, call.name));
    list->values.erase(found);
    changed = true;
    return NamedList{call.name, *list};
}

}  // namespace muster::agones
