// Lessons: their cluster runs in a worker, which is the page's server here. This script has narration and controls. It
// is loaded only for a lesson, or if there is no server.
import { button, make } from "./{{elements.js}}";

const bridge = globalThis.watchscopeBridge;
// Codes of events, as bridge.rs has them.
const OPENED = 2, MESSAGE = 3;
const SPEEDS = [0.1, 0.25, 0.5, 1, 2, 5, 10, 100, 1000];
// The least time between two updates of the panels, in milliseconds.
const WRITE_MS = 250;
const NARROW = matchMedia("(max-width: 1000px)");

const worker = new Worker(new URL("./{{lesson-worker.js}}", import.meta.url), { type: "module" });
const ask = (what, with_) => worker.postMessage({ do: what, ...with_ });
const say = (words) => {
  asked = performance.now();
  isFed = false;
  ask("say", { words });
};

// The number of the page's present reader; messages for an earlier one are dropped.
let reader = 0;
// The page's functions, the lesson, its state, and the run that the page has.
let page, lesson, now, run, asked, isFed, rewindMs;
let hasServer = false, unknown, digested;
// Answers given, by passage.
const answers = new Map();

const seconds = (at) => `${at.toFixed(1)} s`;

const title = make("b");
const place = make("span", { class: "quiet" });
const cluster = make("b");
const live = button("Open as live view", () => leave());
const head = make(
  "header",
  { class: "header lesson-head" },
  make("h1", { class: "mark" }, "watchscope"),
  make("span", { class: "control lesson-title" }, place, title),
  make("span", { class: "control simulated" }, make("span", { class: "label" }, "simulated cluster"), cluster),
  make("span", { class: "quiet stays" }, "Nothing here leaves this tab"),
  make("span", { class: "space" }),
  button("All lessons", () => menu.showModal(), { "aria-haspopup": "dialog" }),
  live,
  button("colours", () => press(".tools [title^='Colours']"), { class: "control extra" }),
  button("?", () => press(".tools [aria-label='Keys and glyphs']"), { class: "control extra", "aria-label": "Keys and glyphs" }),
);
const text = make("div", { class: "told" });
const steps = make("ol", { class: "steps" });
const narration = make("aside", { class: "lesson-text", "aria-label": "Lesson" }, text, make("h3", {}, "Steps"), steps);
const beliefs = make("section", { "aria-label": "What each side believes" });
const verdict = make("section", { class: "verdict", "aria-label": "Verdict" });
const loops = make("section", { class: "loops", "aria-label": "The clients' loops" });
const sides = make("aside", { class: "lesson-sides", "aria-label": "The clients" }, beliefs, verdict, loops);
const lines = make("ol");
const wire = make("section", { class: "lesson-wire", "aria-label": "On the wire", tabindex: 0 }, make("h3", {}, "On the wire"), lines);
const menu = make("dialog", { class: "help lesson-menu", "aria-label": "Lessons" });
const rings = make("div", { class: "rings", "aria-hidden": "true" });

const play = button("Play", () => toggle(), { class: "control play", "aria-keyshortcuts": "Space" });
const speed = make(
  "select",
  { class: "control", "aria-label": "Speed", onchange: () => say(`speed ${speed.value}`) },
  SPEEDS.map((times) => make("option", { value: times, selected: times === 1 }, `${times}×`)),
);
const clock = make("b", { class: "clock", "data-part": "clock" });
const note = make("span", { class: "note", role: "status" });
const bar = make("input", {
  type: "range", min: 0, step: 0.01, "aria-label": "Time since the lesson began, in seconds",
  onchange: () => say(`seek ${bar.value}`),
});
const ticks = make("div", { class: "ticks", "aria-hidden": "true" });
const breaks = make("div", { class: "breaks" });
const choice = (label, words) => {
  const field = make("select", { class: "control", onchange: () => say(`${words} ${field.value}`) });
  return [field, make("label", {}, make("span", { class: "quiet" }, label), field)];
};
const [server, serverField] = choice("server", "server");
const [client, clientField] = choice("client-go", "client");
const seed = make("input", {
  class: "control seed", type: "number", min: 0, max: 999999, step: 1,
  onchange: () => seed.reportValidity() && seed.value !== "" && say(`seed ${seed.value}`),
});
const controls = make(
  "footer",
  { class: "lesson-controls" },
  make(
    "div",
    { class: "keys" },
    button("|◀\uFE0E", () => say("previous"), { "aria-label": "Back to where this step begins", title: "Back to where this step begins" }),
    play,
    button("▶\uFE0E|", () => say("next"), { "aria-label": "To the next step", title: "To the next step" }),
    button("Step", () => say("step"), { title: "To the next moment of the text, and no further" }),
    speed,
  ),
  make("div", { class: "time" }, make("div", { class: "when" }, clock, note), ticks, bar),
  make(
    "div",
    { class: "yours" },
    make("h3", {}, "Break it yourself"),
    breaks,
    make("div", { class: "run" }, serverField, clientField, make("label", {}, make("span", { class: "quiet" }, "seed"), seed)),
  ),
);

const goOn = button("", () => toggle(), { class: "control onward" });

const press = (selector) => document.querySelector(`#above ${selector}`)?.click();
const leave = () => {
  history.replaceState(null, "", location.pathname + location.search);
  location.reload();
};
const toggle = () => say(now?.playing ? "pause" : "play");
// Another lesson is another world, so it begins with a fresh page.
const go = (name) => {
  history.replaceState(null, "", `#lesson=${name}`);
  location.reload();
};

// Texts

// Marks as in the Passage of scenarios: stressed words, code, and a moment by its number.
const marked = (words) =>
  words.split(/(\*[^*]+\*|\x60[^\x60]+\x60|\{\d+\})/).map((part) => {
    if (part.startsWith("*") && part.length > 1) return make("b", {}, part.slice(1, -1));
    if (part.startsWith("\x60") && part.length > 1) return make("code", {}, part.slice(1, -1));
    const number = /^\{(\d+)\}$/.exec(part)?.[1];
    return number ? moment(Number(number)) : part;
  });
const moment = (number) => {
  const passage = lesson.passages[now.passage];
  const found = now.found[number - 1];
  const words = passage.moments[number - 1];
  return button(String(number), () => found && reveal(number), {
    class: "moment",
    title: found ? `${words}: ${seconds((found.atUs - now.beginUs) / 1e6)}, in ${found.lane}` : `${words}: not in this run yet`,
    "aria-label": `Show ${words}`,
    "aria-disabled": found ? undefined : "true",
  });
};
// Returns a moment's point in the picture: at its mark, or in the lane around it if its own lane is not shown.
const placeOf = ({ lane, within, atUs, seq }) =>
  page.place(lane, atUs, seq) ?? (within ? page.place(within, atUs, seq) : undefined);
// Brings a moment into the picture, and points it out.
const reveal = (number) => {
  const found = now.found[number - 1];
  if (found.within) page?.reveal(found.within);
  page?.reveal(found.lane);
  if (page && !placeOf(found)) showPassage();
  requestAnimationFrame(() => {
    moveRings();
    const ring = rings.children[number - 1];
    ring?.classList.remove("called");
    requestAnimationFrame(() => ring?.classList.add("called"));
  });
};

const writePassage = () => {
  const passage = lesson.passages[now.passage];
  const count = lesson.passages.length;
  const next = lesson.passages[now.passage + 1];
  text.replaceChildren(
    make("p", { class: "quiet" }, `Step ${now.passage + 1} of ${count}`),
    make("h2", {}, passage.title),
    ...passage.text.map((paragraph) => make("p", {}, marked(paragraph))),
    ...question(passage),
    onward(next),
  );
  steps.replaceChildren(
    ...lesson.passages.map(({ title, at }, place) =>
      make("li", {}, make("button", {
        class: place <= now.passage ? "told-already" : "",
        "aria-current": place === now.passage ? "step" : undefined,
        onclick: () => say(`seek ${at}`),
      }, title)),
    ),
  );
};
const question = ({ question }) => {
  if (!question) return [];
  const given = answers.get(now.passage);
  const isAnswered = given !== undefined;
  const judged = (place) => {
    if (!isAnswered) return "control";
    if (place === question.right) return "control right";
    return place === given ? "control wrong" : "control";
  };
  return [
    make(
      "div",
      { class: "question", role: "group", "aria-label": "A question before you go on" },
      make("p", { class: "quiet" }, "Before you go on"),
      make("p", { class: "asks" }, marked(question.asks)),
      make(
        "div",
        { class: "answers" },
        question.answers.map((answer, place) =>
          button(answer, () => {
            answers.set(now.passage, place);
            writePassage();
            writeSides();
          }, { class: judged(place), disabled: isAnswered }),
        ),
      ),
      isAnswered &&
        make("p", { role: "status" }, make("b", {}, { [question.right]: "Yes. ", [-1]: "" }[given] ?? "No. "), marked(question.because)),
    ),
  ];
};
const onward = (next) => {
  if (next) return goOn;
  const following = lesson.lessons[lesson.number];
  if (!following) return button("All lessons", () => menu.showModal(), { class: "control onward" });
  return button(`Next lesson: ${following.title}`, () => go(following.name), { class: "control onward" });
};

const writeMenu = () => {
  menu.replaceChildren(
    make("h2", {}, "Lessons", make("button", { class: "close", "aria-label": "Close", onclick: () => menu.close() }, "×")),
    ...(unknown
      ? [make("p", { role: "alert" }, `There is no lesson “${unknown.name}”. `, unknown.names.length < lesson.lessons.length
          ? `The nearest: ${unknown.names.join(", ")}.`
          : "These are all.")]
      : []),
    make(
      "ol",
      {},
      lesson.lessons.map(({ name, title, teaches }) =>
        make("li", {}, make("button", { onclick: () => (name === lesson.name ? menu.close() : go(name)) },
          make("b", {}, title), make("span", {}, teaches)))),
    ),
    make("p", { class: "quiet" }, "Each runs a simulated cluster inside this tab. It needs no Kubernetes, and nothing leaves the tab."),
    make("p", {}, button("Open a recording", undefined, { "data-part": "open" })),
  );
};

const writeLesson = () => {
  place.textContent = `lesson ${lesson.number} of ${lesson.lessons.length}`;
  title.textContent = lesson.title;
  document.title = `${lesson.title} – watchscope`;
  bar.max = lesson.lasts;
  const options = (field, values) => field.replaceChildren(...values.map((value) => make("option", {}, value)));
  options(server, lesson.servers);
  options(client, lesson.clients);
  ticks.replaceChildren(
    ...lesson.passages.map(({ at }, place) => {
      const tick = make("span", {}, String(place + 1));
      tick.style.left = `${(at / lesson.lasts) * 100}%`;
      return tick;
    }),
  );
  breaks.replaceChildren(...lesson.breaks.map((words, place) => button(words, () => say(`break ${place}`))));
  writeMenu();
};

const writeNow = () => {
  cluster.textContent = `v${now.server}`;
  clock.textContent = `${seconds(now.at)} of ${lesson.lasts} s`;
  play.textContent = now.playing ? "Pause" : "Play";
  const next = lesson.passages[now.passage + 1];
  goOn.textContent = now.playing ? "Pause" : next && `Go on to ${seconds(next.at)}`;
  play.disabled = !now.playing && now.at >= lesson.lasts;
  if (document.activeElement !== bar || now.playing) bar.value = now.at;
  bar.setAttribute("aria-valuetext", seconds(now.at));
  const set = (field, value) => document.activeElement !== field && (field.value = value);
  set(server, now.server);
  set(client, now.client);
  set(seed, now.seed);
  set(speed, String(now.speed));
  const words = [];
  if (now.note) words.push(now.note);
  if (!now.asWritten) words.push("You changed this run; the text describes the run before your change.");
  note.replaceChildren(
    words.join(" ") || `seed ${now.seed}, going back runs it again`,
    ...(now.asWritten ? [] : [button("As written", () => say("as-written"))]),
  );
};

const writeSides = () => {
  if (lesson?.passages[now.passage].question?.covers && !answers.has(now.passage)) {
    const uncover = () => {
      answers.set(now.passage, -1);
      writePassage();
      writeSides();
    };
    beliefs.replaceChildren(
      make("h3", {}, "What each side believes"),
      make("p", {}, "Covered until you have answered."),
      button("Show it", uncover),
    );
    verdict.replaceChildren();
    loops.replaceChildren();
    return;
  }
  const told = page?.sides();
  writeVerdict(told);
  writeLoops();
  if (!told) return;
  const cell = ({ words, word }) =>
    make("td", { class: word ? "differs" : ["gone", "ended", "–"].includes(words) ? "soft" : undefined, title: word || undefined }, words);
  const short = (name) => name.replace(/^apiserver 0$/, "cache").replace(/^watchscope$/, "watch");
  beliefs.replaceChildren(
    make("h3", {}, "What each side believes"),
    make("p", { class: "quiet" }, `${told.of}: the resourceVersion each holds, at ${seconds(now.at)}`),
    make(
      "div",
      { class: "wide" },
      make(
        "table",
        {},
        make("thead", {}, make("tr", {}, make("th", { scope: "col" }), told.columns.map((name) => make("th", { scope: "col", title: name }, short(name))))),
        make("tbody", {}, told.rows.map(({ name, cells }) =>
          make("tr", { class: cells.some(({ word }) => word) ? "differs" : undefined },
            make("th", { scope: "row" }, name.replace(/^default\//, "")), cells.map(cell)))),
      ),
    ),
    ...told.sentences.map(({ words, differs }) => make("p", { class: differs ? "differs" : undefined }, words)),
  );
};

// Writes the messages between clients and servers, as the records have them.
const writeWire = () => {
  const isAtEnd = wire.scrollTop + wire.clientHeight >= wire.scrollHeight - 4;
  // A watch of watchscope is named by the resource that it watches.
  const short = (name) => (name.includes("/") ? "watchscope" : name);
  lines.replaceChildren(
    ...now.wire.map(({ atUs, who, asks, isError, words }) =>
      make(
        "li",
        { class: isError ? "wrong" : asks ? "asks" : undefined },
        make("span", { class: "quiet" }, ((atUs - now.beginUs) / 1e6).toFixed(1)),
        make("b", { title: who }, short(who)),
        make("span", { class: "quiet", "aria-label": asks ? "sends" : "receives" }, asks ? "→" : "←"),
        make("code", {}, words),
      ),
    ),
  );
  if (isAtEnd) wire.scrollTop = wire.scrollHeight;
};
// Returns the verdict if there is no finding.
const unfound = (names) => {
  if (names.length === 0) return "No finding in the delivered events.";
  const hold = names.length === 1 ? "holds" : "hold";
  return `No event says that anything is wrong. But ${names.join(" and ")} ${hold} what is no longer in etcd: only a comparison shows that.`;
};
// Returns the clients and caches that hold objects which are gone from etcd.
const haunted = (told) =>
  (told?.columns ?? []).filter((_, column) => told.rows.some(({ cells }) => cells[column].word === "ghost"));
const writeVerdict = (told) => {
  const found = now.findings.map(({ code, name, summary, severity, certainty }) =>
    make(
      "p",
      {},
      make("span", { class: `tag ${severity}`, title: `${severity}, ${certainty}` }, code),
      make("span", {}, make("b", {}, `${name}. `), summary),
    ),
  );
  verdict.replaceChildren(
    make("h3", {}, "Verdict"),
    ...(found.length > 0 ? found : [make("p", { class: "soft" }, unfound(haunted(told)))]),
  );
};

// The loop of each program, line by line, and the phases in which the program stands at a line.
const LOOPS = {
  informer: [
    ["for {"],
    ["  list, rv, err := client.List(ctx, from(rv))", "listing"],
    ["  store.Replace(list) // what is gone, goes"],
    ["  for err == nil {"],
    ["    w, err = client.Watch(ctx, from(rv))", "connecting"],
    ["    rv, err = handle(w, store)", "watching", "syncing"],
    ["  } // on any ERROR from the list again"],
    ["  backoff.Wait()", "backoff"],
    ["}"],
  ],
  "e2e-pvc-loop broken": [
    ["w, _ := client.Watch(ctx, ListOptions{})", "connecting"],
    ["deadline := time.After(30 * time.Second)"],
    ["for {"],
    ["  select {"],
    ["  case ev := <-w.ResultChan():", "watching"],
    ["    fmt.Println(ev.Type, ev.Object)", "spinning"],
    ["    if ev.Type == watch.Deleted { return }", "done"],
    ["  case <-deadline:"],
    ["    t.Fatal(\"not deleted in time\")", "failed"],
    ["  }"],
    ["}"],
  ],
  "e2e-pvc-loop fixed": [
    ["w, _ := client.Watch(ctx, ListOptions{})", "connecting"],
    ["deadline := time.After(30 * time.Second)"],
    ["for {"],
    ["  select {"],
    ["  case ev, ok := <-w.ResultChan():", "watching"],
    ["    if !ok { t.Fatal(\"channel closed\") }", "failed"],
    ["    if ev.Type == watch.Deleted { return }", "done"],
    ["  case <-deadline:"],
    ["    t.Fatal(\"not deleted in time\")"],
    ["  }"],
    ["}"],
  ],
  "watch-deployment final": [
    ["for {"],
    ["  w, _ := client.Watch(ctx, ListOptions{})", "connecting"],
    ["  for ev := range until(w, 30*time.Minute) {", "watching"],
    ["    apply(ev)"],
    ["  }"],
    ["  time.Sleep(5 * time.Second)", "sleeping"],
    ["}"],
  ],
  "resume-from-last-event": [
    ["last := \"\""],
    ["for {"],
    ["  w, _ := client.Watch(ctx, from(last))", "connecting"],
    ["  for ev := range w.ResultChan() {", "watching"],
    ["    apply(ev)"],
    ["    last = ev.Object.ResourceVersion"],
    ["  }"],
    ["  time.Sleep(time.Second)", "sleeping"],
    ["}"],
  ],
};
const writeLoops = () => {
  loops.replaceChildren(
    ...now.clients.flatMap(({ name, program, version, phase }) => {
      const loop = LOOPS[`${program} ${version}`] ?? LOOPS[program];
      if (!loop) return [];
      const line = ([code, ...phases]) => {
        const stands = phases.includes(phase);
        return make("span", { class: stands ? "stands" : undefined, "aria-current": stands ? "step" : undefined }, code);
      };
      return [
        make("h3", {}, `${name}, in Go`, make("span", { class: "quiet" }, phase ?? "")),
        make("pre", { tabindex: 0 }, loop.map(line)),
      ];
    }),
  );
};

// Above the picture

const moveRings = () => {
  if (!page || !now) return;
  const found = now.found;
  while (rings.children.length > found.length) rings.lastChild.remove();
  while (rings.children.length < found.length) rings.append(make("span", { class: "ring" }, make("b", {}, String(rings.children.length + 1))));
  const chart = document.getElementById("chart");
  // Moments that would overlap are placed side by side.
  const taken = [];
  found.forEach((moment, place) => {
    const ring = rings.children[place];
    const at = moment && placeOf(moment);
    ring.hidden = !at;
    if (!at) return;
    let [x, y] = at;
    while (taken.some(([left, top]) => Math.abs(left - x) < 18 && Math.abs(top - y) < 18)) x += 18;
    taken.push([x, y]);
    ring.style.left = `${chart.offsetLeft + x}px`;
    ring.style.top = `${chart.offsetTop + y}px`;
  });
};
const showPassage = () => {
  const [from, to] = lesson.passages[now.passage].shows;
  // When the lesson plays beyond the time that the passage shows, the view moves along.
  shownTo = now.at < to ? to : now.at + (to - from) / 4;
  page?.show(now.beginUs + (shownTo - to + from) * 1e6, now.beginUs + shownTo * 1e6);
  unopened = 3;
};

// The worker's messages

let shownPassage, shownRun, shownTo, unopened = 0, writtenAt = 0, writing;
const told = (what) => {
  if (what.lesson) {
    lesson = what.lesson;
    writeLesson();
    return;
  }
  const before = now;
  now = what.now;
  if (page) hold();
  const isOther = !before || before.passage !== now.passage || before.run !== now.run
    || before.found.filter(Boolean).length !== now.found.filter(Boolean).length;
  if (isOther) {
    writePassage();
    write();
  }
  writeNow();
  if (!now.playing && (before?.playing !== false || before.at !== now.at) && !unknown && !isMenu && !history.state?.opened) {
    history.replaceState(null, "", `#lesson=${lesson.name}&at=${Number(now.at.toFixed(3))}`);
  }
};
const hold = () => {
  if (run !== now.run) page.startOver();
  page.hold(now.beginUs + now.at * 1e6);
  if (shownPassage !== now.passage || shownRun !== now.run || now.at > shownTo) {
    [shownPassage, shownRun] = [now.passage, now.run];
    showPassage();
  }
};
worker.onmessage = ({ data }) => {
  if (data.bytes) {
    if (data.reader === reader) bridge.tell(MESSAGE, data.bytes);
  } else if (data.text) {
    told(JSON.parse(data.text));
  } else if (data.unknown !== undefined) {
    unknown = { name: data.unknown, names: data.names };
  } else if (data.fed === reader) {
    isFed = true;
  } else if (data.digest !== undefined) {
    digested?.(data.digest);
  } else if (data.failed) {
    note.textContent = `The lesson has stopped: ${data.failed}. Reload the page.`;
    console.error(data.failed);
  }
};
worker.onerror = () => {
  note.textContent = "The lesson could not be loaded. Reload the page.";
};

const write = () => {
  clearTimeout(writing);
  writing = undefined;
  writtenAt = performance.now();
  writeSides();
  writeWire();
};

globalThis.watchscopeLesson = {
  // The page offers its functions.
  ready(call) {
    const names = ["hold", "show", "startOver", "expand", "reveal", "place", "sides"];
    page = Object.fromEntries(names.map((name) => [name, (...what) => call([name, ...what])]));
    document.querySelector(".picture").append(rings);
    if (now) hold();
    if (isMenu || unknown) menu.showModal();
  },
  // The picture was drawn. The page is still at work, so its functions may be called only after it.
  drawn() {
    queueMicrotask(() => {
      // Lanes can be opened once they are drawn; the lanes inside them are drawn next.
      if (unopened-- > 0) page?.expand();
      moveRings();
      if (asked !== undefined && isFed && run === now?.run) {
        rewindMs = performance.now() - asked;
        asked = undefined;
      }
      // A page can be drawn before the worker's first message.
      if (!now) return;
      const wait = Math.max(0, WRITE_MS - (performance.now() - writtenAt));
      writing ??= setTimeout(write, wait);
    });
  },
  // A file is opened over the lesson.
  pause: () => now?.playing && say("pause"),
  // For tests, and for people with a console.
  state: () => ({ ...now, lesson: lesson?.name, rewindMs, rings: [...rings.children].map((ring) => !ring.hidden) }),
  digest: (name, seed, server = "", client = "") =>
    new Promise((resolve) => {
      digested = resolve;
      ask("digest", { name, seed, server, client });
    }),
};

// The page

let isMenu = false;
const lay = () => {
  const frame = document.querySelector(".page");
  document.documentElement.classList.add("lesson");
  frame.prepend(head);
  frame.append(narration, controls, menu);
  const fit = () => (NARROW.matches ? narration : frame).append(sides, wire);
  NARROW.addEventListener("change", fit);
  fit();
  live.hidden = !hasServer;
  addEventListener("keydown", (event) => {
    const isOurs = event.key === " " && !event.target.closest("button, input, select, a, dialog");
    if (!isOurs || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    toggle();
  }, { capture: true });
  addEventListener("hashchange", () => location.reload());
  // A lesson pauses while its tab is hidden.
  document.addEventListener("visibilitychange", () => document.hidden && now?.playing && say("pause"));
};

// Enters the lesson that the address names, or offers all. Returns the answer that a server would give about the
// session.
export const enter = async (answer) => {
  hasServer = answer?.product === "watchscope";
  const wanted = new URLSearchParams(location.hash.slice(1));
  isMenu = !wanted.get("lesson");
  const at = Number.parseFloat(wanted.get("at"));
  ask("start", { name: wanted.get("lesson") || "watch-event", at: Number.isFinite(at) ? at : undefined });
  Object.assign(bridge, {
    open() {
      reader += 1;
      run = now?.run ?? 1;
      ask("read", { number: reader });
      queueMicrotask(() => bridge.tell(OPENED));
    },
    // The bytes lie in the page's memory, so a copy is sent.
    send: (bytes) => ask("message", { number: reader, bytes: bytes.slice() }),
    close() {
      reader += 1;
    },
  });
  const styles = make("link", { rel: "stylesheet", href: new URL("./{{lessons.css}}", import.meta.url).href });
  document.head.append(styles);
  if (document.readyState === "loading") await new Promise((parsed) => addEventListener("DOMContentLoaded", parsed));
  lay();
  return { product: "watchscope", protocol: 2, instance: "lessons", session: true };
};
