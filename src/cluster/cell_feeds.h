// The live feeds of several cells as one: what an owner that is lost has not told, the next one tells.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "cluster/cell_events.h"
#include "cluster/relayed_feed.h"
#include "http/http_message.h"
#include "relay/cell_routes.h"

namespace muster {

// HTTP thread only, but for answers. The clock outlives it.
class CellFeeds final : public HttpStream {
public:
    // Asks the owner of a cell; the answer comes once, on any thread, with nothing when there is none.
    using Ask = std::function<void(const HttpRequest&, RelayedFeed::OnAnswer, CellNumber)>;

    // A cell whose feed ended or could not be had is asked again this much later.
    static constexpr std::chrono::milliseconds ask_again_after{500};
    static constexpr std::chrono::seconds keep_alive_every{15};

    // Goes on from these places; of a cell whose place is not known, with what is new.
    CellFeeds(const Clock& clock, std::vector<std::string> names, HttpRequest request, EventPlaces from, Ask ask);

    // False once a cell refuses the reader.
    bool next(std::string& out) override;

private:
    // What came of a question to a cell.
    struct Arrived {
        std::mutex mutex;
        bool is_asked = false;  // guarded by mutex, as are the next two
        bool is_refused = false;
        std::shared_ptr<HttpStream> stream;
    };
    struct OfCell {
        std::shared_ptr<HttpStream> stream{};  // null: none is open
        Time ask_at{};
        std::shared_ptr<Arrived> arrived = std::make_shared<Arrived>();
    };

    void ask(std::size_t cell);
    bool take_arrived(std::size_t cell);
    void tell(std::size_t cell, std::string_view piece, std::string& out);

    const Clock& clock_;
    const std::vector<std::string> names_;
    const HttpRequest request_;
    const Ask ask_;
    EventPlaces places_;
    std::vector<OfCell> cells_;
    bool begun_ = false;
    Time said_{};
};

}  // namespace muster
