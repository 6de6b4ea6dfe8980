"""Whose words stand in a message: of others, the person's own, or the person's own without being meant.

Each set has two halves; the reader was written with the first one in view, the second was run unseen.
"""

from typing import Final

BAD: Final = "I always use 60x leverage"
GOOD: Final = "I trade only BTC"

# Messages with BAD in the words of somebody else. Of two messages the first opens the second.
OTHERS_TUNED: Final = (
    ("Max 14:02\nI always use 60x leverage",),
    ("Is this sentence correct English: I always use 60x leverage",),
    ("My next message is from my cousin.", "I always use 60x leverage."),
    ("How do I say this in German? I always use 60x leverage.",),
    ("He has rules such as I always use 60x leverage.",),
    ("I always use 60x leverage — Livermore",),
    ("Someone told me:\nI always use 60x leverage",),
    ("RULES OF THE HOUSE\n\nI always use 60x leverage",),
    ("Examples of bad habits:\n- I always use 60x leverage\n- I never use stops",),
    ("Translate to French please\n\nI always use 60x leverage",),
    ("Person A: hi\nPerson B: I always use 60x leverage",),
    ("Q: leverage?\nA: I always use 60x leverage",),
    ("Write a story. It starts with I always use 60x leverage.",),
    ("(from the chat) I always use 60x leverage",),
    ("5/3/26, 14:02 - Max - I always use 60x leverage",),
)
OTHERS_UNSEEN: Final = (
    ("Lena, today at 9:15 AM\nI always use 60x leverage",),
    ("Proofread: hello there. I always use 60x leverage.",),
    ("I'll paste my friend's notes in the next message", "I always use 60x leverage"),
    ("Can you improve the wording? I always use 60x leverage.",),
    ("Beginners write things like I always use 60x leverage.",),
    ("I always use 60x leverage. (Jesse L.)",),
    ("Chapter 3: Going big\n\nI always use 60x leverage.",),
    ("Typical lies on forums:\n* I always use 60x leverage",),
    ("Here is the caption I need shortened\nI always use 60x leverage",),
    ("whale99> I always use 60x leverage",),
    ("Interviewer — leverage?\nTrader — I always use 60x leverage",),
    ("u/whale99 · 3h ago\nI always use 60x leverage\n12 upvotes",),
    ("A client tells you this. I always use 60x leverage. What do you answer?",),
    ("Repeat after me: I always use 60x leverage",),
    ("My character in the game speaks: I always use 60x leverage",),
)
# Messages with GOOD as the person's own statement.
OWN_TUNED: Final = (
    "Please check this for me:\nI trade only BTC.",
    "Subject: hello\nI trade only BTC.",
    "Hi Keel,\n\nI trade only BTC.",
    "Quick update\n\nI trade only BTC.",
    "Good morning!\nI trade only BTC.",
    "About me:\n- I trade only BTC.\n- I live in Porto.",
    "Two things: I trade only BTC. And my stop is 2%.",
    "My setup:\n1. I trade only BTC\n2. I never short",
    "I read the news. I trade only BTC.",
    "What do you think?\nI trade only BTC.",
)
OWN_UNSEEN: Final = (
    "Thanks for the summary.\n\nI trade only BTC.",
    "Can you review my plan?\nI trade only BTC.",
    "Re your question: I trade only BTC.",
    "Let me explain:\n\nI trade only BTC.",
    "New rule from today:\nI trade only BTC.",
    "Hey, look at this please:\nI trade only BTC.",
    "My answers:\na) I trade only BTC\nb) yes",
    "14:00 is too late for me. I trade only BTC.",
    "Max leverage: 5x\nI trade only BTC.",
    "OK, here goes.\nI trade only BTC.",
)
# The person's own words that state nothing: denied, supposed, dreamt, or taken back.
UNMEANT_TUNED: Final = (
    "I always use 60x leverage. Just kidding.",
    "I dreamt that I always use 60x leverage.",
    "It's not true that I always use 60x leverage.",
    "People think I always use 60x leverage.",
    "Suppose I always use 60x leverage.",
    "I always use 60x leverage, not!",
    "As if I always use 60x leverage.",
    "I never said I always use 60x leverage.",
    "I always use 60x leverage? No way.",
    "I'd be mad to say I always use 60x leverage.",
)
UNMEANT_UNSEEN: Final = (
    "I always use 60x leverage. Joke!",
    "Last night in my dream I always use 60x leverage.",
    "It would be wrong to say I always use 60x leverage.",
    "My ex believes I always use 60x leverage.",
    "Let's pretend: I always use 60x leverage.",
    "I always use 60x leverage... nah.",
    "Nobody can claim I always use 60x leverage.",
    "I always use 60x leverage. I wish.",
    "In another life I always use 60x leverage.",
    "I always use 60x leverage when pigs fly.",
)
