// A wait that can be cut short.

export class Pause {
    private end: (() => void) | null = null;

    // Waits for so long, or with null until wake().
    wait(ms: number | null): Promise<void> {
        return new Promise((resolve) => {
            const timer = ms === null ? undefined : setTimeout(() => this.wake(), ms);
            this.end = () => {
                clearTimeout(timer);
                this.end = null;
                resolve();
            };
        });
    }

    // Ends the wait; does nothing when there is none.
    wake(): void {
        this.end?.();
    }
}
