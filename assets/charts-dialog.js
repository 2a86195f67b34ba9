// The dialog with the charts of a range: the export worker draws them from the records that the page holds.
import { button, make } from "./{{elements.js}}";
import { hire, inPlace, loadStyles } from "./{{exports.js}}";

// Opens the dialog for an export's facts; `hand` promises the frames between two times, and all notes.
export const show = async (of, hand) => {
  await loadStyles();
  document.querySelector("dialog.charts")?.close();
  const [fromUs, toUs] = of.marked ?? of.view;
  const clock = (us) => new Date(us / 1e3).toISOString().slice(11, 19);
  const body = make("div", { class: "charts-body", "data-part": "charts", role: "status", tabindex: 0 }, make("p", { class: "quiet" }, "Drawing the charts…"));
  const dialog = make(
    "dialog",
    {
      class: "charts", "data-part": "charts-dialog", "aria-label": "Charts",
      // The page must not handle these keys.
      onkeydown: (event) => event.stopPropagation(),
      onclose: () => {
        worker.end();
        dialog.remove();
        document.getElementById("chart")?.focus();
      },
    },
    make(
      "header",
      {},
      make("h2", {}, "Charts"),
      make(
        "span",
        { class: "quiet of" },
        `${of.marked ? "of the marked range" : "of the view"}, ${clock(fromUs)} – ${clock(toUs)} UTC, and as much around it as is loaded`,
      ),
      button(["Close ", make("kbd", {}, "Esc")], () => dialog.close()),
    ),
    body,
  );
  const worker = hire(() => {});
  document.body.append(dialog);
  dialog.showModal();
  body.focus();
  try {
    const [chapters, notes] = await hand(fromUs, toUs);
    const loaded = { fromUs: of.loaded[0], toUs: of.loaded[1], chapters, notes, shown: {} };
    await worker.ask("records", loaded, chapters.map(({ buffer }) => buffer));
    const { theme } = document.documentElement.dataset;
    const isDark = theme ? theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    const wish = {
      fromUs, toUs, lanes: "all", choices: "", filter: "", hide: [], title: "", isDark, widthPx: 960, heightPx: 540,
      zoneOffsetMin: -new Date().getTimezoneOffset(),
    };
    const { preview } = await worker.ask("make", { wish, form: "charts" });
    body.replaceChildren(...preview.pictures.map((svg) => make("img", { src: inPlace(svg), alt: "" })));
    for (const image of body.children) image.alt = titleOf(image.src);
  } catch (error) {
    body.replaceChildren(make("p", { role: "alert" }, `The charts cannot be drawn: ${error.message}.`));
  }
};

// Returns a chart's title, which is its first text.
const titleOf = (address) => {
  const svg = decodeURIComponent(address.slice(address.indexOf(",") + 1));
  return new DOMParser().parseFromString(svg, "image/svg+xml").querySelector("text")?.textContent ?? "A chart";
};
