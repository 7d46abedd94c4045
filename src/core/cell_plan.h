// A cell as it is planned: which part of the state has an owner of its own (N-7).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/ids.h"

namespace muster {

struct CellPlan {
    std::string name = "main";
    std::optional<std::vector<RegionId>> regions{};  // ascending; none given: all
    bool players = true;

    friend bool operator==(const CellPlan&, const CellPlan&) = default;
};

using CellPlans = std::vector<CellPlan>;

// As people read it: "eu (regions 2 and 9), people (players)".
inline std::string text_of(const CellPlans& plans) {
    std::string text;
    for (const CellPlan& plan : plans) {
        std::string part = plan.regions ? "" : "all regions";
        if (plan.regions && !plan.regions->empty()) part = plan.regions->size() == 1 ? "region" : "regions";
        for (std::size_t i = 0; plan.regions && i < plan.regions->size(); ++i) {
            const bool is_last = i > 0 && i + 1 == plan.regions->size();
            part += (is_last ? " and " : i == 0 ? " " : ", ") + std::to_string((*plan.regions)[i].value);
        }
        if (plan.players) part += part.empty() ? "players" : ", players";
        text += (text.empty() ? "" : ", ") + plan.name + " (" + part + ")";
    }
    return text;
}

}  // namespace muster
