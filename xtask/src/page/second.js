// Loads the second part, linked to the first, and the styles of its panels, then tells the first whether it is there.
// It takes the place of the loader that wasm_split_cli_support writes, and stands at the end of wasm-bindgen's glue, whose
// `wasm` are the exports of the first part.
async function loadSecondPart(tell, told) {
  let isLoaded = false;
  // The texts of the failures are fetched when somebody asks for one.
  globalThis.watchscopeTexts = new URL("./{{findings.json}}", import.meta.url).href;
  try {
    await Promise.all([
      WebAssembly.instantiateStreaming(globalThis.watchscopeWay.wasm(new URL("./{{frontend_second.wasm}}", import.meta.url)), {
        __wasm_split: wasm,
      }),
      loadStyles(new URL("./{{panels.css}}", import.meta.url)),
    ]);
    isLoaded = true;
  } catch (error) {
    console.error(error);
  }
  wasm.__indirect_function_table.get(tell)(told, isLoaded);
}
// Panels without their styles would be seen for a moment.
function loadStyles(url) {
  const link = document.createElement("link");
  link.rel = "stylesheet";
  link.href = url;
  return new Promise((resolve, reject) => {
    link.onload = resolve;
    link.onerror = () => {
      link.remove();
      reject(new Error(`failed to load ${url}`));
    };
    document.head.append(link);
  });
}
