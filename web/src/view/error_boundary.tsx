// A fault in one view is shown in its place, and leaves the rest of the page alone.

import { Component, type ComponentChildren } from "preact";

export class ErrorBoundary extends Component<{ children: ComponentChildren }, { fault: string | null }> {
    override state = { fault: null };

    static override getDerivedStateFromError(error: unknown) {
        return { fault: error instanceof Error ? error.message : String(error) };
    }

    override componentDidCatch(error: unknown) {
        console.error(error);
    }

    override render() {
        if (this.state.fault === null) return this.props.children;
        return (
            <section class="panel" role="alert">
                <h2>This part of the page failed</h2>
                <p>{this.state.fault}</p>
                <button type="button" onClick={() => this.setState({ fault: null })}>
                    Show it again
                </button>
            </section>
        );
    }
}
