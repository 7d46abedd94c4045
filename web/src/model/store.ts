// One value that views watch.
export class Store<Value> {
    private readonly watchers = new Set<() => void>();

    constructor(private current: Value) {}

    get value(): Value {
        return this.current;
    }

    set(value: Value): void {
        if (Object.is(value, this.current)) return;
        this.current = value;
        for (const watcher of [...this.watchers]) watcher();
    }

    // Calls `watcher` after each change, until the returned function is called.
    watch(watcher: () => void): () => void {
        this.watchers.add(watcher);
        return () => this.watchers.delete(watcher);
    }
}
