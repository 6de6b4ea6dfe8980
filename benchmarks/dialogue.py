"""An invented long chat between a trader and Keel, with questions about it.

One turn of the chat answers each question. Users answer in the words of the previous question ("Two percent, never
more.") or return to a subject in other words; many turns about the same markets surround these answers. `dialogue()`
builds the chat; the same arguments give the same chat.
"""

import random
from dataclasses import dataclass

# Keel's turn, the user's turn with the answer, Keel's next turn, and the question asked months later.
EVIDENCE = [
    ("What is the most you want to risk on one trade?", "Two percent of the account, never more.",
     "Noted, two percent it is.", "What is my maximum risk per trade?"),
    ("Which exchange are you on?", "Everything sits on Hyperliquid since last spring.",
     "Good, fees there are low.", "On which exchange do I trade?"),
    ("How much leverage are you comfortable with?", "Three, maybe five on a very good day.",
     "Let us plan with three.", "How much leverage do I accept?"),
    ("When do you usually sit at the screen?", "From seven to ten in the morning, before the office.",
     "So the London open.", "At what time of day do I trade?"),
    ("Do you hold positions over the weekend?", "No, I close all of them on Friday evening.",
     "That spares you the gaps.", "Do I keep positions on weekends?"),
    ("What made you lose the most last year?", "Averaging down on a LUNA long, I kept adding all the way to zero.",
     "A hard lesson.", "What was my worst loss?"),
    ("Where do you pay taxes?", "I moved to Portugal in 2023, so there.",
     "Then the one-year rule matters to you.", "In which country am I taxed?"),
    ("Why do you want to earn more with trading?", "We are saving for a house near my parents.",
     "A good reason to keep the risk small.", "What am I saving money for?"),
    ("By when do you need it?", "In about four years, when my daughter starts school.",
     "That is a fair horizon.", "How long until I need the money?"),
    ("How do you like my answers, long or short?", "Brief please, bullet points, and skip the disclaimers.",
     "Understood.", "How should replies be formatted?"),
    ("Which coins do you refuse to touch?", "Anything with a dog on it.",
     "No meme coins, then.", "Which coins do I avoid?"),
    ("What happens after two losing trades in a row?", "I walk away for the day. That rule saved me in May.",
     "Keep it.", "What do I do after consecutive losses?"),
    ("Which indicator do you trust?", "Funding above everything; the RSI has never helped me.",
     "Funding it is.", "Which indicator do I rely on?"),
    ("Who else sees your results?", "My wife gets a sheet every Sunday.",
     "That keeps you honest.", "With whom do I share my performance?"),
    ("What is your job, by the way?", "I am a nurse on the night shift three days a week.",
     "So some mornings you are tired.", "What is my profession?"),
    ("How big is the account?", "Eighteen thousand dollars, of which I use half.",
     "Nine thousand at work, then.", "What size is my account?"),
    ("Do you use stops on the exchange?", "Always, right behind the last swing low.",
     "Good habit.", "Where do I place my stop loss?"),
    ("When do you take profit?", "Half at one and a half times the risk, the rest trails.",
     "That is a sound plan.", "What is my profit target?"),
    ("Is there an event you stay out of?", "Flat an hour before the Fed speaks, no exceptions.",
     "FOMC noted.", "What do I do around central bank meetings?"),
    ("How long do you hold, as a rule?", "A few hours, hardly ever over night.",
     "Intraday.", "What is my usual holding period?"),
    ("Which time frame do you read?", "The fifteen minute chart, and the four hour one for the trend.",
     "Good combination.", "Which chart interval do I use?"),
    ("What is your biggest weakness?", "I get greedy after a win and double the size.",
     "We will watch for that.", "What mistake do I make when things go well?"),
    ("Do you short?", "Only bitcoin, and only under the two hundred day average.",
     "A clear filter.", "When do I go short?"),
    ("Did you ever pay for signals?", "A Telegram group took four hundred euros from me, never again.",
     "Many had that.", "Have I been scammed by a signal service?"),
    ("What do you drink while trading?", "Green tea. Coffee makes me jumpy and then I overtrade.",
     "Tea it is.", "Why do I stay away from caffeine?"),
    ("Is there a pair you know best?", "SOL, I have watched it every day since it was at twenty.",
     "Then it can be your main one.", "Which market do I know best?"),
    ("Should I address you formally?", "No, call me Mika.",
     "Hello Mika.", "What is my name?"),
    ("How do you record your trades?", "In a notebook, by hand, with a screenshot glued in.",
     "Unusual, and thorough.", "How do I keep my journal?"),
    ("What would make you stop for good?", "If the account falls under ten thousand I quit, I promised.",
     "I will remind you.", "At which drawdown do I give up?"),
    ("Do you hold anything long term?", "Half a bitcoin in cold storage which I will not sell before 2030.",
     "That stays outside of the plan.", "Do I have long-term investments?"),
    ("How do you feel about altcoin season?", "I missed the last one and it still hurts.",
     "Then fear of missing out may come back.", "What do I regret?"),
    ("What is your order type?", "Limit orders only, paying the spread annoys me.",
     "Patience pays there.", "Do I use market orders?"),
    ("Are there days on which you never trade?", "Mondays. My statistics for Mondays are terrible.",
     "Then Monday is a day for review.", "Which day of the week do I skip?"),
    ("Which book shaped you?", "Trading in the Zone, I have read it three times.",
     "A classic.", "What have I read about psychology?"),
    ("Do you code?", "A little Python, enough for a backtest.",
     "Then an export will be useful.", "Can I program?"),
    ("What is the goal for this year?", "Not the money: a hundred trades without breaking a rule.",
     "A process goal, good.", "What do I want to achieve this year?"),
    ("Any health matter I should respect?", "My eyes: no more than two hours on a screen at once.",
     "I will suggest breaks.", "How long can I look at a monitor?"),
    ("How did the prop firm challenge go?", "Failed it on the daily loss limit by twelve dollars.",
     "So close.", "How did my funded account evaluation end?"),
    ("Do you automate anything?", "Alerts to my phone at the levels, the clicking I do myself.",
     "Half automatic.", "Which part of my trading is automated?"),
    ("Is your partner on board?", "She is fine with it as long as the savings stay untouched.",
     "A fair deal.", "What does my wife think of trading?"),
]  # fmt: skip
QUESTIONS = [
    "What do you think of BTC today?", "Is ETH about to break out?", "Should I wait for the London open?",
    "The funding on SOL looks high, does it matter?", "How did my long do?", "Would you take profit here?",
    "Is this a good place for a stop?", "Why did the market fall an hour ago?", "How much did fees cost me this week?",
    "Can you look at my last ten trades?", "Is volume fading?", "What is the trend on the four hour chart?",
    "Is leverage of three too much for this setup?", "Did I break a rule yesterday?", "What is the risk of this trade?",
    "Are there events tomorrow?", "What does open interest say?", "Is the exchange down?", "How was Friday?",
    "Should the position be smaller?", "What is the plan for the weekend?", "Do you remember the loss of last Monday?",
]  # fmt: skip
ANSWERS = [
    "Price holds above {a} with the range of {b} days intact; I would wait for a close above it.",
    "Funding is at {b} basis points, which is high but not extreme. Your plan asks for patience here.",
    "You made {a} dollars on it, after fees of {b}. The exit followed the rule.",
    "The loss was {b} percent of the account, within the limit, but the entry came before the candle had closed.",
    "A stop below {a} risks {b} percent. A smaller position would let you give it room.",
    "The market fell {b} percent in an hour after a large liquidation; the trend on the day is unbroken.",
    "Three of your last ten trades were opened outside of your hours; they lost {a} dollars together.",
    "There is a release tomorrow at {b}:30. I would be flat, or half the size.",
    "Volume is {b} percent under its average, so a breakout would lack support.",
    "Nothing has changed since this morning: the level is {a}, and the exchange reports no trouble.",
]


@dataclass(frozen=True, slots=True)
class Dialogue:
    """The turns in order, and each question with the index of its answer."""

    turns: list[str]
    questions: list[tuple[str, int]]


def dialogue(*, fillers: int, seed: int = 7) -> Dialogue:
    """Return a chat with about `fillers` exchanges between the pieces of evidence."""
    pick = random.Random(seed)
    turns: list[str] = []
    questions: list[tuple[str, int]] = []

    def chat(count: int) -> None:
        for _ in range(count):
            turns.append(pick.choice(QUESTIONS))
            turns.append(pick.choice(ANSWERS).format(a=pick.randrange(900, 70_000), b=pick.randrange(2, 20)))

    for before, answer, after, question in pick.sample(EVIDENCE, len(EVIDENCE)):
        chat(pick.randrange(2 * fillers // len(EVIDENCE) + 1))
        turns += [before, answer, after]
        questions.append((question, len(turns) - 2))
    chat(fillers // len(EVIDENCE))
    return Dialogue(turns, questions)
