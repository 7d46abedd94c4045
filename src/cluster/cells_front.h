// The HTTP API of a node with several cells: asks their owners, and makes one answer of theirs.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/time.h"
#include "cluster/cell_events.h"
#include "cluster/cell_questions.h"
#include "cluster/owner_line.h"
#include "http/http_message.h"
#include "http/http_server.h"
#include "http/page_query.h"
#include "relay/cell_routes.h"

namespace muster {

// HTTP thread only. What it is given outlives it.
class CellsFront {
public:
    // Which cells there are, and which of them has a region, by number or by name.
    struct Cells {
        std::vector<std::string> names{};
        std::function<CellNumber(const std::string&)> of_region{};
    };
    // Has one cell answer.
    using AskOne = std::function<void(HttpRequest&&, HttpResponder&&, CellNumber)>;

    // A cell that has not answered a list by then is missing in it.
    static constexpr std::chrono::seconds lists_wait_max{1};

    CellsFront(const Clock& clock, Cells cells, std::shared_ptr<OwnerLine> owners, std::shared_ptr<HttpThread> thread,
               AskOne ask_one)
        : clock_(clock),
          cells_(std::move(cells)),
          owners_(std::move(owners)),
          thread_(std::move(thread)),
          ask_one_(std::move(ask_one)) {}

    void answer(HttpRequest&& request, HttpResponder&& responder);
    // `request` is GET /readyz: whether the owners can serve.
    void readiness(const HttpRequest& request, HttpResponder&& responder);

private:
    // Answers of all cells on their way to one.
    struct Gathered {
        // Once all have answered, or have taken too long. Once.
        using Tell = std::function<HttpResponse(std::vector<CellAnswer>&&)>;

        Gathered(Tell what, HttpResponder&& to) : tell(std::move(what)), responder(std::move(to)) {}
        void end();

        const Tell tell;
        std::optional<HttpResponder> responder;  // until it was told
        std::vector<CellAnswer> answers{};
        std::size_t waits_for = 0;
    };

    void events(HttpRequest&& request, HttpResponder&& responder);
    HttpResponse begin_feed(const EventsAsked& asked, const HttpRequest& request, std::vector<CellAnswer>&& newest);
    // `question` is that of each cell; one that takes longer than `wait_max` is missing, if there is one.
    void gather(const std::function<HttpRequest(CellNumber)>& question, Gathered::Tell tell,
                std::optional<Duration> wait_max, HttpResponder&& responder);

    const Clock& clock_;
    const Cells cells_;
    const std::shared_ptr<OwnerLine> owners_;
    const std::shared_ptr<HttpThread> thread_;
    const AskOne ask_one_;
};

}  // namespace muster
