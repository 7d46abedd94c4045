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
#include "postgres/store_move.h"
#include "process/exit_code.h"
#include "store/block_walk.h"
#include "store/event_reader.h"
#include "store/store.h"
#include "store/store_copy.h"

namespace muster {
namespace {

struct StoreArguments {
    std::string what;
    std::string from;
    std::string to;
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
    if (loaded && !loaded->config.store.url.empty())
        throw CommandFailure(to_int(ExitCode::config),
                             "store.url names a database: use its own tools, such as pg_dump, or `muster store copy`");
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

bool is_url(const std::string& place) {
    return place.starts_with("postgresql://") || place.starts_with("postgres://");
}

// The password is the config's: its secret file, MUSTER_STORE_PASSWORD, or PGPASSFILE.
PgOptions database_of(const std::string& url, const StoreArguments& arguments) {
    PgOptions options;
    options.url = url;
    const auto loaded = load_config({arguments.config, process_environment()});
    if (!loaded) {
        print_problems(loaded.error());
        throw CommandFailure(to_int(ExitCode::config), "the config is wrong");
    }
    if (loaded->config.store.password.is_set())
        options.password = std::string(loaded->config.store.password.first().reveal());
    return options;
}

int run_copy(const StoreArguments& arguments) {
    if (arguments.from.empty() || arguments.to.empty())
        throw CommandFailure(to_int(ExitCode::usage), "`store copy` needs FROM and TO: a file and a postgresql:// URL");
    if (is_url(arguments.from) == is_url(arguments.to))
        throw CommandFailure(to_int(ExitCode::usage),
                             "one of FROM and TO is a file, the other a URL that begins with postgresql://; `muster "
                             "backup` copies a file to a file");
    return done([&] {
        const Moved moved = is_url(arguments.to)
                                ? move_to_database(arguments.from, database_of(arguments.to, arguments))
                                : move_to_file(database_of(arguments.from, arguments), arguments.to);
        std::string text;
        for (const MovedTable& table : moved.tables) text += fmt::format("  {:<18} {} rows\n", table.name, table.rows);
        if (moved.left_behind > 0)
            text += fmt::format("  {} requests that failed are not copied: a database does not keep them\n",
                                moved.left_behind);
        return fmt::format("Copied and compared, row by row:\n{}", text);
    });
}

// One JSON object a line, as the API shows events, oldest first.
int run_events(const StoreArguments& arguments) {
    constexpr std::size_t page = 10'000;
    std::uint64_t damaged = 0;
    ExitCode printed = ExitCode::ok;
    const int code = done([&] {
        EventReader reader(store_of(arguments), {});
        EventsFound found;
        while (!found.is_end && printed == ExitCode::ok) {
            found = reader.find({EventSearch::Towards::newer, found.reached, page});
            std::string lines;
            for (const EventRecord& event : found.events) {
                if (event.type == damage_event) ++damaged;
                JsonFields fields;
                fields.integer("id", event.id);
                fields.integer("time_ms", event.time.value);
                fields.text("type", event.type);
                unpack(event.fields, fields);
                lines += fields.finish() + "\n";
            }
            printed = print_result(lines);
        }
        return std::string();
    });
    if (printed != ExitCode::ok) return to_int(printed);
    if (damaged > 0)
        throw CommandFailure(to_int(ExitCode::damaged_store),
                             fmt::format("{} blocks of events are damaged; {} stands where they were, and all others "
                                         "were printed",
                                         damaged, damage_event));
    return code;
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
    CommandOption action{
        "ACTION", "",
        "`events` prints the event history; `compact` shrinks the file; `copy` copies between a file and "
        "a database",
        &arguments->what};
    action.required = true;
    action.choices = {"compact", "copy", "events"};
    CommandOption from{"FROM", "", "With `copy`: the source: a store's file, or a URL that begins with postgresql://",
                       &arguments->from};
    CommandOption to{"TO", "", "With `copy`: the destination, which must hold no store yet", &arguments->to};
    return {"store",
            "Read, maintain or copy the store",
            {action, from, to, config_option(*arguments), store_option(*arguments)},
            "`events` prints JSON, one event a line, oldest first; the daemon may be running.\n"
            "`copy` compares source and destination row by row at the end. Stop the daemon before you copy a file; a\n"
            "database is copied as one snapshot. Its password comes from store.password_file or PGPASSFILE.\n"
            "`compact` needs the daemon stopped, and disk space for a second copy. Muster reuses free space inside the "
            "file\n"
            "even without it.\n",
            [arguments] {
                if (arguments->what == "copy") return run_copy(*arguments);
                return arguments->what == "events" ? run_events(*arguments) : run_compact(*arguments);
            }};
}

}  // namespace muster
