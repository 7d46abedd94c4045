// One value on its way between text and config: checked against its key's type and limits going in, as TOML going out.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "base/fields.h"
#include "config/config_keys.h"

namespace muster {

// A single value as it was given. Regions, host names and secrets are not single values: see config_toml.h and
// config_secrets.h.
using ConfigScalar = std::variant<bool, std::int64_t, double, std::string>;

// Text from the environment as the scalar that `key` asks for; as plain text where it is none.
ConfigScalar scalar_from_text(const ConfigKey& key, std::string_view text);

// Puts the value in its place. When it is not allowed, changes nothing and returns why:
// `"3x" is not allowed; give a duration from 10ms to 1d, such as "500ms", "10s" or "5m"`.
[[nodiscard]] std::optional<std::string> set_value(const ConfigKey& key, const ConfigScalar& value, Config& config);

// What may be given: `a whole number from 1 to 7`.
std::string allowed_text(const ConfigKey& key);

// The value as it would stand in the file, `"30s"`. A secret is shown as `set` or `not set` only.
std::string value_text(const ConfigKey& key, const Config& config);

// The same as a field "value", typed as JSON is; of a secret a flag "set".
void describe_value(const ConfigKey& key, const Config& config, FieldSink& out);

bool same_value(const ConfigKey& key, const Config& one, const Config& other);
void copy_value(const ConfigKey& key, const Config& from, Config& to);

}  // namespace muster
