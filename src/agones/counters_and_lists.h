// Agones' counters and lists (beta): numbers and texts that a process keeps on its GameServer object.
#pragma once

#include "agones/calls.h"

namespace muster::agones {

// Each fails with code 2 and Agones' text, and then has changed nothing. `changed` is set when something did.
Reply get_counter(const Counters& counters, const GetCounter& call);
Reply update_counter(Counters& counters, const UpdateCounter& call, bool& changed);
Reply get_list(const Lists& lists, const GetList& call);
// Values beyond the capacity are cut off, as Agones does.
Reply update_list(Lists& lists, const UpdateList& call, bool& changed);
Reply add_list_value(Lists& lists, const AddListValue& call, bool& changed);
Reply remove_list_value(Lists& lists, const RemoveListValue& call, bool& changed);

}  // namespace muster::agones
