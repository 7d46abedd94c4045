// `muster operator add NAME --role ROLE`, `muster operator remove NAME` and `muster operators`: who may use the API.
#include <memory>
#include <optional>
#include <string>

#include <fmt/format.h>

#include "base/json_fields.h"
#include "cli/commands.h"
#include "cli/figures.h"
#include "cli/listing.h"
#include "cli/standard_output.h"
#include "cli/terminal.h"
#include "process/exit_code.h"

namespace muster {
namespace {

struct OperatorArguments {
    std::string action;
    std::string name;
    std::optional<std::string> role;
    bool json = false;
};

[[noreturn]] void wrong_operator_usage(const std::string& what) {
    throw CommandFailure(to_int(ExitCode::usage), what + "; `muster operator --help` says more");
}

int add(const OperatorArguments& arguments) {
    if (!arguments.role) wrong_operator_usage("operator add wants --role");
    ApiClient api = ApiClient::from_environment();
    JsonFields body;
    body.text("name", arguments.name);
    body.text("role", *arguments.role);
    const JsonValue done = api.post("/operators", body.finish());
    if (arguments.json) return print_json(done.to_json());
    return to_int(print_result(
        fmt::format("{} is {} now. The token is shown this once and kept nowhere:\n\n"
                    "MUSTER_ADMIN_TOKEN={}\n",
                    safe_text(done["name"].text()), safe_text(done["role"].text()), safe_text(done["token"].text()))));
}

int remove(const OperatorArguments& arguments) try {
    if (arguments.role) wrong_operator_usage("operator remove takes no --role");
    ApiClient api = ApiClient::from_environment();
    JsonFields body;
    body.text("name", arguments.name);
    const JsonValue done = api.post("/operators/remove", body.finish());
    if (arguments.json) return print_json(done.to_json());
    return to_int(print_result(
        fmt::format("{} was removed; its token opens nothing any more\n", safe_text(done["name"].text()))));
} catch (const NotThere&) {
    throw CommandFailure(
        exit_failed, fmt::format("no operator is called {}; `muster operators` lists them", safe_text(arguments.name)));
}

int show_operators(bool json) {
    ApiClient api = ApiClient::from_environment();
    const Listing listing = list(api, {"operators", {}, 0});
    if (json) return print_json(listing.to_json("operators"));
    TextTable table({{"NAME"}, {"ROLE"}, {"SINCE"}, {"ADDED BY"}});
    for (const JsonValue& known : listing.rows) {
        table.add({{safe_text(known["name"].text())},
                   {safe_text(known["role"].text())},
                   {moment_text(known["added_at_ms"].integer())},
                   {safe_text(known["added_by"].text())}});
    }
    return print_list(table, listing, "no operators yet; add one with `muster operator add NAME --role ROLE`");
}

}  // namespace

Command operator_command() {
    const auto arguments = std::make_shared<OperatorArguments>();
    CommandOption action{"ACTION", "", "What to do", &arguments->action, true};
    action.choices = {"add", "remove"};
    CommandOption role{"--role", "ROLE", "What a new operator may do", &arguments->role};
    role.choices = {"viewer", "matchmaker", "operator", "admin"};
    return {
        "operator",
        "Add or remove an operator of the API",
        {action, {"NAME", "", "The operator's name", &arguments->name, true}, role, json_option(arguments->json)},
        "  muster operator add alice --role operator  prints her token, once\n"
        "  muster operator remove alice               revokes her token\n"
        "Roles: a viewer reads; a matchmaker requests matches; an operator drains, aborts, kicks and blocks; an admin\n"
        "also manages operators. This command needs an admin's token.\n",
        [arguments] { return arguments->action == "add" ? add(*arguments) : remove(*arguments); }};
}

Command operators_command() {
    const auto json = std::make_shared<bool>(false);
    return {"operators", "List the operators of the API", {json_option(*json)}, {}, [json] {
                return show_operators(*json);
            }};
}

}  // namespace muster
