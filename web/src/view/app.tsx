// The frame around every view: header, navigation, banners, the view itself, messages and dialogs.

import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import type { Health } from "../api/shapes";
import { foreign } from "../model/format";
import { identityText, maySignIn } from "../model/identity";
import { routeTo, VIEWS, type View } from "../model/route";
import { AccessView } from "./access_view";
import { Announcer } from "./announcer";
import { ClusterView } from "./cluster_view";
import { ConfirmDialog } from "./confirm_dialog";
import { ErrorBoundary } from "./error_boundary";
import { EventsView } from "./events_view";
import { HostsView } from "./hosts_view";
import { LinkBanner } from "./link_banner";
import { MatchView } from "./match_view";
import { MatchesView } from "./matches_view";
import { MatchmakersView } from "./matchmakers_view";
import { NoticeList } from "./notice_list";
import { OverviewView } from "./overview_view";
import { usePage, useStore } from "./page_context";
import { PlayersView } from "./players_view";
import { ServerView } from "./server_view";
import { ServersView } from "./servers_view";
import { HEALTH_WORDS, StatusMark } from "./status_mark";
import { ThemeChoice } from "./theme_choice";
import { TokenDialog } from "./token_dialog";

const TITLES: Record<View, string> = {
    overview: "Overview",
    servers: "Servers",
    matches: "Matches",
    players: "Players",
    hosts: "Hosts",
    matchmakers: "Matchmakers",
    events: "Events",
    cluster: "Cluster",
    access: "Access",
};

export function App() {
    const { route, watch } = usePage();
    const { view, server, lobby } = useStore(route.route);
    const link = useStore(watch.link);
    const reading = useStore(watch.reading);
    const health = link.state === "live" ? reading?.overview.health.status : undefined;
    const title = server !== null ? `Server ${server}` : lobby !== null ? `Match of lobby ${lobby}` : TITLES[view];

    useEffect(() => {
        document.title = `${health === "warn" || health === "bad" ? `${HEALTH_WORDS[health]} · ` : ""}${title} · Muster`;
    }, [health, title]);

    return (
        <>
            <SkipLink />
            <header class="top">
                <span class="name">Muster</span>
                <Health health={health} />
                <nav aria-label="Views">
                    <ul>
                        {VIEWS.map((each) => (
                            <li key={each} class={each === "matchmakers" || each === "hosts" || each === "cluster" || each === "access" ? "wide-nav" : undefined}>
                                <a href={routeTo(each)} aria-current={each === view ? "page" : undefined}>
                                    {TITLES[each]}
                                </a>
                            </li>
                        ))}
                    </ul>
                </nav>
                <div class="tools">
                    <WhoIAm />
                    <ThemeChoice />
                </div>
            </header>
            <LinkBanner />
            <Main title={title} stale={link.state === "lost"}>
                <ErrorBoundary key={`${view} ${server ?? lobby}`}>{viewOf(view, server, lobby)}</ErrorBoundary>
            </Main>
            <footer>
                {reading !== null && (
                    <>
                        Muster {reading.overview.version} · <a href="openapi.json">API</a> · <a href="metrics">Metrics</a>
                    </>
                )}
            </footer>
            <NoticeList />
            <TokenDialog />
            <ConfirmDialog />
            <Announcer />
        </>
    );
}

function viewOf(view: View, server: number | null, lobby: number | null) {
    switch (view) {
        case "overview":
            return <OverviewView />;
        case "servers":
            return server === null ? <ServersView /> : <ServerView id={server} />;
        case "matches":
            return lobby === null ? <MatchesView /> : <MatchView key={lobby} lobby={lobby} />;
        case "players":
            return <PlayersView />;
        case "hosts":
            return <HostsView />;
        case "matchmakers":
            return <MatchmakersView />;
        case "events":
            return <EventsView />;
        case "cluster":
            return <ClusterView />;
        case "access":
            return <AccessView />;
    }
}

// Who the operator is, and a way to say so or to take it back.
function WhoIAm() {
    const { gate, identity } = usePage();
    const me = useStore(identity.me);
    const signedIn = useStore(gate.held);
    return (
        <>
            {me !== null && me.name !== null && (
                <span class="who">
                    <span class="unseen">Signed in as </span>
                    {foreign(identityText(me))}
                </span>
            )}
            {maySignIn(me) && !signedIn && (
                <button type="button" class="quiet" onClick={() => void gate.ask(false)}>
                    Sign in
                </button>
            )}
            {signedIn && (
                <button type="button" class="quiet" onClick={() => gate.forget()}>
                    Forget token
                </button>
            )}
        </>
    );
}

function Health({ health }: { health: Health | undefined }) {
    return (
        <a class="health-chip" href={routeTo("overview")}>
            <StatusMark tone={health ?? "unknown"} />
            <span class="unseen">Health: </span>
            {health === undefined ? "Unknown" : HEALTH_WORDS[health]}
        </a>
    );
}

// A hash is already the route, so the link moves the focus itself.
function SkipLink() {
    const skip = (event: Event) => {
        event.preventDefault();
        document.getElementById("view-title")?.focus();
    };
    return (
        <a class="skip" href="#view-title" onClick={skip}>
            Skip to the content
        </a>
    );
}

// Whoever comes by keyboard or ear lands at the new view's title, but the focus is not taken when the page opens.
function Main({ title, stale, children }: { title: string; stale: boolean; children: preact.ComponentChildren }) {
    const heading = useRef<HTMLHeadingElement>(null);
    const shown = useRef(title);
    // Together with the title: who reads it can rely on the focus.
    useLayoutEffect(() => {
        if (shown.current === title) return;
        shown.current = title;
        heading.current?.focus();
    }, [title]);
    return (
        <main class={stale ? "stale" : undefined}>
            <h1 id="view-title" tabIndex={-1} ref={heading}>
                {title}
            </h1>
            {children}
        </main>
    );
}
