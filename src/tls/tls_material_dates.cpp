// What the dates of a port's files mean for its operator: for the daemon alone, the SDK does without.
#include "tls/certificate_dates.h"
#include "tls/tls_context.h"

namespace muster {
namespace {

constexpr const char* authorities_key = "tls.client_ca_file";

}  // namespace

std::string TlsMaterial::warning_of_dates(std::int64_t now) const {
    std::string warning = muster::warning_of_dates(certificate_key(), facts_, now);
    if (warning.empty() && wants_peers()) warning = warning_of_authority_dates(authorities_key, authority_facts_, now);
    return warning;
}

std::string TlsMaterial::problem_in_place_of(const TlsMaterial* used, std::int64_t now) const {
    std::string problem;
    if (!used || used->certificate_key() != certificate_key() || used->certificate_change_to(*this))
        problem = problem_of_dates(certificate_key(), facts_, now);
    if (problem.empty() && wants_peers() && !(used && used->authorities_print_ == authorities_print_))
        problem = problem_of_dates(authorities_key, authority_facts_, now);
    return problem;
}

}  // namespace muster
