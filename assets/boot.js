// Starts the page, and is its way to the server. What the page will ask for first is under way while its module compiles:
// session, link, socket. The document holds it, so that it runs without being fetched; the content security policy allows
// just this script by its hash.

// These numbers say to the page what happened; bridge.rs has the same.
const SESSION = 0, EXCHANGED = 1, OPENED = 2, MESSAGE = 3, CLOSED = 4, TIMER = 5, LINK = 6;
// What a page that holds nothing says first, and the version of the protocol in it; a test compares.
const PROTOCOL = 2;
const HELLO = [0, 4, PROTOCOL, 0, 0, 0];
// So much may wait for the module; the server sends at most 1 MiB before something is acknowledged.
const MOST_WAITING_BYTES = 2 << 20;

let tell, socket, timer;
// Whether watchscope answers here. Until it does, the link's secret is not read, and no socket is opened.
let isOurs = false;
// What was begun before the page asked for it, each good for one time.
const ahead = {};
const take = (name) => {
  const taken = ahead[name];
  delete ahead[name];
  return taken;
};

// What GET session would answer, where the server told it with the document: in the one header of it that can be read
// here.
const sessionBrought = () => {
  const [page] = performance.getEntriesByType("navigation");
  const brought = page?.serverTiming?.find(({ name }) => name === "session");
  return brought && JSON.parse(brought.description);
};
// Undefined if nobody answers.
const askSession = () => fetch("session").then((answer) => (answer.ok ? answer.json() : undefined)).catch(() => {});
const exchange = (secret) =>
  fetch("session", { method: "POST", headers: { Authorization: `Bearer ${secret}` } })
    .then((answer) => answer.status)
    .catch(() => {});

// The secret of the link (`t=…` in the fragment), which leaves the address bar and the history at once.
const takeLink = () => {
  const parts = location.hash.slice(1).split("&");
  const secret = parts.map((part) => /^t=([\w-]{1,256})$/.exec(part)?.[1]).filter(Boolean).pop();
  if (secret) {
    const rest = parts.filter((part) => !part.startsWith("t=")).join("&");
    history.replaceState(null, "", rest ? `#${rest}` : location.pathname);
  }
  return secret;
};

// Opens the socket; `heard` is told of it as long as it is the present one. Its address is relative: the page may be
// served behind any.
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

globalThis.watchscopeWay = {
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
  // None of what these call for is told before they return.
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
    // What a socket opened ahead has to say first, it has said.
    if (!take("hello")) socket?.send(bytes);
  },
  close() {
    take("socket");
    take("hello");
    const old = socket;
    socket = undefined;
    old?.close();
  },
  // A module's bytes under their type, whatever the server calls them: only so they are compiled as they come.
  async wasm(url) {
    const answer = await fetch(url);
    const headers = { "Content-Type": "application/wasm" };
    return answer.headers.get("Content-Type") === headers["Content-Type"] ? answer : new Response(answer.body, { headers });
  },
  // Whether the address bar names a place.
  names: () => /[#&]v=/.test(location.hash),
  // Has the address bar name a place. A browser that refuses more of them shows an older one.
  place(fragment, isNew) {
    try {
      history[isNew ? "pushState" : "replaceState"](null, "", fragment ? `#${fragment}` : location.pathname);
    } catch {}
  },
  // The body of a change: EPOCH.SEQ.
  object: (name) => fetch(`api/objects/${name}`, { headers: { "X-Watchscope-Page": "1" } }),
  // Files can be opened from now on, and records exported.
  offer: () => import("./{{open.js}}").then(({ offer }) => offer()),
  wake(delay) {
    clearTimeout(timer);
    if (delay >= 0) timer = setTimeout(() => tell(TIMER), delay);
  },
};

// A lesson is asked for, or nothing else is to be had here: the server is a worker then. It is that of a file in a frame.
const begin = async () => {
  if (parent !== self) return (await import("./{{open.js}}")).enter();
  // A document out of the browser's cache may tell of what was: what opens no way is asked.
  const brought = sessionBrought();
  const opens = brought && (brought.session || /[#&]t=/.test(location.hash));
  const answer = opens ? brought : await askSession();
  isOurs = answer?.product === "watchscope" && !/^#(.*&)?lessons?(=|&|$)/.test(location.hash);
  return isOurs ? answer : (await import("./{{lessons.js}}")).enter(answer);
};
const connectSoon = async () => {
  const session = await ahead.session;
  if (!isOurs || session.protocol !== PROTOCOL) return;
  const secret = (ahead.link = globalThis.watchscopeWay.link());
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
  await init({ module_or_path: globalThis.watchscopeWay.wasm(new URL("./{{frontend_bg.wasm}}", import.meta.url)) });
} catch (error) {
  const words = document.createElement("p");
  words.className = "plain";
  words.setAttribute("role", "alert");
  words.textContent = `The page did not start: ${error}. Reload; a browser of the last two years is needed.`;
  document.body.replaceChildren(words);
  throw error;
}
