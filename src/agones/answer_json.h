// The JSON of the Agones SDK's REST interface: names as in the protos, int64 as text, nothing left out.
#pragma once

#include <string>

#include "agones/calls.h"

namespace muster::agones {

std::string to_json(const Answer& answer);
// {"code":5,"message":"Not Found","details":[]}
std::string to_json(const Refused& refused);
// One element of a watch: {"result":{…}}
std::string watch_json(const GameServer& server);

}  // namespace muster::agones
