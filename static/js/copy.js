/** Buttons that copy a field: `data-copy` names its id. Without this script the field is there to be selected. */

for (const button of document.querySelectorAll("[data-copy]")) {
  const field = document.getElementById(button.getAttribute("data-copy") ?? "");
  if (!(field instanceof HTMLInputElement)) continue;
  /** @type {HTMLElement} */ (button).hidden = false;
  button.addEventListener("click", async () => {
    field.select();
    let text = "Copied.";
    try {
      await navigator.clipboard.writeText(field.value);
    } catch {
      text = "Selected. Press Ctrl+C to copy."; // no permission, or the site is not served over HTTPS
    }
    document.dispatchEvent(new CustomEvent("keel:toast", { detail: { text } }));
  });
}
