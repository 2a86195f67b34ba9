// Starts the page; a file of its own because the content security policy allows no inline script.
import init from "./{{frontend.js}}";

await init({ module_or_path: new URL("./{{frontend_bg.wasm}}", import.meta.url) });
