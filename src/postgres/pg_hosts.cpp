#include "postgres/pg_hosts.h"

#include <charconv>
#include <cstring>
#include <memory>
#include <string_view>

#include "postgres/libpq.h"

namespace muster {
namespace {

std::vector<std::string> split(std::string_view list) {
    std::vector<std::string> parts;
    for (;;) {
        const std::size_t end = list.find(',');
        parts.emplace_back(list.substr(0, end));
        if (end == std::string_view::npos) return parts;
        list.remove_prefix(end + 1);
    }
}

bool is_port(const std::string& text) {
    unsigned port = 0;
    const auto read = std::from_chars(text.data(), text.data() + text.size(), port);
    return read.ec == std::errc() && read.ptr == text.data() + text.size() && port >= 1 && port <= 65'535;
}

}  // namespace

Result<std::vector<PgHost>, std::string> pg_hosts_of(const std::string& url) {
    if (!url.starts_with("postgresql://") && !url.starts_with("postgres://"))
        return Failure<std::string>("give a URL that begins with postgresql://");
    char* error = nullptr;
    const std::unique_ptr<PQconninfoOption, decltype(&::PQconninfoFree)> options(
        libpq().PQconninfoParse(url.c_str(), &error), libpq().PQconninfoFree);
    const std::unique_ptr<char, decltype(&::PQfreemem)> message(error, libpq().PQfreemem);
    if (!options) {
        std::string why = error ? error : "it cannot be read";
        while (!why.empty() && why.back() == '\n') why.pop_back();
        return Failure<std::string>(std::move(why));
    }
    std::string hosts;
    std::string ports;
    for (const PQconninfoOption* option = options.get(); option->keyword; ++option) {
        const std::string_view name = option->keyword;
        const std::string value = option->val ? option->val : "";
        if (name == "password" && !value.empty())
            return Failure<std::string>(
                "a password does not belong into the URL; put it into a file that store.password_file or PGPASSFILE "
                "names");
        if (name == "host") hosts = value;
        if (name == "port") ports = value;
    }
    const std::vector<std::string> host = split(hosts);
    const std::vector<std::string> port = split(ports);
    for (const std::string& each : port)
        if (!each.empty() && !is_port(each)) return Failure<std::string>("'" + each + "' is no port");
    std::vector<PgHost> all;
    all.reserve(host.size());
    for (std::size_t i = 0; i < host.size(); ++i)
        all.push_back({host[i], port.size() == host.size() ? port[i] : port.front()});
    return all;
}

}  // namespace muster
