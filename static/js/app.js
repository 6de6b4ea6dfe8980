/** Scripts of every page: theme switch, toasts, command palette, copy buttons, forms that are sent once. */

import { showFieldButtons } from "./copy.js";
import { followLiveParts } from "./live.js";
import "./menus.js";
import { Palette } from "./palette.js";

const SHOWN_MS = 6_000;
const SENT_MS = 10_000;
const LEVELS = new Map([
  ["error", "danger"],
  ["danger", "danger"],
  ["warning", "warn"],
  ["warn", "warn"],
]);

/* --- The installed app --- */

// Only where file names change with their content: else the worker would have nothing to keep.
if ("serviceWorker" in navigator && /\.[0-9a-f]{12}\.js$/.test(import.meta.url)) {
  navigator.serviceWorker.register("/worker.js").catch(() => {}); // the site works without it
}

/* --- Toasts --- */

/**
 * Show a toast. Elsewhere: dispatch `keel:toast` on the document with `{text, level}`, or
 * answer an htmx request with the header `HX-Trigger: {"keel:toast": {"text": "..."}}`.
 *
 * @param {string} text
 * @param {string} [level]  info, success, warning or error
 */
function showToast(text, level = "info") {
  const toast = document.createElement("div");
  const kind = LEVELS.get(level);
  toast.className = kind ? `toast toast--${kind}` : "toast";
  if (kind) toast.setAttribute("role", "alert");
  const sentence = document.createElement("p");
  sentence.textContent = text;
  toast.append(sentence);
  document.getElementById("toasts")?.append(toast);
  settle(toast);
}

/**
 * Give a toast its button; remove it after a while unless it warns or the user points at it.
 *
 * @param {HTMLElement} toast
 */
function settle(toast) {
  const close = document.createElement("button");
  close.type = "button";
  close.className = "btn btn--quiet btn--small";
  close.textContent = "Dismiss";
  close.addEventListener("click", () => toast.remove());
  toast.append(close);
  if (toast.matches(".toast--danger, .toast--warn")) return;

  let timer = 0;
  const wait = () => {
    timer = setTimeout(() => toast.remove(), SHOWN_MS);
  };
  const hold = () => clearTimeout(timer);
  toast.addEventListener("pointerenter", hold);
  toast.addEventListener("focusin", hold);
  toast.addEventListener("pointerleave", wait);
  toast.addEventListener("focusout", wait);
  wait();
}

document.querySelectorAll("#toasts > .toast").forEach((toast) => settle(/** @type {HTMLElement} */ (toast)));
document.addEventListener("keel:toast", (event) => {
  const { text, value, level } = /** @type {CustomEvent} */ (event).detail ?? {};
  const sentence = text ?? value;
  if (sentence) showToast(String(sentence), level);
});

/* --- Failed htmx requests --- */

const REFUSALS = new Map([
  [401, "You are signed out. Sign in again in another tab; what you typed stays here."],
  [403, "You are signed out, or this page is old. Reload it and try again."],
  [404, "That is not there any more. Reload the page."],
  [413, "This is more than Keel can take at once. Shorten it and try again; what you typed stays here."],
  [503, "Keel’s database does not answer. Try again in half a minute; what you typed stays here."],
  [429, "Too many requests in a short time. Wait a minute and try again."],
]);

document.addEventListener("htmx:responseError", (event) => {
  const { status } = /** @type {CustomEvent} */ (event).detail.xhr;
  showToast(REFUSALS.get(status) ?? "Keel could not do that, and changed nothing. Try again in a moment.", "error");
});
for (const name of ["htmx:sendError", "htmx:timeout"]) {
  document.addEventListener(name, () => {
    showToast("Keel did not answer. Check the connection and try again; what you typed stays here.", "error");
  });
}

/* --- The theme --- */

/** @param {string} theme */
function applyTheme(theme) {
  document.documentElement.dataset.theme = theme;
  for (const button of document.querySelectorAll("[data-theme-switch] button")) {
    button.setAttribute("aria-pressed", String(/** @type {HTMLButtonElement} */ (button).value === theme));
  }
}

document.addEventListener("submit", async (event) => {
  const form = /** @type {HTMLFormElement} */ (event.target);
  const button = /** @type {HTMLButtonElement | null} */ (event.submitter);
  if (!form.matches("[data-theme-switch]") || !button) return;
  event.preventDefault();
  const before = document.documentElement.dataset.theme ?? "auto";
  applyTheme(button.value);
  try {
    const answer = await fetch(form.getAttribute("action") ?? "", { method: "POST", body: new FormData(form, button), redirect: "manual" });
    if (!answer.ok && answer.type !== "opaqueredirect") throw new Error(String(answer.status));
  } catch {
    applyTheme(before);
    showToast("The theme could not be saved. Try again in a moment.", "error");
  }
});

/* --- Charts, loaded by the first one --- */

/** @param {Element} root */
async function showCharts(root) {
  if (!root.querySelector("[data-chart], .chart__drawing")) return;
  const { drawCharts } = await import("../charts/chart.js");
  drawCharts(/** @type {HTMLElement} */ (root));
}

showCharts(document.body);
document.addEventListener("htmx:load", (event) => showCharts(/** @type {CustomEvent} */ (event).detail.elt));

followLiveParts();

/* --- Copying a field --- */

showFieldButtons();

/* --- The command palette and the keys --- */

const palette = document.getElementById("palette");
if (palette instanceof HTMLDialogElement) new Palette(palette);

if (/Mac|iPhone|iPad/.test(navigator.platform)) {
  for (const key of document.querySelectorAll("kbd[data-mod]")) key.textContent = "⌘";
}

/* --- Forms --- */

document.addEventListener("submit", (event) => {
  const form = /** @type {HTMLFormElement} */ (event.target);
  if (event.defaultPrevented || form.method !== "post") return;
  if (form.dataset.sent) {
    event.preventDefault();
    return;
  }
  form.dataset.sent = "true";
  event.submitter?.setAttribute("aria-busy", "true");
  // The page may stay: the user stopped the loading, or the connection broke.
  setTimeout(() => release(form), SENT_MS);
});

/** @param {HTMLFormElement} form */
function release(form) {
  form.removeAttribute("data-sent");
  for (const button of form.querySelectorAll("[aria-busy]")) button.removeAttribute("aria-busy");
}

// Back may show a page as it was left: with its forms marked as sent.
addEventListener("pageshow", (event) => {
  if (!event.persisted) return;
  document.querySelectorAll("form[data-sent]").forEach((form) => release(/** @type {HTMLFormElement} */ (form)));
});

for (const button of document.querySelectorAll("[data-reveal]")) {
  const input = document.getElementById(button.getAttribute("data-reveal") ?? "");
  if (!(input instanceof HTMLInputElement)) continue;
  /** @type {HTMLElement} */ (button).hidden = false;
  button.addEventListener("click", () => {
    const [before, after] = input.type === "password" ? ["Show", "Hide"] : ["Hide", "Show"];
    input.type = after === "Hide" ? "text" : "password";
    button.textContent = after;
    button.setAttribute("aria-label", (button.getAttribute("aria-label") ?? before).replace(before, after));
    input.focus();
  });
}

for (const button of document.querySelectorAll("[data-use-zone]")) {
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  const field = document.getElementById(button.getAttribute("data-use-zone") ?? "");
  if (!(field instanceof HTMLInputElement || field instanceof HTMLSelectElement) || !zone) continue;
  /** @type {HTMLElement} */ (button).hidden = false;
  button.addEventListener("click", () => {
    field.value = zone;
    field.focus();
  });
}

// Sign-up keeps the zone of the device, so that times are right from the first page on.
for (const field of document.querySelectorAll("input[type=hidden][name=time_zone]")) {
  /** @type {HTMLInputElement} */ (field).value = Intl.DateTimeFormat().resolvedOptions().timeZone ?? "";
}

// A link can bring the words to begin with. Put in place before the chat's own script runs, which keeps what it finds.
const address = new URL(location.href);
const words = address.searchParams.get("say");
const box = document.querySelector(".chat .composer__input");
if (words && box instanceof HTMLTextAreaElement && !box.value) {
  box.value = words.slice(0, 2_000);
  address.searchParams.delete("say");
  history.replaceState(null, "", address);
}
