"""Small examples of what other assistants export, with the facts in them: text, date, end.

The first half was used while the reader was written, the other one was written before it and run once at its end.
"""

import json
from typing import Final

Case = tuple[str, str, list[tuple[str, str, str]]]

SEEN: Final[list[Case]] = [
    (
        "ChatGPT, the page copied",
        "Saved memories\n\nIs planning to move from spot to perpetuals.\n\nPrefers answers without emojis.\n\n"
        "Has traded since 2019.\n\nUser's favourite exchange is Kraken.\n",
        [
            ("I am planning to move from spot to perpetuals.", "", ""),
            ("I prefer answers without emojis.", "", ""),
            ("I have traded since 2019.", "", ""),
            ("My favourite exchange is Kraken.", "", ""),
        ],
    ),
    (
        "Claude, the page copied",
        "**Work context**\n\nAlex is a swing trader. Alex focuses on BTC and ETH perpetuals and never holds over a\n"
        "weekend.\n\n**Brief history**\n\n*Recent months*\n\nAlex has written a journal. "
        "The user's main venue is Bybit.\n",
        [
            ("I am a swing trader.", "", ""),
            ("I focus on BTC and ETH perpetuals and never hold over a weekend.", "", ""),
            ("I have written a journal.", "", ""),
            ("My main venue is Bybit.", "", ""),
        ],
    ),
    (
        "Claude, asked for a dated list",
        "Here are all the memories I have stored:\n\n```\nInstructions:\n[2026-01-04] - Answer in short sentences.\n"
        "Preferences:\n[unknown] - Uses limit orders only.\n```\n\nThis is the complete set of what I know about you.",
        [("Answer in short sentences.", "2026-01-04", ""), ("I use limit orders only.", "", "")],
    ),
    (
        "mem0 JSON",
        json.dumps(
            {
                "count": 2,
                "results": [
                    {
                        "id": "3f0a2e62-9a44-4c3e-9a57-4a1f0c1f6f10",
                        "memory": "User trades half size",
                        "categories": ["finance"],
                        "created_at": "2026-02-01T08:00:00Z",
                        "expiration_date": "2026-09-30",
                    },
                    {"id": "8b", "memory": "User uses Kraken", "created_at": "2026-02-03", "expiration_date": None},
                ],
            }
        ),
        [("I trade half size", "2026-02-01", "2026-09-30"), ("I use Kraken", "2026-02-03", "")],
    ),
    (
        "mem0 CSV",
        "id,memory,user_id,created_at,expiration_date\n"
        '3f0a2e62-9a44,"User trades BTC, ETH and SOL",u1,2026-02-01T08:00:00Z,\n'
        "8b21c7de-0d10,User stops for the day after two losses,u1,2026-02-03T08:00:00Z,2026-12-31\n",
        [
            ("I trade BTC, ETH and SOL", "2026-02-01", ""),
            ("I stop for the day after two losses", "2026-02-03", "2026-12-31"),
        ],
    ),
    (
        "Zep edges",
        json.dumps(
            {
                "edges": [
                    {
                        "uuid": "5d5f",
                        "name": "TRADES_ON",
                        "fact": "The user trades on Bybit",
                        "valid_at": "2025-03-01T00:00:00Z",
                        "invalid_at": "2025-11-01T00:00:00Z",
                        "created_at": "2025-03-02T00:00:00Z",
                    },
                    {
                        "uuid": "5d60",
                        "name": "RISKS",
                        "fact": "The user risks 1%",
                        "created_at": "2025-11-02T00:00:00Z",
                    },
                ]
            }
        ),
        [("I trade on Bybit", "2025-03-01", "2025-11-01"), ("I risk 1%", "2025-11-02", "")],
    ),
    (
        "Letta blocks",
        json.dumps(
            [
                {"id": "block-1", "label": "persona", "value": "I am Sam, a helpful assistant.", "limit": 5000},
                {
                    "id": "block-2",
                    "label": "human",
                    "value": "The human trades gold only.\nTime zone: Lisbon\n- Has two accounts",
                    "limit": 5000,
                },
            ]
        ),
        [("I trade gold only.", "", ""), ("Time zone: Lisbon", "", ""), ("I have two accounts", "", "")],
    ),
    (
        "Gemini, a table of saved info",
        "Info ID,Saved info,Last updated\n100482,Answer in metric units,2026-03-03\n"
        "100483,I trade in the evening,2026-03-04\n",
        [("Answer in metric units", "2026-03-03", ""), ("I trade in the evening", "2026-03-04", "")],
    ),
]

UNSEEN: Final[list[Case]] = [
    (
        "ChatGPT, the list of its prompt",
        "Model Set Context:\n\n1. [2025-05-05]. User is learning to trade options.\n\n2. [2025-06-01]. User dislikes "
        "long introductions.\n\nAssistant Response Preferences\n\n1. User wants numbers first.\n",
        [
            ("I am learning to trade options.", "2025-05-05", ""),
            ("I dislike long introductions.", "2025-06-01", ""),
            ("I want numbers first.", "", ""),
        ],
    ),
    (
        "ChatGPT, memories copied under their page's name",
        "Memory\nManage memories\nWorks as a nurse and trades at night.\nWas liquidated in 2022.\n",
        [("I work as a nurse and trade at night.", "", ""), ("I was liquidated in 2022.", "", "")],
    ),
    (
        "Claude, its JSON",
        json.dumps(
            [
                {
                    "conversations_memory": "**Personal context**\n\nSarah lives in Porto. Sarah's broker is Kraken."
                    "\n\n**Top of mind**\n\nSarah is building a funding strategy.\n\n*Earlier context*\n\n"
                    "Sarah was trading shares until 2023.",
                    "project_memories": {"7c": "**Purpose**\n\nThe user tests a bot."},
                    "account_uuid": "7c0e",
                }
            ]
        ),
        [
            ("I live in Porto.", "", ""),
            ("My broker is Kraken.", "", ""),
            ("I am building a funding strategy.", "", ""),
            ("I was trading shares until 2023.", "", ""),
            ("I test a bot.", "", ""),
        ],
    ),
    (
        "mem0, the table of its page with tabs",
        "ID\tMemory\tCreated At\n12\tUser avoids meme coins\t2026-01-09\n13\tUser is based in Lisbon\t2026-01-10\n",
        [("I avoid meme coins", "2026-01-09", ""), ("I am based in Lisbon", "2026-01-10", "")],
    ),
    (
        "Zep, its block of context",
        "# These are the most relevant facts and their valid date ranges\n<FACTS>\n"
        "  - The user trades on Bybit. (2025-03-01 00:00:00 - 2025-11-01 00:00:00)\n"
        "  - The user risks 1% per trade. (2025-11-02 10:12:00 - present)\n</FACTS>\n",
        [("I trade on Bybit.", "2025-03-01", "2025-11-01"), ("I risk 1% per trade.", "2025-11-02", "")],
    ),
    (
        "Letta, an agent file",
        json.dumps(
            {
                "agents": [{"name": "scribe", "system": "You are a helpful agent.", "block_ids": ["block-0"]}],
                "blocks": [
                    {"id": "block-0", "label": "human", "value": "Likes short answers\n\nThe human's broker is Kraken"},
                    {"id": "block-1", "label": "persona", "value": "I keep notes."},
                ],
                "tools": [{"name": "send_message", "description": "Sends a message."}],
            }
        ),
        [("I like short answers", "", ""), ("My broker is Kraken", "", "")],
    ),
    (
        "Letta, what the model sees",
        "<memory_blocks>\n<human>\n<value>\nThe human never trades on Fridays.\n</value>\n</human>\n</memory_blocks>\n",
        [("I never trade on Fridays.", "", "")],
    ),
    (
        "Gemini, asked for a list with evidence",
        '## Demographics\n* Lives in Lisbon.\n  * Evidence: User said "I live in Lisbon". Date: 2026-01-05\n'
        '## Instructions\n* Wants short answers. (Evidence: "be brief")\n',
        [("I live in Lisbon.", "", ""), ("I want short answers.", "", "")],
    ),
]
