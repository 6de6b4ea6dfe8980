/** Start the panel beside another page. The scripts of its chat load when it is opened. */

import { listenForNewChat } from "./keys.js";
import { Panel } from "./panel.js";

const panel = document.querySelector("#coach-panel");
if (panel instanceof HTMLElement) listenForNewChat(new Panel(panel));
