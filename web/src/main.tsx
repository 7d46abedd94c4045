import { render } from "preact";
import { buildPageState } from "./model/page_state";
import "./style/page.css";
import { App } from "./view/app";
import { PageContext } from "./view/page_context";

const root = document.getElementById("page");
if (root === null) throw new Error("index.html has no #page");
render(
    <PageContext.Provider value={buildPageState()}>
        <App />
    </PageContext.Provider>,
    root,
);
