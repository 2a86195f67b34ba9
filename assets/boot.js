// Starts the page, and is its bridge to the server. Begins the page's first requests while its module compiles:
// session, link, socket. The document contains this script, so it runs without a fetch; the content security policy
// allows it by its hash.

// Codes of events, as bridge.rs has them.
const SESSION = 0, EXCHANGED = 1, OPENED = 2, MESSAGE = 3, CLOSED = 4, TIMER = 5, LINK = 6;
// The hello of a page that holds nothing, with the version of the protocol in it; a test compares both.
const PROTOCOL = 2;
const HELLO = [0, 4, PROTOCOL, 0, 0, 0];
// The most bytes that wait for the module; above it the socket closes. The server sends at most 1 MiB unacknowledged.
const MOST_WAITING_BYTES = 2 << 20;

let tell, socket, timer;
// Whether watchscope answers here. Until then the link's secret is not read, and no socket is opened.
let isOurs = false;
// Requests that were begun before the page made them; each is used once.
const ahead = {};
const take = (name) => {
  const taken = ahead[name];
  delete ahead[name];
  return taken;
};

// The answer to GET session, if the document brought it: in the only header of a document that scripts can read.
const sessionBrought = () => {
  const [page] = performance.getEntriesByType("navigation");
  const brought = page?.serverTiming?.find(({ name }) => name === "session");
  return brought && JSON.parse(brought.description);
};
// Undefined if there is no answer.
const askSession = () => fetch("session").then((answer) => (answer.ok ? answer.json() : undefined)).catch(() => {});
const exchange = (secret) =>
  fetch("session", { method: "POST", headers: { Authorization: `Bearer ${secret}` } })
    .then((answer) => answer.status)
    .catch(() => {});

// Returns the secret of the link (`t=…` in the fragment) and removes it from the address bar and the history at once.
const takeLink = () => {
  const parts = location.hash.slice(1).split("&");
  const secret = parts.map((part) => /^t=([\w-]{1,256})$/.exec(part)?.[1]).filter(Boolean).pop();
  if (secret) {
    const rest = parts.filter((part) => !part.startsWith("t=")).join("&");
    history.replaceState(null, "", rest ? `#${rest}` : location.pathname);
  }
  return secret;
};

// Opens the socket; `heard` gets its events while it is the present one. Its address is relative, since the page may be
// served below any path.
const connect = (heard) => {
  const made = new WebSocket("ws");
  const hear = (event, data) => made === socket && heard(event, data);
  made.binaryType = "arraybuffer";
  made.onopen = () => hear(OPENED);
  made.onclose = () => hear(CLOSED);
  made.onmessage = ({ data }) => hear(MESSAGE, new Uint8Array(data));
  socket = made;
};

const connectAhead = () => {
  const waiting = [];
  let waitingBytes = 0;
  let page;
  connect((event, data) => {
    if (event === OPENED) socket.send(new Uint8Array(HELLO));
    if (page) return page(event, data);
    waiting.push([event, data]);
    waitingBytes += data?.length ?? 0;
    if (waitingBytes > MOST_WAITING_BYTES) socket.close();
  });
  ahead.hello = true;
  ahead.socket = () => {
    page = tell;
    for (const event of waiting) page(...event);
  };
};

globalThis.watchscopeBridge = {
  listen(page) {
    tell = page;
  },
  tell(...told) {
    tell(...told);
  },
  link() {
    return take("link") ?? (isOurs ? takeLink() : undefined);
  },
  ask() {
    (take("session") ?? askSession()).then((answer) => {
      const secret = this.link();
      if (secret) tell(LINK, secret);
      tell(SESSION, answer);
    });
  },
  exchange(secret) {
    (take(secret) ?? exchange(secret)).then((status) => tell(EXCHANGED, status));
  },
  // Both report their events only after they have returned.
  open() {
    const waiting = take("socket");
    if (waiting) return queueMicrotask(waiting);
    this.close();
    try {
      connect(tell);
    } catch {
      queueMicrotask(() => tell(CLOSED));
    }
  },
  send(bytes) {
    // A socket that was opened ahead has already sent its first message.
    if (!take("hello")) socket?.send(bytes);
  },
  close() {
    take("socket");
    take("hello");
    const old = socket;
    socket = undefined;
    old?.close();
  },
  // Gives a module's bytes their type, whatever the server calls them: only then does the browser compile them as they
  // come.
  async wasm(url) {
    const answer = await fetch(url);
    const headers = { "Content-Type": "application/wasm" };
    return answer.headers.get("Content-Type") === headers["Content-Type"] ? answer : new Response(answer.body, { headers });
  },
  // Whether the address bar names a place.
  names: () => /[#&]v=/.test(location.hash),
  // Makes the address bar name a place. A browser that limits such changes keeps showing an older one.
  place(fragment, isNew) {
    try {
      history[isNew ? "pushState" : "replaceState"](null, "", fragment ? `#${fragment}` : location.pathname);
    } catch {}
  },
  // Fetches the body of a change: EPOCH.SEQ.
  object: (name) => fetch(`api/objects/${name}`, { headers: { "X-Watchscope-Page": "1" } }),
  // From now on files can be opened and records exported.
  offer: () => import("./{{open.js}}").then(({ offer }) => offer()),
  wake(delay) {
    clearTimeout(timer);
    if (delay >= 0) timer = setTimeout(() => tell(TIMER), delay);
  },
};

// If a lesson is requested or no server answers, a worker replaces the server. In a frame it is the worker of a file.
const begin = async () => {
  if (parent !== self) return (await import("./{{open.js}}")).enter();
  // A document from the browser's cache may bring an old answer. If that gives no access, the server is asked again.
  const brought = sessionBrought();
  const opens = brought && (brought.session || /[#&]t=/.test(location.hash));
  const answer = opens ? brought : await askSession();
  isOurs = answer?.product === "watchscope" && !/^#(.*&)?lessons?(=|&|$)/.test(location.hash);
  return isOurs ? answer : (await import("./{{lessons.js}}")).enter(answer);
};
const connectSoon = async () => {
  const session = await ahead.session;
  if (!isOurs || session.protocol !== PROTOCOL) return;
  const secret = (ahead.link = globalThis.watchscopeBridge.link());
  const isExchanged = secret && (await (ahead[secret] = exchange(secret))) === 204;
  if (isExchanged || session.session) connectAhead();
};

ahead.session = begin();
connectSoon().catch(() => {});
try {
  const { default: init } = await import("./{{frontend.js}}");
  if (document.readyState === "loading") {
    await new Promise((parsed) => document.addEventListener("DOMContentLoaded", parsed));
  }
  await init({ module_or_path: globalThis.watchscopeBridge.wasm(new URL("./{{frontend_bg.wasm}}", import.meta.url)) });
} catch (error) {
  const words = document.createElement("p");
  words.className = "plain";
  words.setAttribute("role", "alert");
  words.textContent = `The page did not start: ${error}. Reload; a browser of the last two years is needed.`;
  document.body.replaceChildren(words);
  throw error;
}
