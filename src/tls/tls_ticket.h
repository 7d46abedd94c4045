// The ticket that a server's link gives its peer, to come back with: what is in it, and how OpenSSL takes it.
//
// OpenSSL's own tickets hold the peer's certificate, and OpenSSL 3.0 decodes its key whenever it writes or reads one,
// which costs more than the handshake that is saved. So OpenSSL derives the ticket's secret and says its nonce, and
// the ticket is made here, with what the certificate said in place of the certificate. It has the form of OpenSSL's
// own, which unseals it.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tls/certificate.h"
#include "tls/openssl_handle.h"
#include "tls/ticket_keys.h"
#include "tls/tls_records.h"

namespace muster {

// Who the peer is, and who says so. Of the certificate: name, unit, serial and its last second.
struct TicketProof {
    std::string authorities;  // that the peer was judged by, as TlsMaterial tells them apart; empty: it was not
    std::optional<CertificateFacts> peer;
};

// What OpenSSL tells of the ticket it is about to send.
struct TicketStart {
    TrafficSecret secret;
    std::vector<std::byte> head;  // of the message: lifetime, age_add and nonce; empty: it sends none
};

// Links of this context take and give tickets. `app_data` of the context is a TlsServerContext that has keys.
void use_tickets(SSL_CTX& context);
// Fills in `start` while `link` shakes hands; it outlives the link.
void hear_ticket(SSL& link, TicketStart& start);
// The message NewSessionTicket in place of OpenSSL's, once the handshake is over. Empty when there is no memory.
std::vector<std::byte> ticket_message(const SSL& link, const TicketStart& start, const TicketKey& key,
                                      const TicketProof& proof);
// Of the ticket that `session` was read from.
TicketProof proof_of(const SSL_SESSION& session);

}  // namespace muster
