import { useState } from "preact/hooks";
import { usePage, useStore } from "./page_context";
import { useDialog } from "./use_dialog";

export function TokenDialog() {
    const { gate } = usePage();
    const question = useStore(gate.question);
    const [token, setToken] = useState("");
    const dialog = useDialog(question !== null);

    const enter = (event: Event) => {
        event.preventDefault();
        if (token.trim() === "") return;
        gate.enter(token.trim());
        setToken("");
    };
    const decline = () => {
        setToken("");
        gate.decline();
    };
    const cancelled = (event: Event) => {
        event.preventDefault();
        decline();
    };

    return (
        <dialog ref={dialog} aria-labelledby="token-title" onCancel={cancelled}>
            {question !== null && (
                <form onSubmit={enter}>
                    <h2 id="token-title">Your token</h2>
                    {question.wrong && (
                        <p class="wrong" role="alert">
                            That token was not accepted.
                        </p>
                    )}
                    <p>
                        Muster asks for it. It is the one that <code>muster operator add</code> printed for you, or the admin token of the
                        daemon's config. It stays in this page's memory: a reload forgets it.
                    </p>
                    <label>
                        Token
                        <input
                            type="password"
                            autoComplete="off"
                            spellcheck={false}
                            value={token}
                            onInput={(event) => setToken(event.currentTarget.value)}
                        />
                    </label>
                    <div class="buttons">
                        <button type="button" onClick={decline}>
                            Not now
                        </button>
                        <button type="submit" class="main">
                            Enter
                        </button>
                    </div>
                </form>
            )}
        </dialog>
    );
}
