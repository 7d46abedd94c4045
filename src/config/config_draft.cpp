#include "config/config_draft.h"

#include <algorithm>

#include <fmt/core.h>

namespace muster {

void ConfigDraft::refuse(std::string_view place, std::size_t line, std::string_view what) {
    problems_.push_back({line, problems_.size(), fmt::format("{}: {}", place, what)});
}

void ConfigDraft::refuse(const ConfigKey& key, std::string_view place, std::size_t line, std::string_view what) {
    refused_[index_of(key)] = true;
    refuse(place, line, what);
}

void ConfigDraft::refuse(const ConfigKey& key, std::string_view what) {
    const ConfigOrigin& origin = origins.of(key);
    if (origin.source == ConfigOrigin::Source::environment) return refuse(key, origin.place, origin.line, what);
    refuse(key, origin.to_string(), origin.line, fmt::format("{}: {}", key.full_name(), what));
}

std::vector<std::string> ConfigDraft::problems() const {
    std::vector<Problem> sorted = problems_;
    std::sort(sorted.begin(), sorted.end());
    std::vector<std::string> texts;
    for (const Problem& problem : sorted) {
        if (texts.size() == problems_shown_max) {
            texts.push_back(fmt::format("and {} more", sorted.size() - texts.size()));
            break;
        }
        texts.push_back(problem.text);
    }
    return texts;
}

}  // namespace muster
