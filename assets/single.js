// The page of a recording in one file. Inert elements of the document hold what a server would send. fetch and Worker
// are replaced to read them, so boot.js and open.js run unchanged. No request ever goes to a network.
//
//   document ── recording ──► worker;  document ── fetch ──► boot.js ── enter() ──► the worker answers as a server would
//
// It opens the recording. Then it is the parent for boot.js, as the page around the frame of an opened file is.

import init, { unpacked } from "./{{unpacker.js}}";
import { make } from "./{{elements.js}}";
import { read } from "./{{recordings.js}}";
import { FORMAT, streamed } from "./{{streams.js}}";

const held = (name) => document.getElementById(name)?.textContent;
// A character is seven bits. shared/export/src/seven_bits.rs writes them; there the three values that a document would
// change or read as markup are moved to this code and above.
const MOVED_FROM = 192;
const decoded = (text) => {
  const bytes = new Uint8Array(Math.floor(text.length * 7 / 8));
  let bits = 0, count = 0, to = 0;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    bits = (bits << 7 | (code < 128 ? code : code - MOVED_FROM)) & 65535;
    count += 7;
    if (count >= 8) bytes[to++] = bits >> (count -= 8);
  }
  return bytes;
};
const inflated = (bytes) => new Response(streamed(bytes, new DecompressionStream(FORMAT))).arrayBuffer();

// The parts of the page by name: modules, the worker's program, styles and findings. single.rs writes them: a line of
// JSON with their names and lengths, then their bytes.
const parts = new Map();
// Returns whether they are whole.
const unpack = async () => {
  await init({ module_or_path: await inflated(decoded(held("unpacker"))) });
  const all = unpacked(decoded(held("parts")));
  if (!all) return false;
  const line = all.indexOf(10);
  let at = line + 1;
  for (const [name, length] of JSON.parse(text(all.subarray(0, line)))) parts.set(name, all.slice(at, at += length));
  return true;
};
const text = (bytes) => new TextDecoder().decode(bytes);
// Returns a module, which is read once.
const taken = (name) => {
  const module = parts.get(name);
  parts.delete(name);
  return module;
};

// The addresses of blobs share a beginning, so pictures lie beside the texts.
const address = (blob) => URL.createObjectURL(blob);
const findings = () => {
  const { texts, pictures } = JSON.parse(text(parts.get("findings.json")));
  for (const said of Object.values(texts)) {
    const picture = new Blob([pictures[said[0]]], { type: "image/svg+xml" });
    said[0] = address(picture).split("/").pop();
  }
  return Response.json(texts);
};

globalThis.fetch = async (asked) => {
  const name = String(asked).split("/").pop();
  if (name === "findings.json") return findings();
  return new Response(taken(name), { headers: { "Content-Type": "application/wasm" } });
};

// The address of the texts; in other pages the loader of the second part sets it.
globalThis.watchscopeTexts = address(new Blob()).replace(/[^/]*$/, "findings.json");

const addStyles = () => {
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(text(parts.get("panels.css")));
  document.adoptedStyleSheets = [sheet];
};

const CHANGED = "The file was changed on its way here: get it once more.";
// Replaces the page by an error and its advice.
const fail = (what, advice) => {
  document.body.replaceChildren(make("p", { class: "plain", role: "alert" }, `${what} ${advice}`));
};

// The page starts one worker, that of a recording; its first message is its module.
const hireWith = (program, module) => {
  const { Worker } = globalThis;
  globalThis.Worker = function hire() {
    // Not as a module: Chromium does not run one if the document is a file.
    const worker = new Worker(program);
    worker.postMessage(module);
    return worker;
  };
};

// Replaces the window around the page.
const parent = {};
const opened = async () => {
  if (!held("opened").startsWith('{"')) return fail("This page holds no recording.", "watchscope export a.wscope -o a.html makes one that does.");
  if (!await unpack()) return fail("This page is not whole.", CHANGED);
  addStyles();
  const program = new Blob([parts.get("recording-worker.js")], { type: "text/javascript" });
  hireWith(address(program), taken("recording_bg.wasm"));
  const { title, view } = JSON.parse(held("opened"));
  if (view && !/[#&]v=/.test(location.hash)) history.replaceState(null, "", `#${view}`);
  const { worker, about, refused } = await read(new File([decoded(held("recording"))], title));
  if (refused) return fail(`${refused.what}.`, CHANGED);
  // Here no other file can be opened, and there is no page to return to.
  const none = () => {};
  parent.watchscopeOpening = {
    worker, about, isLive: false, isLesson: false, open: none, close: none, counts: none,
    // The address bar is this page's own.
    get place() { return globalThis.watchscopeBridge.place; },
  };
  return true;
};
// The browser itself opens a dropped file.
for (const name of ["dragenter", "dragover", "drop"]) {
  addEventListener(name, (event) => event.stopImmediatePropagation(), { capture: true });
}

// boot.js comes next, if there is something to show.
const isOpened = await opened().catch((error) =>
  fail(`The page did not start: ${error}.`, "Get the file once more, or open it in a browser of the last two years."));
