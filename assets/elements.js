// Makes elements for scripts without WebAssembly: lessons, opened files, dialogs. Text reaches the document as text
// nodes.

export const make = (tag, attributes = {}, ...children) => {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (value === true) made.setAttribute(name, "");
    else if (value !== false && value !== undefined) made.setAttribute(name, value);
  }
  made.append(...children.flat().filter((child) => child !== undefined && child !== false));
  return made;
};

export const button = (words, onclick, attributes = {}) => make("button", { class: "control", onclick, ...attributes }, words);
