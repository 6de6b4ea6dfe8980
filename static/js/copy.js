/** Copy replies, code blocks and fields. */

/**
 * Give each code block under `element` its copy button.
 *
 * @param {Element} element
 */
export function addCopyButtons(element) {
  for (const block of element.querySelectorAll(".message__closed pre:not(.code-block > pre, .tool pre)")) {
    const frame = document.createElement("div");
    frame.className = "code-block";
    const button = document.createElement("button");
    button.type = "button";
    button.className = "btn btn--quiet btn--small code-block__copy";
    button.dataset.action = "copy-code";
    button.textContent = "Copy code";
    block.replaceWith(frame);
    // A wide block scrolls sideways, so the keyboard must be able to reach it.
    block.setAttribute("tabindex", "0");
    frame.append(block, button);
  }
}

/**
 * The words of a reply, without its tool cards, memory lines, confirm-cards and buttons.
 *
 * @param {Element} article
 * @returns {string}
 */
export function replyText(article) {
  const body = article.querySelector(".message__body")?.cloneNode(true);
  if (!(body instanceof Element)) return "";
  for (const element of body.querySelectorAll(".tool, .memory-line, .action-card, button")) element.remove();
  return (body.textContent ?? "").replace(/[ \t]*\n\s*/g, "\n").trim();
}

/**
 * Copy the source of a reply, as the model wrote it.
 *
 * @param {Element} article
 * @returns {Promise<string>} what to tell the user
 */
export function copyReply(article) {
  const source = article.querySelector("template.message__source");
  const text = source instanceof HTMLTemplateElement ? source.content.textContent : replyText(article);
  return copy(text ?? "", article.querySelector(".message__body"));
}

/**
 * @param {Element} button
 * @returns {Promise<string>} what to tell the user
 */
export function copyCode(button) {
  const block = button.closest(".code-block")?.querySelector("pre") ?? null;
  return copy((block?.textContent ?? "").replace(/\n$/, ""), block);
}

/**
 * @param {string} text
 * @param {Element | null} shown
 * @returns {Promise<string>}
 */
async function copy(text, shown) {
  try {
    await navigator.clipboard.writeText(text);
    return "Copied";
  } catch {
    // No permission, or the site is not served over HTTPS: select it, the user's own keys can copy it.
    if (shown) getSelection()?.selectAllChildren(shown);
    return "Selected. Press Ctrl+C to copy.";
  }
}

/** Show the buttons that copy a field: `data-copy` names its id. Without scripts the field is there to be selected. */
export function showFieldButtons() {
  for (const button of document.querySelectorAll("[data-copy]")) {
    const field = document.getElementById(button.getAttribute("data-copy") ?? "");
    if (!(field instanceof HTMLInputElement)) continue;
    /** @type {HTMLElement} */ (button).hidden = false;
    button.addEventListener("click", () => copyField(field));
  }
}

/** @param {HTMLInputElement} field */
async function copyField(field) {
  field.select();
  let text = "Copied.";
  try {
    await navigator.clipboard.writeText(field.value);
  } catch {
    text = "Selected. Press Ctrl+C to copy."; // no permission, or the site is not served over HTTPS
  }
  document.dispatchEvent(new CustomEvent("keel:toast", { detail: { text } }));
}
