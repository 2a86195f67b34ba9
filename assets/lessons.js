// Lessons: their cluster runs in a worker, which is the page's server here. This script starts the worker and passes
// messages on; the page has the panels. It is loaded only for a lesson, or if there is no server.
import { make } from "./{{elements.js}}";

const bridge = globalThis.watchscopeBridge;
// Codes of events, as bridge.rs has them.
const OPENED = 2, MESSAGE = 3;
// Codes of the messages to the page, as panels/lesson/talk.rs has them.
const TEXT = 0, NOW = 1, FED = 2, FAILED = 3, PAUSE = 4, STATE = 5;

const worker = new Worker(new URL("./{{lesson-worker.js}}", import.meta.url), { type: "module" });
const ask = (what, with_) => worker.postMessage({ do: what, ...with_ });

// The number of the page's present reader; messages for an earlier one are dropped.
let reader = 0;
// The page's function, and what it missed before it came: at most one message of each kind.
let page, digested;
const missed = new Map();
const tell = (code, data) => (page ? page(code, data) : missed.set(code, data));

worker.onmessage = ({ data }) => {
  if (data.bytes) {
    if (data.reader === reader) bridge.tell(MESSAGE, data.bytes);
  } else if (data.text) tell(TEXT, data.text);
  else if (data.now) tell(NOW, data.now);
  else if (data.fed === reader) tell(FED);
  else if (data.digest !== undefined) digested?.(data.digest);
  else if (data.failed) {
    tell(FAILED, `The lesson has stopped: ${data.failed}. Reload the page.`);
    console.error(data.failed);
  }
};
worker.onerror = () => tell(FAILED, "The lesson could not be loaded. Reload the page.");

globalThis.watchscopeLesson = {
  // Whether a watchscope answers here, to which the person can go back.
  hasServer: false,
  // The page offers its function.
  ready(call) {
    page = call;
    for (const [code, data] of missed) page(code, data);
    missed.clear();
  },
  // An encoded command of the person. It lies in the page's memory, so a copy is sent.
  say: (bytes) => ask("say", { bytes: bytes.slice() }),
  // Makes the address name a moment of the lesson. A browser that limits such changes keeps showing an older one.
  place(fragment) {
    try {
      if (!history.state?.opened) history.replaceState(null, "", `#${fragment}`);
    } catch {}
  },
  // Another lesson is another world, so it begins with a fresh page. Without a name, the live view does.
  go(name) {
    history.replaceState(null, "", name ? `#lesson=${name}` : location.pathname + location.search);
    location.reload();
  },
  // What would cost the page's first part an import each: the tab's title, the end of a list, a copy of the picture.
  title: (words) => (document.title = `${words} – watchscope`),
  toEnd: (list) => (list.scrollTop = list.scrollHeight),
  copy(part) {
    const canvas = document.getElementById("chart"), copy = document.querySelector(`canvas[data-part="act-${part}"]`);
    if (!copy) return;
    [copy.width, copy.height] = [canvas.width, canvas.height];
    copy.getContext("2d").drawImage(canvas, 0, 0);
  },
  // A file is opened over the lesson.
  pause: () => tell(PAUSE),
  // For tests, and for people with a console.
  state: () => JSON.parse(page?.(STATE) ?? "{}"),
  digest: (name, seed, server = "", client = "") =>
    new Promise((resolve) => {
      digested = resolve;
      ask("digest", { name, seed, server, client });
    }),
};

// Enters the lesson that the address names, or offers all. Returns the answer that a server would give about the
// session.
export const enter = async (answer) => {
  globalThis.watchscopeLesson.hasServer = answer?.product === "watchscope";
  ask("start", { fragment: location.hash });
  Object.assign(bridge, {
    open() {
      reader += 1;
      ask("read", { number: reader });
      queueMicrotask(() => bridge.tell(OPENED));
    },
    // The bytes lie in the page's memory, so a copy is sent.
    send: (bytes) => ask("message", { number: reader, bytes: bytes.slice() }),
    close() {
      reader += 1;
    },
  });
  document.head.append(make("link", { rel: "stylesheet", href: new URL("./{{lessons.css}}", import.meta.url).href }));
  document.documentElement.classList.add("lesson");
  // A lesson pauses while its tab is hidden.
  document.addEventListener("visibilitychange", () => document.hidden && tell(PAUSE));
  return { product: "watchscope", protocol: 2, instance: "lessons", session: true };
};
