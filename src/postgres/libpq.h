// PostgreSQL's client library, loaded when the first URL is read. Who uses the embedded store neither needs nor loads
// it: it would bring some thirty libraries into every start.
#pragma once

#include <libpq-fe.h>

namespace muster {

#define MUSTER_LIBPQ_CALLS(CALL) \
    CALL(PQbackendPID)           \
    CALL(PQclear)                \
    CALL(PQcmdTuples)            \
    CALL(PQconnectPoll)          \
    CALL(PQconnectStartParams)   \
    CALL(PQconninfoFree)         \
    CALL(PQconninfoParse)        \
    CALL(PQconsumeInput)         \
    CALL(PQenterPipelineMode)    \
    CALL(PQerrorMessage)         \
    CALL(PQexitPipelineMode)     \
    CALL(PQfinish)               \
    CALL(PQflush)                \
    CALL(PQfreemem)              \
    CALL(PQgetCopyData)          \
    CALL(PQgetResult)            \
    CALL(PQgetisnull)            \
    CALL(PQgetlength)            \
    CALL(PQgetvalue)             \
    CALL(PQisBusy)               \
    CALL(PQntuples)              \
    CALL(PQpipelineSync)         \
    CALL(PQresultErrorField)     \
    CALL(PQresultErrorMessage)   \
    CALL(PQresultStatus)         \
    CALL(PQsendPrepare)          \
    CALL(PQsendQuery)            \
    CALL(PQsendQueryParams)      \
    CALL(PQsendQueryPrepared)    \
    CALL(PQserverVersion)        \
    CALL(PQsetNoticeReceiver)    \
    CALL(PQsetnonblocking)       \
    CALL(PQsocket)               \
    CALL(PQstatus)

// The calls that we use, under their own names; a name that is declared stands in no parentheses.
// NOLINTBEGIN(readability-identifier-naming,bugprone-macro-parentheses)
struct Libpq {
#define MUSTER_LIBPQ_MEMBER(name) decltype(&::name) name = nullptr;
    MUSTER_LIBPQ_CALLS(MUSTER_LIBPQ_MEMBER)
#undef MUSTER_LIBPQ_MEMBER
};
// NOLINTEND(readability-identifier-naming,bugprone-macro-parentheses)

// Any thread. Throws StoreError 78 when the library is not installed, or older than 14.
const Libpq& libpq();

}  // namespace muster
