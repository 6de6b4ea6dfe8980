"""What people say of themselves: lasting facts, passing remarks, and changes of what is known.

Written before the rules. The rules were tuned on the rows with even numbers; the others are unseen.
"""

import re
from typing import Final

# Each lasts. The text that is kept follows the bar where it is not the whole message.
LASTING: Final = """
I never risk more than 1% on a single trade
Anything above 5x leverage makes me nervous
Stops are sacred to me
My account is with Kraken
I'm in Berlin, so CET | I'm in Berlin, so CET
Weekends are off limits for me
I can't stomach drawdowns of more than 10%
I stick to BTC and ETH
Alts are not for me
I've been trading crypto since 2017
I got into trading in 2019
Trading is my full-time job
I only have time in the evenings
I work a day job, so I can only trade after 6pm
I prefer swing trading to scalping
Mean reversion suits me better than momentum
I'm risk averse
Losing more than $500 in a day ruins my week
Two losses in a row and I'm done for the day
I close everything before the weekend
Every trade of mine has a stop
I like my answers short
Please keep your answers brief
Talk to me like I'm a beginner
Don't use emojis with me
I pay taxes in Spain
My wife handles our taxes
I have about 20k to trade with
My trading capital is $20,000
I'm saving for a house
The plan is to live off trading by 40
I'd like to double my account in a year
I can afford to lose 2,000 dollars at most
I hate holding overnight
No overnight positions for me
I don't touch anything but perps
Funding payments annoy me, so I avoid holding perps for long
I tend to overtrade when I'm bored
I get reckless after a big win
Fear of missing out is my biggest problem
I always journal my trades on Sundays
I review my trades on Sundays
My best setups are breakouts on the 4h chart
I use the 4h chart
I size positions at 2% of equity
My typical position is 3% of the account
I don't trade around CPI or FOMC
News days are not for me
I'm an engineer by profession
I'm a nurse and work nights
My kids wake up at 7, so mornings don't work for me
Call me Jo
I'm 34 years old
My broker charges 5 bps per trade
I trade on Bybit
I keep half of my money in stablecoins
My time zone is Europe/Madrid
I can only check the charts twice a day
Until the end of March I trade half size
For the next two weeks I only trade on paper
""".strip().splitlines()

# None lasts: moods, today's trades, questions, plans for one trade, others, irony, hypotheses.
PASSING: Final = """
I always forget how funding works
I'm long BTC since this morning
I just closed my ETH short for a small loss
I am up 3% today
That trade hurt
I feel terrible about today
I should have taken profit
I'm tired
I was thinking about buying SOL
I might go long if it breaks 70k
My stop is at 61,500
My position is underwater
I never thought BTC would drop like that
I have no idea what to do
I don't understand the answer
I like this answer
I love it
I need help with my draft
I want to see my trades
I want to close my position
I have a question about fees
I have two open trades
I had a good week
I lost 500 dollars yesterday
My friend never uses stops
He always buys the dip
Everyone hates drawdowns
Traders love leverage
BTC never sleeps
The market always wins
If I used 10x I would be broke by now
What if I only traded ETH?
Should I risk 2% per trade?
Do I trade too much?
I wonder if I should trade less
I wish I had sold
Let's say I risk 5% per trade
Suppose my max leverage is 10x
I'm going to grab a coffee
I'll be back in an hour
I'm watching the ETH chart right now
I think it goes up from here
I guess we'll see
I can't see my positions
I don't see the chart
I usually would have sold here
I used to scalp
I once blew up an account
I am reading about mean reversion
My internet is slow today
My screen is broken
My last trade was a mistake
My agent is doing well
My win rate was better last month
I risk 5% on this trade
I took 5x on that one
I made $300 on SOL last night
I don't like how BTC looks here
I never said that
Great, I always enjoy losing money
""".strip().splitlines()

# What is known, what is said, and what is known afterwards; facts are split by " / ". An indented line goes on.
CHANGES: Final = (
    re.sub(
        r"\n +",
        " ",
        """
My max leverage is 5x => I cut my max leverage to 3x => I cut my max leverage to 3x
I trade on Binance => I moved from Binance to Kraken => I moved from Binance to Kraken
I never risk more than 1% per trade => Actually I now risk at most 2% per trade => I now risk at most 2% per trade
I never risk more than 1% per trade => I changed my mind, my limit is 2% per trade => My limit is 2% per trade
My stop is 2% => Forget my stop, it's 1.5% now => My stop is 1.5%
My max leverage is 5x => Forget my leverage limit, it's 3x now => My max leverage is 3x
I hold SOL for the long run / I trade SOL on weekends / I like BTC => Forget everything about SOL => I like BTC
I trade SOL at night / My goal is to double my account => Forget all about SOL => My goal is to double my account
I scalp / I like BTC => I stopped scalping => I stopped scalping / I like BTC
I usually trade from 14:00 to 18:00 UTC => I now trade from 13:00 to 17:00 UTC => I now trade from 13:00 to 17:00 UTC
My name is Sam => Actually my name is Samira => My name is Samira
I live in Berlin => I moved to Madrid => I moved to Madrid
I live in Berlin => I live in Madrid now => I live in Madrid now
I only trade BTC => I only trade BTC and ETH now => I only trade BTC and ETH now
My base currency is USD => My base currency is EUR now => My base currency is EUR now
I never trade alts / My max leverage is 5x => Forget that I never trade alts => My max leverage is 5x
I never trade alts => I do trade alts now => I do trade alts now
My goal is to retire at 50 => My goal is to retire at 55 => My goal is to retire at 55
My goal is to retire at 50 => Change my goal to retire at 55 => My goal is to retire at 55
My max leverage is 5x => Set my max leverage to 3x => My max leverage is 3x
My max leverage is 5x => Make my max leverage 3x => My max leverage is 3x
My max leverage is 5x => change 5x to 3x => My max leverage is 3x
I stop after three losses in a row => I stop after two losses in a row now => I stop after two losses in a row now
I trade at most 5 trades a day => From now on at most 3 trades a day => At most 3 trades a day
My max leverage is 5x / I never trade alts => Forget my leverage limit. I never trade memes.
    => I never trade alts / I never trade memes
I like short answers => I like long answers now => I like long answers now
I prefer limit orders => I no longer prefer limit orders => I no longer prefer limit orders
My broker is Kraken => My broker isn't Kraken anymore, it's Bybit => My broker is Bybit
My time zone is CET => My time zone is now UTC => My time zone is now UTC
I risk 1% per trade / I trade on Bybit => I switched to Kraken and now risk 2% per trade
    => I switched to Kraken / I now risk 2% per trade
I live in Berlin => I live in Madrid and I trade on Bybit => I live in Madrid / I trade on Bybit
My max drawdown is 10% => I lowered my max drawdown to 8% => I lowered my max drawdown to 8%
My daily loss limit is 3% => My daily loss limit is 2%, not 3% => My daily loss limit is 2%, not 3%
I trade BTC and ETH => Stop remembering that I trade BTC and ETH => -
I'm a day trader => I'm a swing trader now => I'm a swing trader now
I never trade on Mondays => What did I say about Mondays? => I never trade on Mondays
My max leverage is 5x => Should my max leverage be 3x? => My max leverage is 5x
My max leverage is 5x => My friend cut his max leverage to 3x => My max leverage is 5x
I never trade alts => I'm Jo, I trade from Lisbon, I use 2x leverage at most and I like short answers
    => I never trade alts / I'm Jo / I trade from Lisbon / I use 2x leverage at most / I like short answers
My max leverage is 5x => Until 1 March 2027 my max leverage is 2x
    => My max leverage is 5x / Until 1 March 2027 my max leverage is 2x
""",
    )
    .strip()
    .splitlines()
)

# Written after the rules, to see what they miss; then they were taught.
MORE_LASTING: Final = """
I quit for the day once I'm down 3%
I'm only comfortable with two positions at a time
Big leverage keeps me up at night
I do most of my trading before breakfast
I'm allergic to meme coins
ETH is my main market
I trade from a phone most of the time
My account is small, about 3k
I pay 0.05% per trade at OKX
I want to keep drawdowns below 8%
My husband thinks trading is gambling
I'm learning to trade
I get bored easily
I'm a night owl
I never hold through earnings
I'm colour blind, so no red and green charts please
I prefer numbers to words
Mondays are my worst days
I don't short
I always set a target of 2R
I need at least two confirmations before I enter
I've lost money three years in a row
I'm retired and trade for fun
Keep it simple when you explain things
I sit out the first hour after the open
I cap my losses at 200 dollars per day
I won't trade when I've had a drink
Scalping stresses me out
I live in Lisbon with my two kids
I only go long
Five trades a week is my limit
My edge is patience
I like to buy dips in an uptrend
I move my stop to breakeven after 1R
Leverage scares me
I started with 5k in 2021
My exchange charges maker fees of 2 bps
I'm careful with leverage
I trade part time
I look at funding before every entry
Please speak German with me
I take profits too early
I check my positions every morning
I avoid the weekend
I'm saving up for a boat
I think in euros
I don't use indicators
Sundays are for planning
I keep a journal
I'd rather miss a trade than chase it
I take Fridays off
My drawdown tolerance is 12%
I refuse to use leverage
I'm building this account for my daughter
I panic when a trade goes against me
I go by the daily close
I trade with the trend
Overnight gaps worry me
My wife doesn't want me to trade at night
I do better on quiet days
My rule is to never add to a loser
I can only lose 100 euros a week
I'm from Porto
I want to live off my trading
I usually exit by time
I read charts better than news
I've traded forex for ten years
I keep losing money on Mondays
Crypto is all I trade
Short answers please
""".strip().splitlines()

MORE_PASSING: Final = """
I'm hungry
I missed the move again
I always knew this would happen
I only wanted to ask something
I can't believe it
I don't think so
I want to understand this chart
I prefer the second option
I like the second idea better
I use the app right now
I need to go
My coffee is cold
My phone is at 5%
I trade with you in a minute
I'm looking at SOL
I take it back
I risk looking silly here
I'm a bit lost
That loss hurt me
I hate this candle
I was stopped out twice
I'm in a hurry
I follow you
I hold on, one second
Thanks, I never would have guessed
I opened a long just now
I'm out of my ETH trade
I need a break
I'm going to bed
I love this chart
I see a head and shoulders forming
I sold half at 3400
I'm not sure about this one
I'd buy if it dips to 60k
I missed your last message
I think ETH is weak
I am so done with this week
I want to know my win rate
I like your answer
My dog ate my notes
My order was rejected
I have a headache
I can't log in
I prefer not to say
I don't know
I'm adding to my long here
I close this chat now
I follow the news today
I make a coffee first
I asked you something
I'm done for today
I panic sold
I think I broke something
I hope it recovers
I found a bug
I will think about it
I exited too early on that one
I'm typing from my phone
I had coffee with a trader friend
I changed my password
I trust you
I want out
I call that a bad week
I can explain
I worry about this position
I ran out of time
I'm curious about funding
I like it here
I forgot my stop
I want to stop now
""".strip().splitlines()
