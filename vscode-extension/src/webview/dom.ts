/** Building elements, and talking to the extension. */

type Child = Node | string | null | undefined | false;
type Attributes = Record<string, string | number | boolean | null | undefined | ((event: Event) => void)>;

const SVG = "http://www.w3.org/2000/svg";

function filled<T extends Element>(element: T, attributes: Attributes, children: Child[]): T {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) {
      continue;
    }
    if (typeof value === "function") {
      element.addEventListener(name.replace(/^on/, ""), value);
    } else {
      element.setAttribute(name, value === true ? "" : String(value));
    }
  }
  element.append(...children.filter((child): child is Node | string => Boolean(child)));
  return element;
}

/** An HTML element; text is always text, never markup. */
export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  return filled(document.createElement(tag), attributes, children);
}

/** An SVG element. */
export function s<K extends keyof SVGElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: Child[]
): SVGElementTagNameMap[K] {
  return filled(document.createElementNS(SVG, tag), attributes, children);
}

/** A button that keyboards reach as well. */
export function button(label: string, onclick: () => void, attributes: Attributes = {}): HTMLButtonElement {
  return h("button", { type: "button", ...attributes, onclick }, label);
}

/** A step path that opens its place when it is chosen. */
export function pathLink(path: string, open: (path: string) => void): HTMLElement {
  const shown = path === "" ? "the run" : path;
  return path === "" ? h("span", { class: "path" }, shown) : h("button", { type: "button", class: "link path", onclick: () => open(path) }, shown);
}

interface Api<S> {
  postMessage(message: unknown): void;
  getState(): S | undefined;
  setState(state: S): void;
}

declare function acquireVsCodeApi<S>(): Api<S>;

export function connect<S>(): Api<S> {
  return acquireVsCodeApi<S>();
}

/** The element that the page is drawn in. */
export function root(): HTMLElement {
  const element = document.getElementById("root");
  if (element === null) {
    throw new Error("The page has no root.");
  }
  return element;
}

/** Draws anew, and puts the focus back to the control of the same `data-key`. */
export function render(into: HTMLElement, ...children: Child[]): void {
  const active = document.activeElement;
  const key = active instanceof HTMLElement ? active.dataset["key"] : undefined;
  const scrolled = [...into.querySelectorAll<HTMLElement>("[data-scroll]")].map((each) => [each.dataset["scroll"], each.scrollLeft, each.scrollTop] as const);
  into.replaceChildren(...children.filter((child): child is Node | string => Boolean(child)));
  for (const [name, left, top] of scrolled) {
    into.querySelector<HTMLElement>(`[data-scroll="${CSS.escape(name ?? "")}"]`)?.scrollTo(left, top);
  }
  if (key !== undefined) {
    into.querySelector<HTMLElement>(`[data-key="${CSS.escape(key)}"]`)?.focus({ preventScroll: true });
  }
}

/** Arrow keys move the focus among the elements that fit a selector. */
export function arrowKeys(container: HTMLElement | SVGElement, selector: string): void {
  container.addEventListener("keydown", (event) => {
    const { key } = event as KeyboardEvent;
    const step = key === "ArrowDown" || key === "ArrowRight" ? 1 : key === "ArrowUp" || key === "ArrowLeft" ? -1 : 0;
    if (step === 0) {
      return;
    }
    const all = [...container.querySelectorAll<HTMLElement | SVGElement>(selector)];
    const at = all.indexOf(document.activeElement as HTMLElement);
    const next = all[at + step];
    if (at >= 0 && next !== undefined) {
      next.focus();
      event.preventDefault();
    }
  });
}
