// Reads a config's TOML into a draft.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "config/config_draft.h"

namespace muster {

// Reads the file, which the draft's problems then name as `path`. A file that cannot be read, or is larger than a
// config can sensibly be, is a problem of its own.
void read_toml_file(const std::filesystem::path& path, ConfigDraft& draft);

// The same for text; `name` stands for the file in what is told.
void read_toml(std::string_view text, std::string_view name, ConfigDraft& draft);

// Sets a key from the TOML text of its value alone, as the environment gives the regions. Problems name `place`.
void read_toml_value(const ConfigKey& key, std::string_view text, std::string_view place, ConfigDraft& draft);

}  // namespace muster
