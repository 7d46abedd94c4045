// How views reach the page's state, and follow its values.

import { createContext } from "preact";
import { useContext, useEffect, useState } from "preact/hooks";
import type { RegionView } from "../api/shapes";
import { mayOperate } from "../model/identity";
import type { PageState } from "../model/page_state";
import type { Store } from "../model/store";

export const PageContext = createContext<PageState | null>(null);

export function usePage(): PageState {
    const page = useContext(PageContext);
    if (page === null) throw new Error("A view stands outside the page");
    return page;
}

export function useStore<Value>(store: Store<Value>): Value {
    const [, redraw] = useState(0);
    useEffect(() => store.watch(() => redraw((count) => count + 1)), [store]);
    return store.value;
}

// Whether to show what an operator can do (S-5).
export function useMayOperate(): boolean {
    return mayOperate(useStore(usePage().identity.me));
}

const NO_REGIONS: readonly RegionView[] = [];

export function useRegions(): readonly RegionView[] {
    return useStore(usePage().watch.reading)?.overview.regions ?? NO_REGIONS;
}

// A region's name, or its number while the name is not known.
export function useRegionName(): (id: number) => string {
    const regions = useRegions();
    return (id) => regions.find((region) => region.id === id)?.name ?? `region ${id}`;
}
