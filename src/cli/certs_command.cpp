// `muster certs`: a small certificate authority of one's own (S-3).
#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/json_fields.h"
#include "base/system_clock.h"
#include "certs/authority.h"
#include "cli/commands.h"
#include "cli/standard_output.h"
#include "cli/terminal.h"
#include "process/exit_code.h"
#include "tls/certificate.h"

namespace muster {
namespace {

constexpr std::int64_t day_seconds = 86'400;

struct CertsArguments {
    std::string action;
    std::vector<std::string> places;
    std::optional<std::string> role;
    ReachableNames names;
    std::optional<std::int64_t> days;
    bool json = false;
};

[[noreturn]] void wrong_usage(const std::string& why) {
    throw CommandFailure(to_int(ExitCode::usage), "certs " + why);
}

std::int64_t now_seconds() {
    return SystemClock().wall().value / 1'000;
}

std::string absolute(const std::string& path) {
    return std::filesystem::absolute(path).lexically_normal().string();
}

// "2027-01-31 08:00 UTC (in 364 days)"
std::string date_text(std::int64_t seconds, std::int64_t now) {
    const std::int64_t days = (seconds - now) / day_seconds;
    const std::string when = seconds < now ? fmt::format("{} days ago", -days) : fmt::format("in {} days", days);
    return fmt::format("{:%Y-%m-%d %H:%M} UTC ({})", fmt::gmtime(static_cast<std::time_t>(seconds)), when);
}

// What a script needs of a certificate: where it is, and what it says.
std::string facts_json(const CertificateFacts& facts, const std::string& certificate, const std::string& key = {}) {
    JsonFields out;
    out.text("certificate_file", absolute(certificate));
    if (!key.empty()) out.text("key_file", absolute(key));
    out.text("name", facts.name);
    out.text("role", facts.is_authority ? "authority" : facts.unit);
    out.text("issuer", facts.issuer);
    out.text("serial", facts.serial);
    out.integer("not_before", facts.not_before);
    out.integer("not_after", facts.not_after);
    for (const auto& [name, values] : {std::pair{"dns", &facts.dns_names}, std::pair{"ip", &facts.ip_numbers}}) {
        out.begin_list(name);
        for (const std::string& value : *values) out.text({}, value);
        out.end_list();
    }
    return out.finish() + "\n";
}

std::string made_text(const IssuedFiles& made) {
    return fmt::format("Made {} and {}\nvalid until {}, serial number {}\n", made.certificate, made.key,
                       date_text(made.facts.not_after, now_seconds()), made.facts.serial);
}

std::string init(const CertsArguments& arguments) {
    if (arguments.role || arguments.days) wrong_usage("init takes --ip and --dns only");
    const std::string& folder = arguments.places[0];
    Authority authority(folder, now_seconds());
    const IssuedFiles made = authority.init(arguments.names);
    if (arguments.json) return facts_json(made.facts, made.certificate, made.key);
    const auto quoted = [](const std::string& path) { return json_quoted(absolute(path)); };
    return fmt::format(
        "Made the authority {} and {}; keep the key off this machine when you do not issue\n{}\n"
        "For muster.toml:\n\n"
        "[tls]\n"
        "ports = [\"servers\", \"matchmakers\", \"players\", \"http\"]\n"
        "certificate_file = {}\n"
        "key_file = {}\n"
        "client_ca_file = {}\n",
        authority.file("ca", ".crt"), authority.file("ca", ".key"), made_text(made), quoted(made.certificate),
        quoted(made.key), quoted(authority.file("ca", ".crt")));
}

std::string issue(const CertsArguments& arguments) {
    if (!arguments.role) wrong_usage("issue wants --role");
    const auto role = parse_peer_role(*arguments.role);
    Authority authority(arguments.places[0], now_seconds());
    const IssuedFiles made =
        authority.issue(arguments.places[1], *role, arguments.names, arguments.days.value_or(Authority::days_usual));
    if (arguments.json) return facts_json(made.facts, made.certificate, made.key);
    return fmt::format(
        "{}\nFor its owner, with {}:\n\n"
        "MUSTER_CA_FILE={}\n"
        "MUSTER_CERTIFICATE_FILE={}\n"
        "MUSTER_KEY_FILE={}\n",
        made_text(made), authority.file("ca", ".crt"), absolute(authority.file("ca", ".crt")),
        absolute(made.certificate), absolute(made.key));
}

std::string renew(const CertsArguments& arguments) {
    Authority authority(arguments.places[0], now_seconds());
    const IssuedFiles made = authority.renew(arguments.places[1]);
    if (arguments.json) return facts_json(made.facts, made.certificate, made.key);
    return fmt::format(
        "Renewed {}; its key is as before\nvalid until {}, serial number {}\n"
        "The daemon takes it on SIGHUP (systemctl reload muster).\n",
        made.certificate, date_text(made.facts.not_after, now_seconds()), made.facts.serial);
}

std::string show(const CertsArguments& arguments) {
    const auto chain = read_certificates(arguments.places[0]);
    if (!chain) throw CommandFailure(to_int(ExitCode::io), chain.error());
    const CertificateFacts facts = facts_of(*chain->leaf);
    if (arguments.json) return facts_json(facts, arguments.places[0]);
    const std::int64_t now = now_seconds();
    std::vector<std::string> names = facts.dns_names;
    names.insert(names.end(), facts.ip_numbers.begin(), facts.ip_numbers.end());
    for (std::string& name : names) name = safe_text(name);
    std::string text;
    const auto line = [&text](const char* what, const std::string& value) {
        text += fmt::format("{:<12} {}\n", what, value.empty() ? "-" : value);
    };
    line("name", safe_text(facts.name));
    line("role", facts.is_authority ? "authority" : safe_text(facts.unit));
    line("issuer", safe_text(facts.issuer));
    line("serial", facts.serial);
    line("valid from", date_text(facts.not_before, now));
    line("valid until", date_text(facts.not_after, now));
    line("reached at", fmt::format("{}", fmt::join(names, ", ")));
    return text;
}

int run(const CertsArguments& arguments) {
    struct Action {
        std::string_view name;
        std::size_t places;
        const char* wants;
        std::string (*run)(const CertsArguments&);
    };
    static constexpr Action actions[] = {{"init", 1, "init wants a folder", init},
                                         {"issue", 2, "issue wants a folder and a name", issue},
                                         {"renew", 2, "renew wants a folder and a name", renew},
                                         {"show", 1, "show wants a file", show}};
    const auto* action = std::find_if(std::begin(actions), std::end(actions),
                                      [&](const Action& each) { return each.name == arguments.action; });
    if (arguments.places.size() != action->places) wrong_usage(action->wants);
    const bool named = !arguments.names.dns.empty() || !arguments.names.ip.empty();
    if (action->run != init && action->run != issue && (named || arguments.role || arguments.days))
        wrong_usage(arguments.action + " takes no flags");
    try {
        return to_int(print_result(action->run(arguments)));
    } catch (const BadAuthorityArgument& error) {
        wrong_usage(error.what());
    } catch (const AuthorityError& error) {
        throw CommandFailure(to_int(ExitCode::io), error.what());
    }
}

}  // namespace

Command certs_command() {
    const auto arguments = std::make_shared<CertsArguments>();
    CommandOption action{"ACTION", "", "What to do", &arguments->action, true};
    action.choices = {"init", "issue", "renew", "show"};
    CommandOption places{"WHERE", "", "DIR for init; DIR NAME for issue and renew; FILE for show", &arguments->places,
                         true};
    places.is_file = true;
    CommandOption role{"--role", "ROLE", "What the certificate is for; a node is a Muster daemon", &arguments->role};
    for (const PeerRole each : peer_roles) role.choices.emplace_back(to_string(each));
    return {"certs",
            "Make and show certificates for TLS",
            {action,
             places,
             role,
             {"--ip", "ADDRESS", "An address that the owner is reached at; may be repeated", &arguments->names.ip},
             {"--dns", "NAME", "A DNS name that the owner is reached at; may be repeated", &arguments->names.dns},
             {"--days", "N", "Days that it is valid (default 365)", &arguments->days},
             {"--json", "", "Print files and facts as one line of JSON", &arguments->json}},
            "  muster certs init pki --dns game.example   authority and daemon\n"
            "  muster certs issue pki eu-1 --role server  a game server\n"
            "  muster certs renew pki eu-1                new dates, same key\n"
            "  muster certs show pki/eu-1.crt\n"
            "Keys are P-256 with mode 0600. No file is overwritten, except a certificate when it is renewed.\n",
            [arguments] { return run(*arguments); }};
}

}  // namespace muster
