"""Statements, remarks and changes as a trader types them: lower case, no stops, typos, several clauses, units.

Written before the rules that read them, which were tuned on the rows with even numbers; the others are unseen.
"""

import re
from typing import Final

# Each lasts. Where less than the whole message is kept, it follows the bar.
TYPED_STATEMENTS: Final = """
never more than 3 positions open at the same time for me
im in hong kong so the us open is late at night for me
i only take longs on eth, shorts are not my thing
cant watch charts between 9 and 5 because of work
0.5% risk is the most i put on one idea
btw i dont trust indicators, price only | i dont trust indicators, price only
my stop always goes 1.5 atr away
i get greedy after 3 winners in a row
i keep 30k usd at okx and the rest in a bank
have been trading since 2014, mostly fx
sundays are for review not for trading
answer me in bullet points please
no more than 2k usd per position ever
i scale out at 1r and 2r
funding above 30% makes me close a long
my time frame is 4h, sometimes daily
i trade for my kids college fund
i really suck at holding winners
ok so i never add to losers, thats my rule no 1 | i never add to losers, thats my rule no 1
what is my pnl? and remember i only use limit orders | i only use limit orders
nice day today. i trade only the london session | i trade only the london session
i lost money today but i always stop after 2 losses | i always stop after 2 losses
we are two people on this account, my wife and me
position size is max 5% of my equity
i refuse to hold anything over a weekend
doge and shib are forbidden for me
im 52 and want to retire at 60
leverage above 3 scares me
my base currency is chf
pls no emojis
i use tradingview alerts for everything
my internet is bad in the mornings so i trade after lunch
i need 8 hours of sleep so nothing after 23:00
i target 3R minimum
swing trader here, 2 to 10 days
i pay 0.02% maker and 0.05% taker
i usually risk 100 usd a trade
drawdown of 10% and i stop for a month
bollinger bands and rsi is all i look at
i took up trading to quit my job at the bank
i cant read long texts, keep it under 5 lines
my account is prop firm money so daily loss is max 4%
i never trade news but i do read them
most of the time im in cash
after a big win i take the next day off
gold and silver i leave to others
stops at round numbers get hunted so i dont put mine there
i check my phone every 4 hours during the day
i'd like to make 1k a month by next year
i have adhd so remind me about my stops
my entries are always limit orders at support
never short btc
i do not average down, ever
my worst habit is moving stops
tuesdays and thursdays i cant trade, i have classes
explain things like im a beginner
i hold my coins on a ledger and trade with 10% of them
i am a software dev so numbers and formulas are fine
asian session is too slow for me
ive got 2 small kids, evenings are dead
""".strip().splitlines()

TYPED_REMARKS: Final = """
im so tired today
btc just broke 65k lol
i closed it at 64200 for +120
ugh stopped out again
this chart looks like 2021
my eth long is up 4%
wish id waited
maybe i should try scalping
a mate of mine only trades gold
is 5x ok for this one
im going long here with 2x
thx that helps
my kid is sick so im not at the desk today
i shorted the top yesterday and it felt great
cpi came in hot
they say never trade on fridays
if i had 100k id buy a house
i dont get what you mean
where do i see my fees
i think sol goes to 300
lets say i risk 2%
i need to go to the dentist
my laptop froze in the middle of the trade
i might try okx
funding is insane right now
i made 3r this week
my brother in law says stops are for losers
how do you calculate my risk
i hope the fed cuts
i was up 10% and gave it all back
everyone is long and thats scary
this app is fast
i cant find the export button
market is dead, i'm bored
i sold my apples and bought eth
should i take profit at 70k
i bet this is a fakeout
my order didnt fill
i moved my stop to break even on this one
just woke up, what did i miss
it always dumps when i buy haha
i would never survive a 50% drawdown
my dog is barking
i read that whales are selling
im looking for a short on eth at 3.4k
the last trade was stupid
gonna lunch, back in 20
i feel like revenge trading right now
i didn't sleep, too much coffee
my wife says hi
i ran the backtest twice
i want to check my last trades
we pumped 5% in an hour
i like this setup
holding 2 btc from 61k, stop at 59
he always risks too much
imagine i traded with 1 million
almost got liquidated this morning
i dont like the look of this candle
i have one open order left
""".strip().splitlines()

# What is known, what is said, and what is known afterwards; facts are split by " / ", readings that are as good by
# " || ".
TYPED_CHANGES: Final = (
    re.sub(
        r"\n +",
        " ",
        """
My max leverage is 5x => make my max leverage 4x pls => My max leverage is 4x
I risk 1% per trade => im risking 0.5% per trade from now on => im risking 0.5% per trade from now on
My stop is 2% => no wait my stop is 3% => my stop is 3%
I trade on Binance => i dont use binance anymore, im on okx now => i dont use binance anymore / im on okx now
    || im on okx now || i dont use binance anymore, im on okx now
My name is Sam => call me sammy not sam => call me sammy not sam || call me sammy || My name is sammy
I never trade alts / I trade at night => forget the alts thing => I trade at night
I live in Berlin => i live in rome now => i live in rome now
My goal is to double my account => new goal: 20% a year => new goal: 20% a year || My goal is 20% a year
I use the 4h chart => i switched to the daily chart => i switched to the daily chart
I take at most 3 trades a day => max 2 trades a day from now on => max 2 trades a day from now on
My daily loss limit is 3% / I like BTC => delete my daily loss limit => I like BTC
I prefer short answers => longer answers please => longer answers please
My account is 10k => my account is 25k now => my account is 25k now
I only trade BTC => i only trade sol now => i only trade sol now
I stop after two losses in a row => make that three losses => I stop after three losses in a row
I never hold overnight => i do hold overnight now => i do hold overnight now
My max leverage is 5x => whats the max leverage on kraken? => My max leverage is 5x
My max leverage is 5x => i used 10x on that one, dumb => My max leverage is 5x
My stop is 2% => set the stop of my btc trade to 1% => My stop is 2%
I trade from 9:00 to 12:00 => i trade from 8:00 to 11:00 now => i trade from 8:00 to 11:00 now
My broker is Kraken => my broker is not kraken its bitstamp => My broker is bitstamp
    || my broker is not kraken its bitstamp
I'm a day trader => im not a day trader anymore => im not a day trader anymore || -
My time zone is CET => time zone is EST now => time zone is EST now || My time zone is EST
I risk 1% per trade / I trade BTC => erase everything => -
I think in dollars => i count in euros now => i count in euros now
I don't trade Mondays => mondays are fine again for me => mondays are fine again for me
I never risk more than 1% per trade => never more than 2% per trade => never more than 2% per trade
My position size is 2% of equity => increase my position size to 4% => My position size is 4% of equity
My weekly loss limit is 500 dollars => my weekly loss limit is 800 dollars => my weekly loss limit is 800 dollars
I scalp => i quit scalping => i quit scalping
My drawdown limit is 10% => correction, drawdown limit 8% => drawdown limit 8% || My drawdown limit is 8%
My goal is to retire at 50 => make it 52 => My goal is to retire at 52
I trade BTC and ETH => stop remembering what i trade => -
I use limit orders => do i use limit orders? => I use limit orders
My max leverage is 5x => my buddy lowered his max leverage to 2x => My max leverage is 5x
I trade the London session / I like short answers => please forget my session => I like short answers
I hold at most 3 positions at once => i hold at most 5 positions at once => i hold at most 5 positions at once
My base currency is USD => base currency should be EUR => base currency should be EUR || My base currency is EUR
    || My base currency should be EUR
I live in Berlin / My max leverage is 5x => i live in paris and my max leverage is 2x
    => i live in paris / my max leverage is 2x
I trade at night => thats wrong, i trade in the morning => i trade in the morning
""",
    )
    .strip()
    .splitlines()
)

# Changes in other words. Written before the rules that read them; the odd rows were unseen until 15 of 20 were right.
MORE_CHANGES: Final = (
    re.sub(
        r"\n +",
        " ",
        """
I risk 1% per trade => make that 2% instead => I risk 2% per trade
My max leverage is 5x => scratch that, my max leverage is 4x => my max leverage is 4x
My max leverage is 3x => not 3x, 2x => My max leverage is 2x
I trade on Binance => since last week I trade on Kraken => since last week I trade on Kraken
I use tradingview alerts => I no longer use tradingview alerts => I no longer use tradingview alerts || -
I trade at night => from Monday on I'll trade in the mornings => I trade at night
My max leverage is 3x => that about leverage is wrong, it is 5x => My max leverage is 5x
I take at most 3 trades a day / I risk 1% per trade => I changed my mind, 4 trades a day at most
    => 4 trades a day at most / I risk 1% per trade || I take at most 4 trades a day / I risk 1% per trade
My daily loss limit is 3% => bring my daily loss limit down to 2% => My daily loss limit is 2%
I never trade alts / I trade on Bybit => you can drop what I said about alts => I trade on Bybit
I hold at most 4 positions at once => I've decided to hold at most 2 positions at once
    => I've decided to hold at most 2 positions at once || I hold at most 2 positions at once
My goal is 30% a year => my goal is 20% a year, not 30% => my goal is 20% a year, not 30% || my goal is 20% a year
I live in Madrid => we moved to Porto last month => we moved to Porto last month || we moved to Porto
My base currency is USD => please switch my base currency to EUR => My base currency is EUR
I prefer short answers => I'd rather have detailed answers => I'd rather have detailed answers
I journal every trade => I don't journal every trade any more => I don't journal every trade any more || -
My stop is 2% => sorry, I meant my stop is 2.5% => my stop is 2.5%
My account is 10k => my account has grown to 15k => my account has grown to 15k
I only trade BTC => I trade BTC and SOL only now => I trade BTC and SOL only now
I trade from 9:00 to 12:00 => my hours have changed, I trade from 14:00 to 17:00
    => I trade from 14:00 to 17:00 || my hours have changed, I trade from 14:00 to 17:00
I'm a day trader => I became a swing trader => I became a swing trader
My max drawdown is 15% / My max leverage is 3x => tighten my max drawdown to 10%
    => My max drawdown is 10% / My max leverage is 3x
My position size is 2% of equity => update: position size is 3% of equity
    => position size is 3% of equity || update: position size is 3% of equity || My position size is 3% of equity
I never hold over the weekend => forget the weekend rule => -
My broker is Kraken => it's not Kraken, it's Coinbase => My broker is Coinbase
I stop after three losses in a row => two losses in a row, not three
    => I stop after two losses in a row || two losses in a row, not three
I scalp => I gave up scalping => I gave up scalping
My weekly loss limit is 500 dollars => 400 dollars is my new weekly loss limit
    => 400 dollars is my new weekly loss limit || My weekly loss limit is 400 dollars
My name is Tom => my name is spelled Thom => my name is spelled Thom || My name is Thom
My time zone is CET => correct my time zone to UTC => My time zone is UTC
I risk 1% per trade / My max leverage is 3x => now I risk 0.5% per trade and my max leverage is 2x
    => now I risk 0.5% per trade / my max leverage is 2x || I now risk 0.5% per trade / my max leverage is 2x
My max leverage is 3x => I took 5x on this one, just once => My max leverage is 3x
My stop is 2% => would 3% be a better stop? => My stop is 2%
I never trade on Fridays => that Friday rule is gone => -
I use limit orders => I switched to market orders => I switched to market orders
My max leverage is 3x / I risk 1% per trade => delete the fact about leverage => I risk 1% per trade
I trade the London session => these days I trade the New York session => these days I trade the New York session
My stop is 2% => move the stop on my ETH trade to 3% => My stop is 2%
I trade BTC and ETH => no more ETH for me, only BTC => no more ETH for me, only BTC || only BTC
My goal is to retire at 60 => I now want to retire at 58 => I now want to retire at 58
""",
    )
    .strip()
    .splitlines()
)
# In the words of people who never saw the rules: 14 of the first 30 and 16 of the other 40 were right before they were
# learnt. What stays wrong, the memory's gate or a question back to the user stops.
LATER_CHANGES: Final = (
    re.sub(
        r"\n +",
        " ",
        """
I trade on Bybit => actually it's OKX, not Bybit => I trade on OKX || actually it's OKX || it's OKX
I switched from Binance to Bybit last month => actually it's OKX, not Bybit => I switched from Binance to OKX last
    month || it's OKX || actually it's OKX
My max leverage is 3x => scratch that, 2x is my max leverage => 2x is my max leverage || My max leverage is 2x
I trade only BTC and ETH => I trade SOL too now => I trade only BTC and ETH / I trade SOL too now || I trade SOL too
    now || I trade only BTC, ETH and SOL || I trade only BTC and ETH and SOL
I live in Madrid => I moved to Porto => I moved to Porto
I live in Madrid => I've relocated to Porto last week => I've relocated to Porto last week
I risk 1% per trade => I bumped my risk to 1.5% per trade => I bumped my risk to 1.5% per trade || I risk 1.5% per
    trade
I don't trade on Mondays => I do trade on Mondays these days => I do trade on Mondays these days
I am a nurse => forget what I do for a living => -
I like short answers => longer answers are fine now => longer answers are fine now
I have a dog / I trade at night => you can drop the part about my dog => I trade at night
My time zone is Europe/Berlin => my timezone is now America/New_York => my timezone is now America/New_York
I stop for the day after two losses => after three losses I stop for the day, not two => after three losses I stop for
    the day, not two || I stop for the day after three losses || after three losses I stop for the day
My name is Ana => It's Anna with two n => My name is Anna || It's Anna with two n
I use a 2% stop => Correction: I use a 3% stop => I use a 3% stop
I never trade during news => that's no longer true => -
I trade with 10k / I trade BTC => my account is 12k now => I trade BTC / my account is 12k now || my account is 12k
    now / I trade BTC
I want to quit my job in 2027 => make that 2028 => I want to quit my job in 2028
I use TradingView => replace TradingView with Coinalyze => I use Coinalyze
My daily loss limit is $200 => raise my daily loss limit to $300 => My daily loss limit is $300
I hold trades for days => I don't hold for days any more, I scalp => I scalp || I don't hold for days any more, I
    scalp || I don't hold for days any more / I scalp
I avoid memecoins / I avoid alts => forget everything about memecoins => I avoid alts
I trade the London session => I changed to the Asian session => I changed to the Asian session || I trade the Asian
    session
My base currency is USD => My base currency is EUR from now on => My base currency is EUR from now on
I have two kids => three kids now! => I have three kids || three kids now || three kids now!
I check charts in the morning => delete that I check charts in the morning => -
I prefer limit orders => I prefer market orders actually => I prefer market orders actually || I prefer market orders
I work as a teacher => I no longer work as a teacher => I no longer work as a teacher || -
I follow the 1h chart => 4h chart, not 1h => I follow the 4h chart
I trade SOL => please don't remember that I trade SOL => -
I use a 10% trailing stop => my trailing stop is 8% now => my trailing stop is 8% now
I live in Lyon => we moved to Marseille => we moved to Marseille
I trade gold => I gave up on gold => I gave up on gold || -
My favourite timeframe is 15m => switch my favourite timeframe to 1h => My favourite timeframe is 1h || my favourite
    timeframe is 1h
I am married => I got divorced => I got divorced
I never trade Mondays => Mondays are fine again => Mondays are fine again || -
I max out at 4 positions => no, 5 positions => I max out at 5 positions
I want 20% a year => lower that to 15% => I want 15% a year
I follow Arthur Hayes on Twitter => I unfollowed Arthur Hayes => I unfollowed Arthur Hayes || -
I use market orders => change market orders to limit orders => I use limit orders
I like long explanations / I trade ETH => remove the long explanations thing => I trade ETH
My account is at Kraken => it's Coinbase now => it's Coinbase now || My account is at Coinbase
I trade 3 days a week => 4 days a week, sorry => I trade 4 days a week || 4 days a week
My wife checks my trades => erase that my wife checks my trades => -
I stop at $400 loss a day => make my daily loss stop $300 => I stop at $300 loss a day || My daily loss stop is $300
I avoid leverage => I do use leverage up to 2x now => I do use leverage up to 2x now
I trade with my brother => I no longer trade with my brother => I no longer trade with my brother || -
I'm saving for a car => I'm saving for a house instead => I'm saving for a house
I think in EUR => please think in USD from now on => please think in USD from now on || please think in USD
I get up at 6 => I get up at 7 these days => I get up at 7 these days
I don't trade news => I trade news now => I trade news now
My risk is 1% => my risk per trade is half a percent now => my risk per trade is half a percent now
I trade from Spain => I'm in Portugal these days => I trade from Spain / I'm in Portugal these days || I'm in Portugal
    these days
I hold max 2 coins => change 2 coins to 3 coins => I hold max 3 coins
I only trade BTC => forget the BTC only rule => -
My broker is Saxo => my broker is IBKR => my broker is IBKR
I check prices hourly => I stopped checking prices hourly => I stopped checking prices hourly || -
I have 5 years of experience => it's 6 years => I have 6 years of experience
I use Bollinger bands => I swapped Bollinger bands for Keltner channels => I swapped Bollinger bands for Keltner
    channels || I use Keltner channels
My target is 10% => What I said about my target is wrong => - || My target is 10%
I trade scalps in the morning => not scalps, swings => I trade swings in the morning
My max position is 5k => max position 7k please => max position 7k || My max position is 7k || max position 7k please
I trade at night => I don't trade at night anymore because of my kid => I don't trade at night anymore because of my
    kid || -
I'm a student => I graduated, I work as an analyst now => I work as an analyst now || I graduated, I work as an
    analyst now
Call me Max => call me Maximilian => call me Maximilian
I dislike emojis => emojis are okay => emojis are okay
I use 1% risk on BTC => for BTC it's 2% risk => for BTC it's 2% risk || I use 2% risk on BTC
My weekly goal is $200 => double my weekly goal => My weekly goal is $400 || My weekly goal is $200
I withdraw profits monthly => I withdraw profits quarterly now => I withdraw profits quarterly now
My stop is below the swing low => my stop goes below the 20 EMA now => my stop goes below the 20 EMA now
""",
    )
    .strip()
    .splitlines()
)
