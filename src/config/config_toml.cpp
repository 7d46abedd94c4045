#include "config/config_toml.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <vector>

#include <fmt/core.h>
#include <toml++/toml.h>

#include "base/json_fields.h"
#include "config/config_value.h"
#include "config/nearest_name.h"
#include "config/plain_file.h"

namespace muster {
namespace {

constexpr std::size_t file_bytes_max = 1 << 20;
constexpr std::size_t file_piece_bytes = 16 << 10;
constexpr std::size_t regions_max = 128;
constexpr std::size_t list_items_max = 1'024;
constexpr std::size_t region_name_bytes_max = 32;
constexpr std::size_t host_name_bytes_max = 253;

// A name from the file, safe to show.
std::string shown_name(std::string_view name) {
    const bool plain = std::all_of(name.begin(), name.end(), [](unsigned char c) { return c > 0x20 && c < 0x7F; });
    return plain && !name.empty() ? std::string(name) : json_quoted(name);
}

std::string did_you_mean(const std::optional<std::string>& nearest) {
    return nearest ? fmt::format("; did you mean {}?", *nearest) : std::string();
}

std::vector<std::string> table_names() {
    std::vector<std::string> names;
    for (const ConfigTable& table : config_tables()) names.emplace_back(table.name);
    return names;
}

// The key of that table most like `typed`, else the key of another table, by its full name.
std::optional<std::string> nearest_key(std::string_view table, std::string_view typed) {
    std::vector<std::string> here;
    for (const ConfigKey& key : config_keys())
        if (key.table == table) here.emplace_back(key.name);
    if (auto nearest = nearest_name(typed, here)) return nearest;
    for (const ConfigKey& key : config_keys())
        if (edit_distance(key.name, typed, 1) <= 1) return key.full_name();
    return std::nullopt;
}

bool has_control_characters(std::string_view text) {
    return std::any_of(text.begin(), text.end(), [](unsigned char c) { return c < 0x20 || c == 0x7F; });
}

// Letters, digits, hyphens and underscores, in parts with dots between them. A port would never match a Host's name.
bool is_host_name(std::string_view text) {
    const auto allowed = [](unsigned char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' ||
               c == '.';
    };
    return !text.empty() && text.size() <= host_name_bytes_max && text.front() != '.' && text.back() != '.' &&
           text.find("..") == std::string_view::npos && std::all_of(text.begin(), text.end(), allowed);
}

class Reader {
public:
    Reader(std::string_view name, ConfigDraft& draft) : name_(name), draft_(draft) {}

    void read(const toml::table& root) {
        for (const auto& [name, node] : root) {
            const std::string_view table = name.str();
            if (!find_table(table)) {
                unknown_at_top(name, node);
            } else if (const toml::table* keys = node.as_table()) {
                read_table(table, *keys);
            } else {
                refuse(name.source(), fmt::format("{}: must be a table; begin it with [{}]", table, table));
            }
        }
    }

    // Problems are told of `place`, in the order of `line`.
    void read_key(const ConfigKey& key, const toml::node& node, std::string_view place, std::size_t line) {
        const auto refuse_key = [&](std::string_view what) { draft_.refuse(key, place, line, what); };
        if (std::holds_alternative<RegionsKey>(key.type)) {
            if (const auto problem = read_regions(key, node)) return refuse_key(*problem);
        } else if (const auto* cells = std::get_if<CellsKey>(&key.type)) {
            if (const auto problem = read_cells(*cells, node))
                return refuse_key(fmt::format("{}; give {}", *problem, allowed_text(key)));
        } else if (std::holds_alternative<HostsKey>(key.type)) {
            if (const auto problem = read_hosts(key, node)) return refuse_key(*problem);
        } else if (const auto* list = std::get_if<ListKey>(&key.type)) {
            if (!read_list(*list, node)) return refuse_key(fmt::format("give {}", allowed_text(key)));
        } else {
            const auto scalar = scalar_of(node);
            if (!scalar)
                return refuse_key(fmt::format("a TOML {} is not allowed; give {}", type_name(node), allowed_text(key)));
            if (const auto problem = set_value(key, *scalar, draft_.config)) return refuse_key(*problem);
        }
    }

private:
    void read_table(std::string_view table, const toml::table& keys) {
        for (const auto& [name, node] : keys) {
            const std::string full_name = fmt::format("{}.{}", table, shown_name(name.str()));
            const ConfigKey* key = find_key(table, name.str());
            if (!key) {
                refuse(name.source(),
                       fmt::format("{}: unknown key{}", full_name, did_you_mean(nearest_key(table, name.str()))));
            } else if (std::holds_alternative<SecretKey>(key->type)) {
                refuse(name.source(), fmt::format("{}: refused here; secrets come from {} or {}_file", full_name,
                                                  key->environment_variable(), full_name));
            } else {
                read_key(*key, node, fmt::format("{}: {}", place_of(name.source()), full_name),
                         name.source().begin.line);
                draft_.origins.set(*key,
                                   {ConfigOrigin::Source::file, place_of(name.source()), name.source().begin.line});
            }
        }
    }

    // A table nobody knows, or a key that stands outside of its table.
    void unknown_at_top(const toml::key& name, const toml::node& node) {
        const std::string shown = shown_name(name.str());
        if (node.is_table()) {
            refuse(name.source(),
                   fmt::format("{}: unknown table{}", shown, did_you_mean(nearest_name(name.str(), table_names()))));
        } else {
            refuse(name.source(), fmt::format("{}: unknown key{}", shown, did_you_mean(nearest_key("", name.str()))));
        }
    }

    std::optional<std::string> read_regions(const ConfigKey& key, const toml::node& node) {
        const toml::array* items = node.as_array();
        if (!items || items->empty() || items->size() > regions_max)
            return fmt::format("give {}, of 1 to {} regions", allowed_text(key), regions_max);
        Regions regions;
        for (const toml::node& item : *items) {
            Region region;
            if (auto problem = read_region(item, region))
                return fmt::format("region {}: {}", regions.size() + 1, *problem);
            for (const Region& other : regions) {
                if (other.id == region.id) return fmt::format("two regions have the id {}", region.id.value);
                if (other.name == region.name)
                    return fmt::format("two regions have the name {}", json_quoted(region.name));
            }
            regions.push_back(std::move(region));
        }
        std::get<RegionsKey>(key.type).place(draft_.config) = std::move(regions);
        return std::nullopt;
    }

    std::optional<std::string> read_cells(const CellsKey& key, const toml::node& node) {
        const toml::array* items = node.as_array();
        if (!items || items->size() > CellsKey::cells_max) return "is no list, or a very long one";
        CellPlans cells;
        for (const toml::node& item : *items) {
            CellPlan cell;
            if (auto problem = read_cell(item, cell)) return fmt::format("cell {}: {}", cells.size() + 1, *problem);
            for (const CellPlan& other : cells) {
                if (other.name == cell.name) return fmt::format("two cells have the name {}", json_quoted(cell.name));
                for (const RegionId region : *cell.regions)
                    if (std::ranges::find(*other.regions, region) != other.regions->end())
                        return fmt::format("region {} is in two cells", region.value);
            }
            cells.push_back(std::move(cell));
        }
        std::ranges::sort(cells, {}, &CellPlan::name);
        key.place(draft_.config) = std::move(cells);
        return std::nullopt;
    }

    std::optional<std::string> read_hosts(const ConfigKey& key, const toml::node& node) {
        const toml::array* items = node.as_array();
        if (!items || items->size() > HostsKey::hosts_max)
            return fmt::format("give {}, at most {}", allowed_text(key), HostsKey::hosts_max);
        std::vector<std::string> hosts;
        for (const toml::node& item : *items) {
            auto host = item.value_exact<std::string>();
            if (!host || !is_host_name(*host))
                return fmt::format("host {}: must be a name without a port, such as \"muster.example\"",
                                   hosts.size() + 1);
            std::transform(host->begin(), host->end(), host->begin(),
                           [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
            hosts.push_back(std::move(*host));
        }
        std::get<HostsKey>(key.type).place(draft_.config) = std::move(hosts);
        return std::nullopt;
    }

    bool read_list(const ListKey& key, const toml::node& node) {
        const toml::array* items = node.as_array();
        if (!items || items->size() > list_items_max) return false;
        std::vector<std::string> all;
        for (const toml::node& item : *items) {
            const auto* text = item.as_string();
            if (!text || !key.fits(text->get()) || std::find(all.begin(), all.end(), text->get()) != all.end())
                return false;
            all.push_back(text->get());
        }
        key.place(draft_.config) = std::move(all);
        return true;
    }

    static std::optional<std::string> read_region(const toml::node& node, Region& region) {
        const toml::table* fields = node.as_table();
        if (!fields) return "must be a table such as { id = 0, name = \"USE\" }";
        for (const auto& [name, value] : *fields) {
            static const std::vector<std::string> known = {"id", "name"};
            if (name.str() != "id" && name.str() != "name")
                return fmt::format("unknown key {}{}", shown_name(name.str()),
                                   did_you_mean(nearest_name(name.str(), known)));
        }
        const auto id = (*fields)["id"].value_exact<std::int64_t>();
        if (!id || *id < 0 || *id > 127) return "its id must be a whole number from 0 to 127";
        const auto name = (*fields)["name"].value_exact<std::string>();
        if (!name || name->empty() || name->size() > region_name_bytes_max || has_control_characters(*name))
            return fmt::format("its name must be 1 to {} bytes without control characters", region_name_bytes_max);
        region = {RegionId(static_cast<std::int8_t>(*id)), *name};
        return std::nullopt;
    }

    static std::optional<std::string> read_cell(const toml::node& node, CellPlan& cell) {
        const toml::table* fields = node.as_table();
        if (!fields) return "must be a table";
        for (const auto& [name, value] : *fields) {
            static const std::vector<std::string> known = {"name", "regions", "players"};
            if (std::ranges::find(known, name.str()) == known.end())
                return fmt::format("unknown key {}{}", shown_name(name.str()),
                                   did_you_mean(nearest_name(name.str(), known)));
        }
        const auto name = (*fields)["name"].value_exact<std::string>();
        if (!name || !is_cell_name(*name)) return "its name must be 1 to 32 lower-case letters, digits and hyphens";
        const auto players = fields->contains("players") ? (*fields)["players"].value_exact<bool>() : false;
        if (!players) return "players must be true or false";
        cell = {*name, std::vector<RegionId>(), *players};
        if (const toml::node* listed = fields->get("regions"); listed && !read_cell_regions(*listed, *cell.regions))
            return "its regions must be a list of ids from 0 to 127, each once";
        if (cell.regions->empty() && !cell.players) return "it must have regions or players";
        return std::nullopt;
    }

    static bool read_cell_regions(const toml::node& node, std::vector<RegionId>& regions) {
        const toml::array* items = node.as_array();
        if (!items || items->size() > regions_max) return false;
        for (const toml::node& item : *items) {
            const auto id = item.value_exact<std::int64_t>();
            if (!id || *id < 0 || *id > 127) return false;
            regions.emplace_back(static_cast<std::int8_t>(*id));
        }
        std::ranges::sort(regions);
        return std::ranges::adjacent_find(regions) == regions.end();
    }

    static std::optional<ConfigScalar> scalar_of(const toml::node& node) {
        if (const auto* flag = node.as_boolean()) return flag->get();
        if (const auto* whole = node.as_integer()) return whole->get();
        if (const auto* real = node.as_floating_point()) return real->get();
        if (const auto* text = node.as_string()) return text->get();
        return std::nullopt;
    }

    static std::string_view type_name(const toml::node& node) {
        if (node.is_table()) return "table";
        if (node.is_array()) return "array";
        return "date or time";
    }

    std::string place_of(const toml::source_region& source) const {
        return fmt::format("{}:{}", name_, source.begin.line);
    }
    void refuse(const toml::source_region& source, std::string_view what) {
        draft_.refuse(place_of(source), source.begin.line, what);
    }

    std::string_view name_;
    ConfigDraft& draft_;
};

// The whole file, or why it cannot be had.
std::optional<std::string> read_file(const std::filesystem::path& path, std::string& text) {
    auto file = PlainFile::open(path);
    if (!file) return fmt::format("cannot be read: {}", file.error());
    // Piece by piece: most files are a few kilobytes, and what the system says of a file's size may not stay true.
    while (text.size() <= file_bytes_max) {
        const std::size_t before = text.size();
        text.resize(before + file_piece_bytes);
        const ssize_t got = file->read(text.data() + before, file_piece_bytes);
        if (got < 0) return fmt::format("cannot be read: {}", std::strerror(errno));
        text.resize(before + static_cast<std::size_t>(got));
        if (static_cast<std::size_t>(got) < file_piece_bytes) break;
    }
    if (text.size() > file_bytes_max) return fmt::format("is larger than {} bytes", file_bytes_max);
    return std::nullopt;
}

}  // namespace

void read_toml_file(const std::filesystem::path& path, ConfigDraft& draft) {
    std::string text;
    if (const auto problem = read_file(path, text)) return draft.refuse(path.string(), 0, *problem);
    read_toml(text, path.string(), draft);
}

void read_toml(std::string_view text, std::string_view name, ConfigDraft& draft) {
    try {
        Reader(name, draft).read(toml::parse(text, name));
    } catch (const toml::parse_error& error) {
        const std::size_t line = error.source().begin.line;
        draft.refuse(fmt::format("{}:{}", name, line), line, error.description());
    }
}

void read_toml_value(const ConfigKey& key, std::string_view text, std::string_view place, ConfigDraft& draft) {
    try {
        const toml::table parsed = toml::parse(fmt::format("value = {}", text));
        const toml::node* value = parsed.get("value");
        // More than one key means that the text broke out of its value.
        if (!value || parsed.size() != 1)
            return draft.refuse(key, place, ConfigOrigin::no_line, fmt::format("give {}", allowed_text(key)));
        Reader(place, draft).read_key(key, *value, place, ConfigOrigin::no_line);
    } catch (const toml::parse_error&) {
        draft.refuse(key, place, ConfigOrigin::no_line, fmt::format("this is not TOML; give {}", allowed_text(key)));
    }
}

}  // namespace muster
