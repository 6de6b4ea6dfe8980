/** @typedef {import("./frames.js").MessageId} MessageId */
/** @typedef {import("./frames.js").ServerFrame} ServerFrame */

/**
 * Keeps the frames of a turn in order: applies no frame twice and none after a gap.
 *
 * A snapshot sets the sequence number, an accepted message starts a new sequence. After a gap the page ignores frames
 * until the next of these, since text appended after a missing frame would stay wrong.
 */
export class FrameOrder {
  constructor() {
    /** @type {MessageId | null} */
    this.replyId = null;
    this.seq = 0;
    this.waiting = true;
  }

  /** Ignore frames of the reply until the next snapshot: the connection is new, or frames were missed. */
  expectSnapshot() {
    this.waiting = true;
  }

  /**
   * @param {ServerFrame} frame
   * @returns {"apply" | "ignore" | "gap"}
   */
  judge(frame) {
    if (frame.type === "snapshot") return this.#start(frame.reply?.message_id ?? null, frame.seq);
    if (frame.type === "accepted") return this.#accept(frame);
    const replyId = "reply_id" in frame ? frame.reply_id : null;
    if (!replyId) return this.#passLoose(frame);
    if (this.waiting) return "ignore";
    if (replyId !== this.replyId || frame.seq > this.seq + 1) return "gap";
    if (frame.seq <= this.seq) return "ignore";
    this.seq = frame.seq;
    return "apply";
  }

  /**
   * An answer to a resend names an older reply or the running one: it must not set the count back.
   *
   * @param {import("./frames.js").AcceptedFrame} frame
   * @returns {"apply"}
   */
  #accept(frame) {
    const running = this.replyId === frame.reply_id;
    return this.#start(frame.reply_id, running ? Math.max(this.seq, frame.seq) : frame.seq);
  }

  /**
   * Titles, notices and refusals stand alone: a late one does no harm, and a hole before one shows at the
   * next frame of the reply.
   *
   * @param {ServerFrame} frame
   * @returns {"apply"}
   */
  #passLoose(frame) {
    if (frame.seq === this.seq + 1) this.seq = frame.seq;
    return "apply";
  }

  /**
   * @param {MessageId | null} replyId
   * @param {number} seq
   * @returns {"apply"}
   */
  #start(replyId, seq) {
    this.replyId = replyId;
    this.seq = seq;
    this.waiting = false;
    return "apply";
  }
}
