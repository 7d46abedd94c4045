// `muster backup`, `muster restore` and `muster store`: what is done with the store's file as a whole. They work on the
// file itself, not through a daemon.
#include <memory>
#include <optional>
#include <string>

#include <fmt/core.h>

#include "base/json_fields.h"
#include "base/packed_fields.h"
#include "cli/command.h"
#include "cli/commands.h"
#include "cli/standard_output.h"
#include "config/config_load.h"
#include "process/exit_code.h"
#include "store/event_reader.h"
#include "store/store.h"
#include "store/store_copy.h"

namespace muster {
namespace {

struct StoreArguments {
    std::string what;
    std::optional<std::string> config;
    std::optional<std::string> store;
};

CommandOption config_option(StoreArguments& arguments) {
    CommandOption option{"--config", "FILE", "The config file (TOML) that names the store", &arguments.config};
    option.is_file = true;
    return option;
}

CommandOption store_option(StoreArguments& arguments) {
    CommandOption option{"--store", "FILE", "The store's file, in place of the config's store.path", &arguments.store};
    option.is_file = true;
    option.excludes = {"--config"};
    return option;
}

CommandOption file_place(StoreArguments& arguments, const char* help) {
    CommandOption option{"FILE", "", help, &arguments.what};
    option.required = true;
    option.is_file = true;
    return option;
}

std::string store_of(const StoreArguments& arguments) {
    if (arguments.store) return *arguments.store;
    const auto loaded = load_config({arguments.config, process_environment()});
    if (loaded) return loaded->config.store.path;
    print_problems(loaded.error());
    throw CommandFailure(to_int(ExitCode::config), "the config names no store");
}

template <class Call>
int done(Call call) {
    try {
        return to_int(print_result(call()));
    } catch (const StoreError& error) {
        throw CommandFailure(error.exit_code, error.what());
    }
}

int run_backup(const StoreArguments& arguments) {
    return done([&] {
        const std::string store = store_of(arguments);
        back_up(store, arguments.what);
        return fmt::format("Backed up {} to {}\n", store, arguments.what);
    });
}

int run_restore(const StoreArguments& arguments) {
    return done([&] {
        const std::string store = store_of(arguments);
        const Restored restored = restore(arguments.what, store);
        const std::string old =
            restored.old_store.empty() ? "" : fmt::format("The store that was there is now {}\n", restored.old_store);
        return fmt::format("Restored {} from {}; ids go on from {}\n{}", store, arguments.what,
                           restored.numbers.server_ids_below, old);
    });
}

int run_compact(const StoreArguments& arguments) {
    return done([&] {
        const std::string store = store_of(arguments);
        const Compacted compacted = compact(store);
        return fmt::format("Compacted {}: {} bytes, {} before\n", store, compacted.bytes_after, compacted.bytes_before);
    });
}

// One JSON object a line, as the API shows events, oldest first.
int run_events(const StoreArguments& arguments) {
    constexpr std::size_t page = 10'000;
    return done([&] {
        EventReader reader(store_of(arguments), {});
        EventsFound found;
        while (!found.is_end) {
            found = reader.find({EventSearch::Towards::newer, found.reached, page});
            std::string lines;
            for (const EventRecord& event : found.events) {
                JsonFields fields;
                fields.integer("id", event.id);
                fields.integer("time_ms", event.time.value);
                fields.text("type", event.type);
                unpack(event.fields, fields);
                lines += fields.finish() + "\n";
            }
            print_result(lines);
        }
        return std::string();
    });
}

}  // namespace

Command backup_command() {
    const auto arguments = std::make_shared<StoreArguments>();
    return {
        "backup",
        "Copy the store to a new file, while the daemon runs or not",
        {file_place(*arguments, "The file to write; it must not exist"), config_option(*arguments),
         store_option(*arguments)},
        "The copy is a consistent snapshot with mode 0600, since it holds tokens of live matches. It is checked and\n"
        "synced before it gets its name.\n",
        [arguments] { return run_backup(*arguments); }};
}

Command restore_command() {
    const auto arguments = std::make_shared<StoreArguments>();
    return {"restore",
            "Put a backup in place of the store; stop the daemon first",
            {file_place(*arguments, "The backup"), config_option(*arguments), store_option(*arguments)},
            "The old store is kept beside it. Server ids, epochs and event ids skip far ahead, so that no id\n"
            "used after the backup is used again. After the next start, each match in the backup is confirmed\n"
            "by its game server or aborted.\n",
            [arguments] { return run_restore(*arguments); }};
}

Command store_command() {
    const auto arguments = std::make_shared<StoreArguments>();
    CommandOption action{"ACTION", "",
                         "`events`: print the event history; `compact`: give free space back to the disk, stop the "
                         "daemon first",
                         &arguments->what};
    action.required = true;
    action.choices = {"compact", "events"};
    return {"store",
            "Read or maintain the store's file",
            {action, config_option(*arguments), store_option(*arguments)},
            "Events are printed as JSON, one a line, oldest first; the daemon may run.\n"
            "Compacting needs disk space for a second copy. Without it, Muster reuses free space inside the file.\n",
            [arguments] { return arguments->what == "events" ? run_events(*arguments) : run_compact(*arguments); }};
}

}  // namespace muster
