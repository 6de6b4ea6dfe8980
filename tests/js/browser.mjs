/** The few parts of a browser that the tested modules use. */

/** A Storage in memory; `isBroken` makes it refuse, as full or switched-off storage does. */
export class MemoryStorage {
  isBroken = false;
  #values = new Map();

  #check() {
    if (this.isBroken) throw new DOMException("QuotaExceededError");
  }

  getItem(key) {
    this.#check();
    return this.#values.get(key) ?? null;
  }

  setItem(key, value) {
    this.#check();
    this.#values.set(key, String(value));
  }

  removeItem(key) {
    this.#check();
    this.#values.delete(key);
  }

  get keys() {
    return [...this.#values.keys()];
  }
}

/** An element as the modules make it: a tag, a class, text and data. */
export class FakeElement {
  constructor(tag) {
    this.tagName = tag.toUpperCase();
    this.className = "";
    this.textContent = "";
    this.dataset = {};
  }
}

/** Put fresh storage and a document into the global scope. */
export function installBrowser() {
  globalThis.localStorage = new MemoryStorage();
  globalThis.sessionStorage = new MemoryStorage();
  globalThis.location = { pathname: "/chat/7/", search: "?q=a b" };
  globalThis.Element = FakeElement;
  globalThis.reportError = (error) => {
    throw error; // fails the test that runs
  };
  globalThis.document = {
    body: new EventTarget(),
    createElement: (tag) => new FakeElement(tag),
  };
  return { localStorage, sessionStorage, document };
}
