// Starts the page; a file of its own because the content security policy allows no inline script.
import init from "./{{frontend.js}}";

// The first question is under way while the module compiles; the page takes the answer from here, once.
globalThis.watchscopeSession = fetch("session").catch(() => null);

try {
  await init({ module_or_path: new URL("./{{frontend_bg.wasm}}", import.meta.url) });
} catch (error) {
  const words = document.createElement("p");
  words.className = "plain";
  words.setAttribute("role", "alert");
  words.textContent = `The page did not start: ${error}. Reload; a browser of the last two years is needed.`;
  document.body.replaceChildren(words);
  throw error;
}
