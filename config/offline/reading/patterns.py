"""The patterns that `sentences` and `statements` read with.

All match with straight apostrophes and without regard to case; those of sentences start at their beginning.
"""

import re


def any_of(*patterns: str) -> re.Pattern[str]:
    """Return a pattern that matches what any of some do."""
    return re.compile("|".join(f"(?:{pattern})" for pattern in patterns), re.IGNORECASE)


BREAK = re.compile(
    r"(?<=[.!?;])\s+|\s*\n+\s*|,\s+(?:(?:and|so|but)\s+)?(?=(?:please\s+)?remember that\b)", re.IGNORECASE
)
ABBREVIATION = re.compile(r"\b(?:e\.g|i\.e|vs|approx|incl|max|min|no)\.$", re.IGNORECASE)
CLAUSE = re.compile(r",?\s+(?:and|but|also|plus|while)\s+(?=(?:I|my)\b)|,\s+(?=(?:I|my)\b)", re.IGNORECASE)
BULLET = re.compile(r"^(?:[-*•]|\d{1,2}[.)])\s+")
NUMBER = re.compile(r"\d+(?:[.,:]\d+)*")
QUOTED = re.compile("^[>\"“”'`«]")

LEAD_IN = any_of(
    r"^(?:hi|hello|hey)(?: there| keel)?[,.!:]*\s+",
    r"^(?:well|so|ok|okay|also|and|but|plus|btw|fyi|by the way|for the record|in general|again|one more thing|anyway)"
    r"\b[,:;-]*\s+",
    r"^(?:just so you know|please note|note|you should know|as i said|i should (?:say|mention|add)|i want you to know)"
    r"(?: that)?[,:]*\s+",
)
CORRECTION = any_of(
    r"^(?:no[,:;.-]+|(?:nope|actually|correction|sorry|rather|instead|i mean|i meant|scratch that|not quite"
    r"|(?:i|i've) changed my mind(?: about (?:it|that))?|wrong)\b[,:;.-]*)\s+"
    r"(?:(?:sorry|actually|i mean|i meant|it's|its|that's)\b[,:;.-]*\s+)?",
    r"^(?:that|this|it)(?:'s| is) (?:wrong|not (?:right|true|correct)|incorrect)\b[,:;.-]*\s+",
)
EXPLICIT = any_of(
    r"^(?:(?:please|can you|could you|would you|will you|i(?:'d| would) like you to|i want you to|you (?:should|must"
    r"|can))\s+){0,3}(?:remember|memori[sz]e|keep in mind|bear in mind|make a note|take note|(?:do not|don't"
    r"|never) forget|(?:note down|write down|save|store)(?= that\b| this:|:))\b(?!\s+(?:me|when|what|how|who|why|where"
    r"|which|whether|if|the time|anything|everything|it|us)\b)(?:\s+(?:that|this|these|the following|of|for me"
    r"|for (?:the )?(?:future|later)|facts?|things?|rules?)\b)*\s*[:,-]*\s*"
)
QUESTION = any_of(
    r"^(?:what|which|who|whom|whose|where|why|how|do(?! not)|does|did|is|are|am|was|were|can|could|should|shall|would"
    r"|will|may|might|have|has|had|tell me|show me|give me|list)\b"
)
SUPPOSITION = any_of(
    r"^(?:if|suppose|supposing|imagine|assume|assuming|pretend|let's say|say i|hypothetically|what if|i wish|i wonder"
    r"|i could|i would|i'd|unless)\b",
    r"\b(?:would|could) (?:it|that) be\b",
)

NOT_LASTING = any_of(
    r"\b(?:today|tonight|tomorrow|yesterday|right now|so far|just now|earlier|a (?:minute|moment) ago|next week)\b",
    r"\b(?:this|last) (?:morning|afternoon|evening|week|night|session|trade|time|candle|hour)\b",
    r"\b\d+ (?:seconds?|minutes?|hours?|days?) ago\b",
    r"\bI(?:'m| am| was)(?: currently| now| already| still)* (?:long|short|flat|up|down|holding|stopped out|in (?:a "
    r"|an )?(?:trade|position|profit|loss|drawdown))\b",
    r"\bI(?:'ve| have)? just\b|\bI (?:bought|sold|opened|closed|entered|exited|lost|made|got|had)\b",
    r"\b(?:pnl|p&l|unreali[sz]ed|open positions?|current positions?|balance|equity)\b",
    r"\bmy (?:\w+ )?positions? (?:is|are|was|were)\b|\b(?:is|are) (?:up|down|green|red)\b",
    r"\bmy (?:stop(?:[- ]loss)?|target|entry|take[- ]profit) is (?:at )?\$?[\d.,]+k?$",
)
FOR_NOW = any_of(r"\b(?:currently|at the moment|for now|lately|these days|this (?:month|quarter))\b")
FROM_NOW_ON = re.compile(r"\bfrom now on\b", re.IGNORECASE)

OWN_PRESENT = any_of(
    r"^(?:I|I'm|my)\b(?!\s+(?:used|risked|traded|was|were|had|lost|made|could|would|might|should|want to know)\b)"
    r"(?!.*\b(?:this|that|these|those|he|she|they|friend|still|thinking|considering|wonder|maybe|thought)\b)"
)
HEDGE = any_of(
    r"^(?:I (?:think|guess|feel|believe|suppose|suspect)(?: that| like)?|maybe|perhaps|probably|apparently"
    r"|it (?:seems|looks)(?: that| like| as if)?)\s+(?=I\b|my\b)"
)
HEDGED_VERB = any_of(r"^I (?:seem|tend|appear) to\b|^I (?:probably|might|may|kind of|sort of|possibly)\b")

_NOT_THIS = (
    r"(?!\s+(?:it|this|that|these|those|you|your|me|what|how|the (?:idea|look|market|price|news|answer))\b"
    r"|\s+to (?:know|see|ask|hear|understand|check|talk|say|look)\b)"
)
_TRADING_VERB = (
    r"(?:trade|take|use|hold|touch|buy|sell|short|go|risk|do|add|average|scalp|chase|enter|leave|like|want|trust|pay"
    r"|invest|work|open|close|follow|exceed|put|keep|size|move|fade|look at|swing|day[- ]?trade|overtrade|let|carry)"
)
_GENERAL = (
    r"\b(?:every|each|before|after|whenever|per (?:trade|day|week|month|position)|at most|at least|max(?:imum)?"
    r"|(?:no|not|never) more than|less than|only|always|usually|by default|overnight|during|between|on (?:weekends?"
    r"|weekdays|mondays|tuesdays|wednesdays|thursdays|fridays|saturdays|sundays)|over (?:the )?weekends?)\b"
)
_MY_NOUN = (
    r"(?:goals?|aims?|targets?|objectives?|name|max(?:imum)?|min(?:imum)?|limits?|caps?|leverage|risk"
    r"|stops?(?:[- ]loss)?"
    r"|budget|account|capital|broker|exchange|time ?zone|sessions?|hours|style|strategy|favou?rites?|rules?|tax(?:es)?"
    r"|residen\w+|country|currency|drawdown|loss|size|time ?frames?|horizon|edge|weakness(?:es)?|strengths?|job"
    r"|experience|markets?|symbols?|coins?|pairs?|language|age|schedule|approach|setups?|mistakes?|instruments?)"
)
_PASSING_STATE = (
    r"(?!(?:losing|working|failing|going|doing|getting|hurting|bleeding|still|too|very|so|great|good|bad|fine|ok|okay"
    r"|unclear|what|why|how|not working)\b)"
)

LASTING = any_of(
    # Rules and habits.
    r"^I (?:never|always|only|usually|generally|normally|typically|mostly|mainly|rarely|seldom|often|regularly|strictly"
    r"|exclusively)\s+(?!(?:know|think|wonder|wanted|asked|ask|said|meant|was|were|got|had|want to (?:know|ask"
    r"|see))\b)\w",
    r"^I (?:prefer|avoid|hate|love|like|dislike|favou?r|enjoy|trust|distrust|focus on|speciali[sz]e in|follow|need)"
    rf"{_NOT_THIS}\s+(?!to (?:know|see|ask)\b)\S",
    r"^I (?:do not|don't|dont|can't|cannot|can not|won't|will not|must not|mustn't|no longer|refuse to|must)\s+"
    rf"(?:(?:ever|usually|really|generally|normally|want to|always|never)\s+)*{_TRADING_VERB}\b{_NOT_THIS}",
    r"^I (?:stopped|quit|gave up) (?:trading|using|holding|shorting|scalping|taking|buying|chasing)\b",
    rf"^I (?:trade|scalp|swing trade|day[- ]?trade|journal|backtest|invest)\b{_NOT_THIS}",
    r"^I (?:use|hold|close|stop|take|risk|size|enter|exit|cut|set|place|review|skip|work|keep|wait|reduce|move|scale"
    rf"|check|add|limit|cap|get out|walk away|go flat|sleep|pay)\b.*{_GENERAL}",
    r"^I (?:risk|limit|cap|pay)\b.*\d|^I use (?:limit|market|stop)\b|^I pay\b.*\btax",
    r"^(?:after|before|when|whenever|once|every time|on|during|outside)\b.{3,80}?,?\s+I (?:(?:always|usually|never"
    r"|only)\s+)?"
    r"(?:stop|don't|do not|trade|take|close|avoid|reduce|cut|skip|wait|walk away|journal|go flat|never|only)\b",
    r"^I (?:seem|tend|appear) to\s+\w",
    # Goals.
    r"^(?:I (?:want|aim|plan|hope|intend|would like|need|am trying|try)|I'm trying|I'd like) to (?:grow|retire|reach"
    r"|double|triple|become|earn|protect|preserve|limit|compound|get better|improve|live off|beat|learn (?:to|how)"
    r"|make (?:\$|€|£|\d|money|a living)|keep (?:my )?(?:risk|drawdown|losses)|turn (?:my|this|\$?\d))\b",
    r"^my (?:plan|dream) is to (?:grow|retire|reach|double|triple|become|earn|protect|live|quit|compound)\b",
    # Who the user is.
    rf"^my (?:[\w'-]+ ){{0,4}}?{_MY_NOUN}(?: [\w%/'-]+){{0,5}}? (?:is|are|=|equals|must be|should be"
    rf"|stays?)\s+{_PASSING_STATE}\S",
    r"^I(?:'m| am) (?:not )?(?:an? )?(?:[\w-]+ ){0,4}?(?:traders?|scalper|investor|beginner|novice|professional|quant"
    r"|student|engineer|follower|contrarian|resident|risk[- ]averse|conservative|new to|based in|from|living in|retired"
    r"|self-employed|\d+ years old)\b",
    r"^I (?:live|work|reside|bank)(?: [\w-]+)? (?:in|as|at|for|from|with)\b|^I started trading\b|^I(?:'ve"
    r"| have) (?:been trading|traded)\b",
    r"^I have (?:an?|about|around|over|\$?\d|two|three|four|five|ten)\b.*\b(?:account|job|kids|children|family|capital"
    r"|years|portfolio|budget|business)\b",
    r"^(?:(?:please|you can)\s+)*call me \w|^I go by \w",
    # Rules and wishes without a subject.
    r"^(?:please )?(?:always|never)\s+(?!mind\b)\w+ \w",
    r"^(?:please )?(?:keep|make) (?:your |the |all )*(?:answers?|repl(?:y|ies)|responses?|explanations?)\b",
    r"^(?:please )?(?:answer|reply|respond|speak|write|explain|show)\b.*\b(?:always|in (?:future|german|spanish|french"
    r"|italian|portuguese|english|dutch|plain \w+|utc|usd|eur))\b",
    r"^(?:please )?(?:do not|don't|dont) (?:ever )?(?:suggest|mention|recommend|propose|show|use|ask|remind|call) \w",
    r"^from now on\b",
    r"^no (?:alts?|altcoins?|meme ?coins?|memes|leverage|shorts|shorting|options|futures|overnight|weekend)\b",
    r"^(?:max(?:imum)?|at most|(?:no|not|never) more than)\s+\$?\d",
    r"^only (?:trade|btc|eth|sol|majors|long|short|suggest)\b",
)

TOPICS = (
    ("tax", any_of(r"\btax(?:es|able)?\b|\bcapital gains\b|\birs\b|\bhmrc\b|\bfinanzamt\b")),
    (
        "style",
        any_of(
            r"\b(?:answers?|repl(?:y|ies)|responses?|explanations?|emojis?|jargon|bullet points|tables?|charts in)\b",
            r"^(?:please )?(?:answer|reply|respond|speak|write|explain|show)\b",
        ),
    ),
    (
        "goal",
        any_of(
            r"\bmy (?:\w+ )*?(?:goal|aim|target|objective|plan|dream)\b",
            r"^(?:I (?:want|aim|plan|hope|intend|would like|need|am trying|try)|I'm trying|I'd like) to\b",
        ),
    ),
    (
        "risk",
        any_of(
            r"\bleverage\b|\b\d+(?:\.\d+)?\s?[x×](?!\w)|\bstop(?:s|ped)?\b|\bdraw ?downs?\b|\brisk\w*\b"
            r"|\bloss(?:es)?\b",
            r"\blos(?:e|ing)\b|\bper trade\b|\bposition siz\w+\b|\bexposure\b|\bmargin\b|\brevenge\b|\bovertrad\w+\b",
            r"\baverag\w+ down\b|\bmax(?:imum)?\b(?!.*\bhours?\b)|\bsize up\b",
        ),
    ),
    (
        "session",
        any_of(
            r"\b\d{1,2}[:.]\d\d\b|\b\d{1,2} ?(?:am|pm)\b|\butc\b|\bsessions?\b|\b(?:morning|afternoon|evening"
            r"|night)s?\b",
            r"\bovernight\b|\bweek(?:end|day)s?\b|\b(?:mon|tues|wednes|thurs|fri|satur|sun)days?\b|\bhours?\b"
            r"|\btime ?zone\b",
            r"\b(?:london|new york|ny|asian?|us|tokyo) (?:open|close|morning|session|hours)\b",
        ),
    ),
    (
        "symbols",
        any_of(
            r"\b(?:btc|bitcoin|eth|ethereum|sol|solana|xrp|doge|bnb|ada|avax|link|ltc|spx|eurusd|gold|oil)\b",
            r"\b(?:alts?|altcoins?|coins?|meme ?coins?|memes|majors|symbols?|pairs?|perps?|futures|options|stocks"
            r"|equities)\b",
            r"\bforex\b|\bfx\b|\bmarkets?\b|\binstruments?\b",
        ),
    ),
    (
        "account",
        any_of(
            r"\baccounts?\b|\bcapital\b|\bbrokers?\b|\bexchanges?\b|\bwallets?\b|\bbudget\b|\bportfolio\b|\bcurrency\b",
            r"\b(?:binance|bybit|hyperliquid|coinbase|kraken|okx|deribit|ibkr|interactive brokers)\b",
        ),
    ),
)
