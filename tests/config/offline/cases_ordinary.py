"""Statements, passing remarks and changes in ordinary words, written before the rules that read them.

The rules were tuned on the rows with even numbers; the others are unseen.
"""

import re
from typing import Final

# Each lasts and is kept as one fact. Where less than the whole message is kept, it follows the bar.
STATEMENTS: Final = """
When I'm up for the day I tend to get sloppy
My sessions usually end before lunch
My broker is a small shop in Dublin
I've been at this since 2017
My wife handles the paperwork
I can't stand waiting for a fill
These days I only look at the daily chart
Crypto makes up about a third of what I own
Nothing I do lasts longer than a week
I'm usually flat by Friday afternoon
Most of my trades are in Bitcoin
Half a percent is what I put on the line each time
I started out with stocks back in 2012
I cut my size in half after a losing streak
As a rule I stay out on Mondays
I work as a nurse, mostly on night shifts
My two kids keep me busy until nine
Whenever I miss a move I chase the next one
I'm more of a chart person
Red days put me in a bad mood
I came to crypto from forex
I get my news from Twitter
The account I trade is my retirement money
It takes me about an hour a day
I need the money in five years
I've got around 40k in the account
My father taught me to trade
I trade off my phone during the commute
I give every idea two attempts and no more
Anything with a thin order book is a no for me
I wake up at five to catch the Asian close
I never learned to short properly
My weak spot is taking losses too late
I am not allowed to trade single stocks because of my job
My employer forbids me to trade gold
What I want is a steady two percent a month
I like to be out of the market before big announcements
I journal on paper
I live two hours behind London time
I'd sooner miss a winner than hold a loser
Big numbers on the screen make me freeze
I tend to be early
I let my winners run until the weekly close
I have a rule against adding to losers
I only take setups that I have tested
My stop goes below the last swing low
Every month I take out half of the profit
I don't do well on no sleep
Three is the most positions I can follow
My time zone is two hours ahead of UTC
I've blown two accounts by overtrading
I keep six months of expenses aside
My other half doesn't know how much I trade
I'm studying for the CFA on the side
Perps are the only thing I trade
I size by volatility
Anything under an hour is noise to me
I do my homework on Sunday evenings
I usually take profit in two steps
I trust levels more than indicators
I grew up in Naples
My English is not great, so use simple words
I want you to be blunt with me
Don't sugarcoat things for me
When you explain something, start with the conclusion
I'd rather have bullet points than long paragraphs
Please always show amounts in euros
I read your answers on a small screen
Give me the numbers first, then the story
I'm dyslexic, so short sentences help
Tables are easier for me than text
I'm a maths teacher
I run a small bakery, so mornings are out
Between ten and noon I'm in meetings
I'm free to trade from eight in the evening
My lunch break is when I place orders
I share the account with my brother
The tax man takes a quarter of my gains
I file my taxes in Portugal
I'm a resident of Dubai
I move everything to cold storage once a month
My funds sit at Bitstamp
I pay a lot of fees because I trade often
I hold a long-term bag of ETH that I don't touch
I stake most of my SOL
I stay away from leverage since 2021
I got liquidated once and never used leverage again
Losing three times in a row gets under my skin
I sleep badly with open positions
I go for walks when I'm on tilt
I have trouble pulling the trigger
I second-guess my entries
Patience is not my strength
Being wrong doesn't bother me, being late does
I always think in R, not in dollars
I set my alerts the night before
My charts are on the four-hour
I follow the 200-day average
I fade moves into resistance
I buy when everyone panics
I wait for the retest before I get in
I close half at the first target
I use a trailing stop on everything
I scale in over three orders
I don't place market orders
I skip days with thin volume
I won't hold anything through a Fed day
On expiry days I keep my hands off
I limit myself to two trades before noon
Over the summer I trade half size
My drawdown limit for the year is 15%
I'm happy with 20% a year
My dream is to quit my job at 45
I'm putting away money for a flat
I'm doing this to pay for my daughter's studies
I'd like to be consistent before I add size
This is play money for me
I treat trading as a business
I'm the kind of person who needs a plan
My memory is bad, so remind me of my rules
""".strip().splitlines()

# None lasts: the day, weather, market views, third persons, hypotheses, questions and quotes.
REMARKS: Final = """
It's raining here again
My coffee machine broke this morning
I'm on the train right now
I had a long day at work
My head hurts
I'm off to lunch
I slept badly last night
My brother is visiting this weekend
I'm waiting for a parcel
I need to pick up the kids in ten minutes
It's my birthday today
I just got home
I'm watching the game while I write this
My laptop battery is almost dead
I'll grab dinner and come back
I feel good about this week
I'm a little nervous about tonight
I forgot to eat today
I can hear the neighbours again
I have to run
Bitcoin looks heavy
I think we see new highs by Christmas
ETH can't break that level
The market feels tired to me
This pump is fake if you ask me
I don't trust this rally
I bet they sell the news
Volume is drying up
I'm bullish on SOL here
I'm getting bearish
Alts are bleeding and I love it
I expect a bounce from here
I see support around 58k
I wouldn't be surprised by a flush
Funding is crazy right now
I like the way this candle closed
My view is that it chops until the Fed
My gut says down
I hate this price action
I keep hearing that ETF flows are slowing
My friend made 200% on a meme coin
My brother always buys the top
My colleague uses 50x leverage
He never sets a stop
She trades only at night
Some guy on YouTube said that stops are for losers
My neighbour lost his house with options
My boss hates crypto
Everyone in my group is long
The guy I follow closed his longs
My uncle thinks gold is the only money
They say never trade on Mondays
People like me get rekt
A trader I know risks 10% per trade
My old mentor used to say that cash is a position
Warren Buffett never times the market
Whales don't care about fees
Most traders lose money
Good traders cut their losses early
Retail always comes late
If I had more money I'd trade full time
If it drops to 50k I'll buy
Maybe I should stop using leverage
I could try swing trading
Suppose I only traded the open
What if I always used a 2% stop?
I might switch to Kraken
I'm thinking of quitting my job
I was going to sell at the open
I would have made a fortune
I wish I had your patience
Let's say my limit is 5%
I'm considering a smaller size
I was wondering if scalping is for me
Imagine I never paid fees
I may take tomorrow off
Perhaps I trade too big
I should really keep a journal
One day I will trade for a living
I could use a second opinion
Do I usually win on Fridays?
Am I too aggressive?
What's my worst habit?
Can I trade with 5x?
Is my stop too tight?
How do I stop chasing?
Would you trade this?
Should I be trading at night?
Why do I always buy the top?
Who else trades like this?
Does my broker charge for that?
When do I normally enter?
Tell me what I risk per trade
Explain what a stop is
Show me how I did
"I only trade BTC and ETH" is what the book says
> I never hold overnight
My coach said: "never risk more than 1%"
The article claims that I should use 3x leverage
As they say, the trend is your friend
I lost a bit on that one
I got stopped out twice this morning
I made back what I lost
I opened a small long at 62k
I'm down 4% since lunch
I closed everything before the news
I took profit too early yesterday
I added to my short an hour ago
I paid 30 dollars in fees on that trade
I hit my target on SOL
I had three winners in a row
I missed the entry by a few ticks
I'm holding a bag of ETH from last week
My short is in the money
My stop got hit by a wick
My last five trades were losers
I'm still in that trade
I sized up on this one
I've been staring at this chart for hours
I moved my stop to entry on the ETH long
""".strip().splitlines()

# What is known, what is said, and what is known afterwards; facts are split by " / ".
VALUE_CHANGES: Final = (
    re.sub(
        r"\n +",
        " ",
        """
My max leverage is 5x => My max leverage went down to 3x => My max leverage went down to 3x
I trade on Binance => I left Binance, I'm on Bybit now => I left Binance / I'm on Bybit now
I risk 1% per trade => I now risk half a percent per trade => I now risk half a percent per trade
My goal is to retire at 50 => Actually, make that 55 => My goal is to retire at 55
I stop after three losses in a row => Make it two losses => I stop after two losses in a row
I live in Berlin => I've moved to Vienna => I've moved to Vienna
My daily loss limit is 3% => Lower my daily loss limit to 2% => My daily loss limit is 2%
My daily loss limit is 3% => Raise my daily loss limit to 4% please => My daily loss limit is 4%
I use 3x leverage at most => Correction: 2x at most => I use 2x leverage at most
I only trade BTC and ETH => I only trade BTC these days => I only trade BTC these days
My broker is Kraken => My new broker is Bybit => My new broker is Bybit
My stop is 2% => My stop is 3% from now on => My stop is 3% from now on
I never trade on Fridays => That rule about Fridays no longer applies => -
I never trade on Fridays / I like BTC => Please drop the rule about Fridays => I like BTC
I trade at night => You can forget that I trade at night => -
I prefer short answers => I'd like longer answers from now on => I'd like longer answers from now on
I risk 2% per trade / My goal is to buy a house => Forget what I told you about my goal => I risk 2% per trade
My name is Kim => It's Kimberly, not Kim => My name is Kimberly
I'm a scalper => I'm no longer a scalper => I'm no longer a scalper
I hold SOL for the long run => I sold all my SOL, forget about it => -
My time zone is CET => I'm in Lisbon time now, so my time zone is WET => My time zone is WET
My max drawdown is 10% => My max drawdown is 12% now, not 10% => My max drawdown is 12% now, not 10%
I trade at most 5 trades a day => I take at most 3 trades a day now => I take at most 3 trades a day now
My max leverage is 5x => My max leverage is 5x => My max leverage is 5x
I don't trade CPI days => I do trade CPI days again => I do trade CPI days again
I never risk more than 1% per trade => I never risk more than 2% per trade
    => I never risk more than 2% per trade
I have about 20k to trade with => I have about 30k to trade with now => I have about 30k to trade with now
I'm in Berlin / I like BTC => Delete everything you know about me => -
I trade the London session => Is it true that I trade the London session? => I trade the London session
My max leverage is 5x => What would happen with 10x leverage? => My max leverage is 5x
My max leverage is 5x => My brother's max leverage is 20x => My max leverage is 5x
I never trade alts => I bought some SOL yesterday => I never trade alts
My stop is 2% => My stop on this trade is at 61000 => My stop is 2%
My goal is to retire at 50 => My goal is no longer to retire at 50 => -
I think in dollars => I think in euros now => I think in euros now
My weekly loss limit is 500 dollars => My weekly loss limit is 400 dollars => My weekly loss limit is 400 dollars
I trade BTC => I also trade ETH => I trade BTC / I also trade ETH
My position size is 2% of equity => Change my position size to 3% of equity => My position size is 3% of equity
I wait for the retest before I enter => I don't wait for the retest any more
    => I don't wait for the retest any more
I only trade in the mornings => Scratch that, I only trade in the evenings => I only trade in the evenings
""",
    )
    .strip()
    .splitlines()
)
