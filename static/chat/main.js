/** Start the chat of its own page. */

import { listenForNewChat } from "./keys.js";
import { ChatPage } from "./page.js";

const page = document.querySelector(".chat[data-new-chat]");
if (page instanceof HTMLElement) listenForNewChat(new ChatPage(page));
