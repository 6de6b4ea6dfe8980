"""Pairs of lines that a person may say one after the other, labelled before the judge was written.

Even rows tuned the judge; odd rows were kept unseen until it was done.
"""

# Both hold: nothing is replaced, and the second is not taken for known.
COMPATIBLE = [
    ("I trade on Binance", "I trade on Bybit"),
    ("I use Kraken for spot", "I use Deribit for options"),
    ("I risk 1% per trade", "My wife risks 5% per trade"),
    ("My max leverage is 3x", "My brother uses 20x leverage"),
    ("I risk 1% per trade", "After a loss I risk 0.5%"),
    ("My max leverage is 5x", "My average leverage is 5x"),
    ("I am a swing trader", "I also scalp the open"),
    ("My stop is 2%", "On SOL my stop is 4%"),
    ("My first target is 2%", "My second target is 5%"),
    ("I live in Oslo", "My parents live in Bergen"),
    ("Max leverage is 3x", "Min leverage is 1x"),
    ("I trade BTC", "I trade ETH as well now"),
    ("I take at most 4 trades a day", "In my paper account I take at most 10 trades a day"),
    ("My daily loss limit is 2%", "My weekly loss limit is 5%"),
    ("I risk 1% on majors", "I risk 0.5% on alts"),
    ("I never trade on Fridays", "I never trade on Sundays"),
    ("I never use market orders", "I never use stop orders on weekends"),
    ("I trade from 9:00 to 11:00", "On Wednesdays I trade from 14:00 to 16:00"),
    ("My max position is 10% of equity", "My max drawdown is 10%"),
    ("I stop after three losses", "I take a break after two wins"),
    ("My base currency is EUR", "My friend's base currency is USD"),
    ("I answer to a risk committee", "Keep answers short"),
    ("I prefer short answers", "I want long explanations for tax questions"),
    ("I have two accounts on Kraken", "I have an account on Bitstamp"),
    ("My mentor trades with 10x leverage", "I never trade with more than 2x leverage"),
    ("I use 2x leverage", "My leverage limit is 4x"),
    ("I want to retire at 55", "My husband wants to retire at 60"),
    ("I avoid memecoins", "I avoid leverage"),
    ("I take profit at 3% on day trades", "I take profit at 10% on swing trades"),
    ("I trade London", "I trade New York"),
]

# Both cannot hold: the second replaces the first, or the person is asked.
EXCLUSIVE = [
    ("I always use a stop", "I don't use stops any more"),
    ("I have no daily loss limit", "My daily loss limit is 2%"),
    ("I never trade alts", "I trade alts again"),
    ("I hate scalping", "I love scalping"),
    ("My max leverage is 5x", "2x is my ceiling"),
    ("I trade on Binance", "I moved to Bybit"),
    ("I work nights", "I no longer work nights"),
    ("I journal every trade", "I stopped journaling"),
    ("My cap is 3 trades per day", "No more than five trades a day"),
    ("I like early entries", "I dislike early entries"),
    ("I hold positions overnight", "I never hold positions overnight"),
    ("I risk 2% per trade", "I lowered my risk to 1% per trade"),
    ("I live in Oslo", "I just moved to Porto"),
    ("I only trade BTC", "I only trade ETH"),
    ("My stop is always 2%", "My stop is 3% now"),
    ("I drink coffee before the open", "I quit coffee before the open"),
    ("Answer in Spanish", "Answer in English from now on"),
    ("I use Kraken", "I closed my Kraken account"),
    ("My account is 10k", "My account is 25k now"),
    ("I can trade at work", "I can't trade at work any more"),
    ("I am single", "I am not single any more"),
    ("I never add to losers", "I add to losers"),
    ("My drawdown limit is 10%", "My drawdown limit is 15%"),
    ("My goal is 2% a month", "My goal is 4% a month"),
    ("I sleep eight hours", "I sleep six hours"),
]

# What ends, begins again or comes on top is never known already.
NOT_KNOWN = [
    ("I use Bybit", "I closed my Bybit account"),
    ("I have a Kraken account", "I deleted my Kraken account"),
    ("I trade gold", "I sold all my gold"),
    ("I scalp", "I gave up scalping"),
    ("My max leverage is 3x", "My typical leverage is 3x"),
    ("I trade with a coach", "I fired my coach"),
    ("I trade BTC", "I trade BTC again"),
    ("I smoke", "I quit smoking"),
    ("I trade the Asian session", "I dropped the Asian session"),
    ("I risk 1%", "My partner risks 1%"),
]
