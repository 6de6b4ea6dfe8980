/**
 * Every frame of the chat's socket, as types: what the server sends and what the browser sends. No code.
 *
 * Ids are strings: a JavaScript number cannot hold every database id. `seq` counts the frames of one turn from 1; a
 * frame outside a turn repeats the running turn's last `seq`, or has 0.
 */

/** @typedef {string} MessageId */

/**
 * @typedef {object} ReplySnapshot  the reply that is being written, as far as it has come
 * @property {MessageId} message_id
 * @property {string} html  the finished blocks, as safe HTML
 * @property {string} tail  the open block, as plain text
 * @property {string} status  "streaming"
 */

/* --- From the server --- */

/**
 * @typedef {object} SnapshotFrame  the state of the conversation: after connecting, after `resume`, after a change elsewhere
 * @property {"snapshot"} type
 * @property {number} seq
 * @property {MessageId} last_message_id  "" in an empty chat
 * @property {ReplySnapshot | null} reply  null: no reply is being written
 */

/**
 * @typedef {object} AcceptedFrame  a turn began, or a message that was sent again is stored already
 * @property {"accepted"} type
 * @property {number} seq
 * @property {string | null} client_id  of the message that began the turn; null: a retry, an edit or a continuation
 * @property {MessageId | null} message_id  the user's message; null: no new one
 * @property {MessageId} reply_id
 * @property {string} html  the new messages
 * @property {MessageId} [replaces]  a retry: the reply whose place the new one takes
 * @property {MessageId[]} [removes]  an edit: the messages that are gone
 */

/**
 * @typedef {object} TextFrame  text of the reply: either `text`, or `html` with `tail`
 * @property {"text"} type
 * @property {number} seq
 * @property {MessageId} reply_id
 * @property {string} [text]  plain text to append to the open block
 * @property {string} [html]  the blocks that ended
 * @property {string} [tail]  the open block after that, as plain text
 */

/**
 * @typedef {object} ToolStartedFrame
 * @property {"tool_started"} type
 * @property {number} seq
 * @property {MessageId} reply_id
 * @property {string} html
 * @property {string} call_id
 */

/**
 * @typedef {object} ToolFinishedFrame
 * @property {"tool_finished"} type
 * @property {number} seq
 * @property {MessageId} reply_id
 * @property {string} html
 * @property {string} call_id
 */

/**
 * @typedef {object} MemoryFrame  a write to memory, as a line with Undo
 * @property {"memory"} type
 * @property {number} seq
 * @property {MessageId} reply_id
 * @property {string} html
 * @property {string} event_id
 */

/**
 * @typedef {object} CardFrame  a confirm card
 * @property {"card"} type
 * @property {number} seq
 * @property {MessageId} reply_id
 * @property {string} html
 * @property {string} card_id
 */

/**
 * @typedef {object} TitleFrame
 * @property {"title"} type
 * @property {number} seq
 * @property {string} title
 */

/**
 * @typedef {object} NoticeFrame
 * @property {"notice"} type
 * @property {number} seq
 * @property {MessageId | null} reply_id  null: about the conversation
 * @property {string} level  "info" is shown quietly, everything else as an alert
 * @property {string} text
 * @property {string | null} save_url  the form with the fact that the model did not save
 */

/**
 * @typedef {object} DoneFrame  the reply ended, complete or stopped
 * @property {"done"} type
 * @property {number} seq
 * @property {MessageId} reply_id
 * @property {string} status
 * @property {string} html  the whole article
 */

/**
 * @typedef {object} FailedFrame  a reply failed, or the server refused a client frame
 * @property {"failed"} type
 * @property {number} seq
 * @property {MessageId | null} reply_id  null: a client frame was refused
 * @property {string | null} client_id  the message that was refused
 * @property {string} text
 * @property {boolean} retry
 * @property {string | null} html  the whole article of the failed reply
 */

/**
 * @typedef {SnapshotFrame | AcceptedFrame | TextFrame | ToolStartedFrame | ToolFinishedFrame | MemoryFrame | CardFrame
 *   | TitleFrame | NoticeFrame | DoneFrame | FailedFrame} ServerFrame
 */

/* --- From the browser --- */

/**
 * @typedef {object} MessageFrame
 * @property {"message"} type
 * @property {string} client_id  a UUID made by the browser; the same one marks a resend
 * @property {string} text
 */

/**
 * @typedef {object} ResumeFrame  asks for a snapshot
 * @property {"resume"} type
 * @property {number} seq  of the last frame that was applied
 */

/**
 * @typedef {object} StopFrame
 * @property {"stop"} type
 */

/**
 * @typedef {object} RetryFrame
 * @property {"retry"} type
 */

/**
 * @typedef {object} ContinueFrame
 * @property {"continue"} type
 */

/**
 * @typedef {object} EditFrame
 * @property {"edit"} type
 * @property {MessageId} message_id
 * @property {string} text
 */

/** @typedef {MessageFrame | ResumeFrame | StopFrame | RetryFrame | ContinueFrame | EditFrame} ClientFrame */

export {};
