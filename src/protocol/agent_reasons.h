// Reasons in NET_HOST_ANSWER that Muster tells apart. An agent's other reasons are for people only.
#pragma once

#include <string_view>

namespace muster {

// Against a count: the agent's config has no such run. Muster cannot know: runs without processes are not told of.
inline constexpr std::string_view no_such_run = "No such run on this host";

}  // namespace muster
