// The page of a recording in one file. Inert elements of the document hold what a server would send. fetch and Worker
// are replaced to read them, so boot.js and open.js run unchanged. No request ever goes to a network.
//
//   document ── recording ──► worker;  document ── fetch ──► boot.js ── enter() ──► the worker answers as a server would
//
// It opens the recording. Then it is the parent for boot.js, as the page around the frame of an opened file is.

import { make } from "./{{elements.js}}";
import { read } from "./{{recordings.js}}";

const FORMAT = "deflate-raw";

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
const inflated = (name) => {
  const stream = new Blob([decoded(held(name))]).stream();
  return stream.pipeThrough(new DecompressionStream(FORMAT));
};
const whole = (name) => new Response(inflated(name));

// The addresses of blobs share a beginning, so pictures lie beside the texts.
const address = (blob) => URL.createObjectURL(blob);
const findings = async () => {
  const { texts, pictures } = await whole("findings.json").json();
  for (const said of Object.values(texts)) {
    const picture = new Blob([pictures[said[0]]], { type: "image/svg+xml" });
    said[0] = address(picture).split("/").pop();
  }
  return Response.json(texts);
};

globalThis.fetch = async (asked) => {
  const name = String(asked).split("/").pop();
  if (name === "findings.json") return findings();
  return new Response(inflated(name), { headers: { "Content-Type": "application/wasm" } });
};

// The address of the texts; in other pages the loader of the second part sets it.
globalThis.watchscopeTexts = address(new Blob()).replace(/[^/]*$/, "findings.json");

const addStyles = async () => {
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(await whole("panels.css").text());
  document.adoptedStyleSheets = [sheet];
};

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
  await addStyles();
  const program = await whole("recording-worker.js").text();
  const module = await whole("recording_bg.wasm").arrayBuffer();
  hireWith(address(new Blob([program], { type: "text/javascript" })), module);
  const { title, view } = JSON.parse(held("opened"));
  if (view && !/[#&]v=/.test(location.hash)) history.replaceState(null, "", `#${view}`);
  const { worker, about, refused } = await read(new File([decoded(held("recording"))], title));
  if (refused) return fail(`${refused.what}.`, "The file was changed on its way here: get it once more.");
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
  fail(`The page did not start: ${error}.`, "A browser of the last two years is needed."));
