// Every key that may stand in the config, declared once: its place, its type, what is allowed, what it means.
// Reading, the environment, `muster config`, the default file and the reference all go by this one list.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/log.h"
#include "base/time.h"
#include "config/config.h"

namespace muster {

// The types of a key. Each knows where its value lives in a Config, and its limits (both ends are allowed).
template <class T>
using PlaceOf = T& (*)(Config&);

struct FlagKey {
    PlaceOf<bool> place;
};
struct WholeKey {
    PlaceOf<std::int32_t> place;
    std::int32_t least;
    std::int32_t most;
};
struct RealKey {
    PlaceOf<double> place;
    double least;
    double most;
};
struct DurationKey {
    PlaceOf<Duration> place;
    Duration least;
    Duration most;
};
struct SizeKey {
    PlaceOf<ByteSize> place;
    ByteSize least;
    ByteSize most;
};
struct AddressKey {
    PlaceOf<ListenAddress> place;
};
// The path of a file. Never empty once given.
struct PathKey {
    PlaceOf<std::string> place;
};
// One line of text, which may not be given at all. `problem` says what is wrong with one, without repeating it: it may
// hold a secret that does not belong there.
struct TextKey {
    PlaceOf<std::string> place;
    std::string_view (*problem)(std::string_view);  // empty: nothing
    std::string_view allowed;                       // what it is, for a person
    std::string_view example;
    std::string_view counterexample;
};
template <class Enum>
struct ChoiceKey {
    PlaceOf<Enum> place;
};
struct RegionsKey {
    PlaceOf<Regions> place;
};
// Parts of the state with owners of their own, none or a few.
struct CellsKey {
    static constexpr std::size_t cells_max = 64;
    PlaceOf<CellPlans> place;
};
// Host names, none or a few.
struct HostsKey {
    static constexpr std::size_t hosts_max = 32;
    PlaceOf<std::vector<std::string>> place;  // in lower case
};
// A list of texts, each once, each of which `fits`.
struct ListKey {
    PlaceOf<std::vector<std::string>> place;
    bool (*fits)(std::string_view);
    std::string_view allowed;  // what each of them is, for a person
    std::string_view example;  // of the list, and of one that does not fit
    std::string_view counterexample;
};
// Never in the file itself: from its own environment variable, or from the file that its _file key names.
struct SecretKey {
    PlaceOf<Secrets> place;
    PlaceOf<std::string> file;
    std::size_t bytes_max;
    bool must_be_text;  // it is sent in a message or a header
};

using KeyType =
    std::variant<FlagKey, WholeKey, RealKey, DurationKey, SizeKey, AddressKey, PathKey, TextKey, ChoiceKey<Credentials>,
                 ChoiceKey<ByteOrder>, ChoiceKey<LogLevel>, RegionsKey, CellsKey, HostsKey, ListKey, SecretKey>;

template <class Enum>
struct ConfigChoice {
    std::string_view text;
    Enum value;
};
// What an enumerated key may be, in the order it is told.
template <class Enum>
std::span<const ConfigChoice<Enum>> choices();

// When a changed value takes effect.
enum class TakesEffect : std::uint8_t { at_reload, at_restart };

struct ConfigKey {
    std::string_view table;
    std::string_view name;
    KeyType type;
    TakesEffect effect;
    std::string_view comment;  // one sentence, for the default file and the reference

    std::string full_name() const;             // fleet.heartbeat_timeout
    std::string environment_variable() const;  // MUSTER_FLEET_HEARTBEAT_TIMEOUT
};

struct ConfigTable {
    std::string_view name;
    std::string_view comment;
};

// In the order of the default file; the keys of a table stand together.
std::span<const ConfigKey> config_keys();
std::span<const ConfigTable> config_tables();

// Whether a cell may have that name.
bool is_cell_name(std::string_view name);

const ConfigKey* find_key(std::string_view table, std::string_view name);
const ConfigKey* find_key_by_full_name(std::string_view full_name);
const ConfigTable* find_table(std::string_view name);

// Its place in config_keys().
std::size_t index_of(const ConfigKey& key);

}  // namespace muster
