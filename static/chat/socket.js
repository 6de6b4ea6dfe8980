const FIRST_DELAY_MS = 500;
const LONGEST_DELAY_MS = 30_000;
const CONNECT_MS = 10_000;
const PROBE_MS = 5_000;
const STABLE_MS = 5_000; // a connection that lived this long was a good one: back-off starts afresh
const SILENCE_MS = 20_000; // with an answer outstanding, longer silence is suspicious
const CHECK_EVERY_MS = 5_000;

/** Signed out, no such chat, too many tabs: trying again by ourselves would be wrong. */
const FINAL_CODES = new Set([4401, 4404, 4409]);

/**
 * @typedef {object} Listener
 * @property {(frame: import("./frames.js").ServerFrame) => void} onFrame
 * @property {() => void} onOpen
 * @property {(code: number) => void} onLost  closed, and will be opened again
 * @property {(code: number) => void} onRefused  closed for good, until `connect` is called again
 * @property {() => import("./frames.js").ClientFrame} probe  a frame that the server answers at once
 */

/** One conversation's WebSocket: opened again after every loss, with back-off and jitter. */
export class Socket {
  /** @type {WebSocket | null} */
  #socket = null;
  #url = "";
  #failures = 0;
  #openedAt = 0;
  #heardAt = 0;
  #retryTimer = 0;
  #deadline = 0;

  /** Set while an answer is outstanding: then a long silence is looked into. */
  expecting = false;

  /** @param {Listener} listener */
  constructor(listener) {
    this.listener = listener;
    addEventListener("online", () => this.#wake());
    addEventListener("pageshow", (event) => event.persisted && this.#wake());
    document.addEventListener("visibilitychange", () => document.hidden || this.#wake());
    setInterval(() => this.expecting && this.#doubt(), CHECK_EVERY_MS);
  }

  /** @returns {boolean} */
  get isOpen() {
    return this.#socket?.readyState === WebSocket.OPEN;
  }

  /** @param {string} path */
  connect(path) {
    const url = new URL(path, location.href);
    url.protocol = location.protocol === "https:" ? "wss:" : "ws:";
    this.#url = url.href;
    this.#failures = 0;
    this.#open();
  }

  /** Close and stay closed. */
  close() {
    this.#url = "";
    this.#letGo();
  }

  /**
   * @param {import("./frames.js").ClientFrame} frame
   * @returns {boolean} false when there is no connection to send it on
   */
  send(frame) {
    if (!this.isOpen) return false;
    this.#socket?.send(JSON.stringify(frame));
    return true;
  }

  /** Ask the server something; if it stays silent the connection is dead, whatever the browser says. */
  probe() {
    if (!this.send(this.listener.probe())) return;
    const askedAt = performance.now();
    this.#setDeadline(PROBE_MS, () => this.#heardAt < askedAt && this.#giveUp());
  }

  #open() {
    this.#letGo();
    const socket = new WebSocket(this.#url);
    this.#socket = socket;
    socket.addEventListener("open", () => this.#opened(socket));
    socket.addEventListener("message", (event) => this.#heard(socket, event.data));
    socket.addEventListener("close", (event) => socket === this.#socket && this.#closed(event.code));
    this.#setDeadline(CONNECT_MS, () => this.#giveUp());
  }

  /** @param {WebSocket} socket */
  #opened(socket) {
    if (socket !== this.#socket) return;
    clearTimeout(this.#deadline);
    this.#openedAt = this.#heardAt = performance.now();
    this.listener.onOpen();
  }

  /**
   * @param {WebSocket} socket
   * @param {string} data
   */
  #heard(socket, data) {
    if (socket !== this.#socket) return;
    this.#heardAt = performance.now();
    this.listener.onFrame(JSON.parse(data));
  }

  /** @param {number} code */
  #closed(code) {
    const wasStable = this.#openedAt && performance.now() - this.#openedAt > STABLE_MS;
    this.#letGo();
    if (FINAL_CODES.has(code)) {
      this.#url = "";
      this.listener.onRefused(code);
      return;
    }
    this.#failures = wasStable ? 0 : this.#failures + 1;
    const delay = Math.min(LONGEST_DELAY_MS, FIRST_DELAY_MS * 2 ** Math.max(0, this.#failures - 1));
    this.#retryTimer = setTimeout(() => this.#open(), delay * (0.5 + Math.random() / 2));
    this.listener.onLost(code);
  }

  #giveUp() {
    this.#closed(1006);
  }

  /** The network or the user is back: try now, and do not trust an old connection blindly. */
  #wake() {
    if (!this.#url) return;
    if (!this.#socket) this.#open();
    else this.#doubt();
  }

  #doubt() {
    if (this.isOpen && performance.now() - this.#heardAt > SILENCE_MS) this.probe();
  }

  #letGo() {
    clearTimeout(this.#retryTimer);
    clearTimeout(this.#deadline);
    const socket = this.#socket;
    this.#socket = null;
    this.#openedAt = 0;
    // Closing one that is still connecting would be reported as an error on the console.
    if (socket?.readyState === WebSocket.CONNECTING) socket.addEventListener("open", () => socket.close());
    else socket?.close();
  }

  /**
   * @param {number} ms
   * @param {() => void} act
   */
  #setDeadline(ms, act) {
    clearTimeout(this.#deadline);
    this.#deadline = setTimeout(act, ms);
  }
}
