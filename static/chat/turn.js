import { replyText } from "../js/copy.js";
import { make } from "./html.js";
import { FrameOrder } from "./order.js";

/** @type {Record<string, string>} */
const ENDINGS = { complete: "Answer complete", interrupted: "Stopped", failed: "The answer failed." };

/** @typedef {import("./frames.js").ServerFrame} ServerFrame */

/**
 * @template {ServerFrame["type"]} T
 * @typedef {Extract<ServerFrame, { type: T }>} FrameOf
 */

/**
 * @typedef {object} TurnListener
 * @property {(running: boolean) => void} onRunning
 * @property {(clientId: string | null) => void} onAccepted  the server has this message
 * @property {(frame: FrameOf<"failed">) => void} onRefused  something sent was not taken; no reply is concerned
 * @property {(title: string) => void} onTitle
 * @property {(frame: ServerFrame) => void} onTaken  a frame was taken in: what waits to be sent may be due
 * @property {() => void} onGap  frames were missed, a snapshot is needed
 * @property {() => Promise<void>} onBehind  the page lacks messages: fetch them
 */

/** Applies the server's frames in order and shows them in the thread. */
export class Turn {
  /** Frames are applied one after another, also while one of them waits for a request. */
  #queue = Promise.resolve();

  /**
   * @param {import("./thread.js").Thread} thread
   * @param {import("./announcer.js").Announcer} announcer
   * @param {TurnListener} listener
   */
  constructor(thread, announcer, listener) {
    this.thread = thread;
    this.announcer = announcer;
    this.listener = listener;
    this.running = false;
    this.order = new FrameOrder();
  }

  /** Start with another conversation; drop waiting frames of the last one. */
  reset() {
    this.order = new FrameOrder();
    this.#queue = Promise.resolve();
    this.setRunning(false);
  }

  /** @param {ServerFrame} frame */
  take(frame) {
    const { order } = this;
    this.#queue = this.#queue.then(() => (order === this.order ? this.#judge(frame) : undefined)).catch(reportError);
  }

  /** @param {ServerFrame} frame */
  async #judge(frame) {
    const { order } = this;
    const verdict = order.judge(frame);
    if (verdict === "gap") {
      order.expectSnapshot();
      this.listener.onGap();
    } else if (verdict === "apply") {
      // The map pairs each type with its frame; a server that is newer than this page may send an unknown type.
      const handle = /** @type {((frame: ServerFrame) => void | Promise<void>) | undefined} */ (
        this.#handlers[frame.type]
      );
      await handle?.(frame);
      if (order === this.order) this.listener.onTaken(frame);
    }
  }

  /** @param {boolean} running  a reply is being written */
  setRunning(running) {
    if (running && !this.running) this.announcer.status("Keel is answering…");
    this.running = running;
    this.listener.onRunning(running);
  }

  /** @type {{ [T in ServerFrame["type"]]: (frame: FrameOf<T>) => void | Promise<void> }} */
  #handlers = {
    snapshot: (frame) => this.#snapshot(frame),
    accepted: (frame) => this.#accepted(frame),
    text: ({ reply_id, text, html, tail }) => {
      const reply = this.thread.reply(reply_id);
      if (typeof html === "string") reply.close(html, tail ?? "");
      else reply.append(text ?? "");
    },
    tool_started: ({ reply_id, html }) => void this.thread.reply(reply_id).put(html),
    tool_finished: ({ reply_id, html }) => {
      const tool = this.thread.reply(reply_id).put(html);
      // The draft beside the chat, where there is one, looks at once.
      if (tool?.dataset.tool?.startsWith("set_")) document.body.dispatchEvent(new CustomEvent("keel:draft"));
    },
    memory: ({ reply_id, html }) => {
      const line = this.thread.reply(reply_id).put(html);
      this.announcer.status(line?.querySelector(".memory-line__label")?.textContent ?? "Memory changed");
    },
    card: ({ reply_id, html }) => {
      const card = this.thread.reply(reply_id).put(html);
      this.announcer.status(`Keel prepared an action: ${card?.querySelector(".action-card__title")?.textContent ?? ""}`);
    },
    title: ({ title }) => this.listener.onTitle(title),
    notice: ({ level, text, save_url }) => {
      if (level === "info") this.announcer.status(text);
      else this.announcer.alert(text, save_url ? saveLink(save_url) : undefined);
    },
    done: ({ reply_id, status, html }) => {
      this.thread.finish(reply_id, status, html);
      this.#ended(reply_id);
    },
    failed: (frame) => this.#failed(frame),
  };

  /** @param {FrameOf<"snapshot">} frame */
  async #snapshot({ last_message_id, reply }) {
    const streaming = reply?.status === "streaming" ? reply : null;
    const open = this.thread.streamingId;
    const stale = open !== "" && open !== streaming?.message_id;
    if (stale || (last_message_id && !this.thread.find(last_message_id))) await this.listener.onBehind();
    if (streaming) {
      this.thread.reply(streaming.message_id).restore(streaming.html, streaming.tail ?? "");
      this.setRunning(true);
    } else if (this.running) {
      this.#ended(open);
    }
  }

  /** @param {FrameOf<"accepted">} frame */
  #accepted({ client_id, reply_id, replaces, removes, html }) {
    this.thread.dropRetries();
    for (const id of removes ?? []) this.thread.remove(id);
    this.thread.add(html, { keep: true, replaces });
    this.thread.dropPending(client_id);
    this.listener.onAccepted(client_id);
    this.announcer.clearAlert();
    // The answer to a resend may name a reply that has long been finished.
    this.setRunning(this.thread.reply(reply_id).isStreaming);
  }

  /** @param {FrameOf<"failed">} frame */
  #failed(frame) {
    const { reply_id, client_id, text, retry, html } = frame;
    if (client_id || !reply_id) this.listener.onRefused(frame);
    if (!reply_id) return;
    if (html) this.thread.finish(reply_id, "failed", html);
    else this.thread.reply(reply_id).fail(text, retry);
    this.setRunning(false);
    this.announcer.status(text);
  }

  /** @param {import("./frames.js").MessageId} replyId */
  #ended(replyId) {
    this.setRunning(false);
    const article = this.thread.find(replyId);
    if (!article) return;
    const error = article.querySelector(".message__error")?.textContent;
    this.announcer.status(error || (ENDINGS[article.dataset.status ?? ""] ?? "Answer complete"));
    this.announcer.speak(replyText(article));
  }
}

/**
 * @param {string} url
 * @returns {HTMLAnchorElement}
 */
function saveLink(url) {
  const link = make("a", "btn btn--small", "Save it");
  link.href = url;
  return link;
}
