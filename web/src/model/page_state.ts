// Everything that lives as long as the page: built once, in order, and handed down.

import { Api } from "../api/api";
import { EventStream, type StreamState } from "../api/event_stream";
import type { EventPage } from "../api/shapes";
import { TokenGate } from "../api/token_gate";
import { Actions } from "./actions";
import { Confirmation } from "./confirmation";
import { EventFeed, NOTABLE_MAX } from "./event_feed";
import { isNotable, NOTABLE_TYPES } from "./event_text";
import { Identity } from "./identity";
import { Notices } from "./notices";
import { OverviewWatch } from "./overview_watch";
import { RouteWatch } from "./route_watch";
import { Store } from "./store";
import { ThemeSwitch } from "./theme";

export interface PageState {
    api: Api;
    gate: TokenGate;
    identity: Identity;
    watch: OverviewWatch;
    feed: EventFeed;
    notable: EventFeed;
    streamState: Store<StreamState>;
    notices: Notices;
    actions: Actions;
    confirmation: Confirmation;
    theme: ThemeSwitch;
    route: RouteWatch;
    // Asks again whatever waits for the admin token.
    signIn(): void;
}

const HISTORY_AT_START = 100;
// As many as one answer may have: an outage of a thousand servers is one line, with its true number.
const NOTABLE_AT_START = 1000;

export function buildPageState(): PageState {
    const gate = new TokenGate();
    const api = new Api(gate);
    const notices = new Notices();
    const watch = new OverviewWatch(api);
    const feed = new EventFeed();
    const notable = new EventFeed(NOTABLE_MAX);
    const streamState = new Store<StreamState>("connecting");
    const stream = new EventStream(api, {
        events: (batch) => {
            feed.add(batch);
            notable.add(batch.filter(isNotable));
        },
        state: (state) => streamState.set(state),
        // Asked for once the stream is there: what happens meanwhile is told by one of the two.
        begun: () => {
            void recentEvents(api, feed, HISTORY_AT_START, "");
            void recentEvents(api, notable, NOTABLE_AT_START, `&type=${NOTABLE_TYPES.join()}`);
        },
    });

    // A link that broke without a word is found by the overview's questions first.
    let before = watch.link.value.state;
    watch.link.watch(() => {
        const now = watch.link.value.state;
        if (now === "live" && before !== "live") stream.reconnect();
        before = now;
    });

    void watch.run();
    void stream.run();

    return {
        api,
        gate,
        identity: new Identity(api, gate),
        watch,
        feed,
        notable,
        streamState,
        notices,
        actions: new Actions(api, notices),
        confirmation: new Confirmation(),
        theme: new ThemeSwitch(localStorage, document.documentElement),
        route: new RouteWatch(window),
        signIn: () => {
            watch.retry();
            stream.retry();
        },
    };
}

// What happened before the page was opened. The feed does without it when it cannot be had.
async function recentEvents(api: Api, feed: EventFeed, limit: number, filter: string): Promise<void> {
    try {
        const page = await api.get<EventPage>(`events?limit=${limit}${filter}`);
        feed.addPast(page.events);
    } catch {
        // The banner already says why.
    }
}
