#include "agent/lives.h"

#include <map>

#include <unistd.h>

#include "agent/life_mark.h"
#include "agent/proc.h"

namespace muster {

bool belongs_to_life(std::int32_t pid, std::string_view life) {
    return ProcEnvironment(pid).has(life_variable, life) || mark_of(pid) == life_mark(life);
}

std::vector<LifeMember> members_of(const std::set<std::string>& lives, const std::set<std::int32_t>& others) {
    std::vector<LifeMember> members;
    if (lives.empty()) return members;
    std::map<std::uint64_t, std::string_view> marks;
    for (const std::string& life : lives) marks[life_mark(life)] = life;
    for (const std::int32_t pid : all_processes()) {
        if (pid == getpid() || others.contains(pid)) continue;
        if (std::string life = ProcEnvironment(pid).value(life_variable); lives.contains(life)) {
            members.push_back({pid, std::move(life)});
        } else if (const auto mark = mark_of(pid)) {
            if (const auto found = marks.find(*mark); found != marks.end())
                members.push_back({pid, std::string(found->second)});
        }
    }
    return members;
}

}  // namespace muster
